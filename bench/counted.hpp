// An allocator that knows how many bytes its set holds, as the heap counts them, and that touches
// large blocks, so that their pages are there before a clock starts.
//
// Threads: one; the count is one number for the whole program, read as a difference.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bloomery::bench {

inline std::uint64_t counted_bytes = 0;

template <class T>
struct Counted {
  using value_type = T;

  Counted() = default;
  template <class U>
  Counted(const Counted<U>&) {}

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t), "malloc aligns no further");
    const std::size_t bytes = count * sizeof(T);
    void* block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (bytes >= touched_from) std::memset(block, 0, bytes);
    counted_bytes += held(block);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t) {
    counted_bytes -= held(block);
    std::free(block);
  }

  template <class U>
  friend bool operator==(const Counted&, const Counted<U>&) {
    return true;
  }

 private:
  static constexpr std::size_t touched_from = std::size_t{1} << 16;

  // What the block keeps from others: itself, and the size before it.
  static std::uint64_t held(void* block) { return malloc_usable_size(block) + sizeof(std::size_t); }
};

}  // namespace bloomery::bench
