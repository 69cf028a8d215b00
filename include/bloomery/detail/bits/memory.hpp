// Bytes with an owner: a kind is lent a span of them and never knows who owns it.
//
//    Memory::make(n)        zeroed, from the heap; from 4 MiB on mapped on a 2 MiB boundary and
//                           advised to use huge pages
//    Memory::lend_from(...) from now on make() takes all bytes from this lender instead
//    Memory::adopt(...)     someone else's bytes (a mapped file) and how to let go of them
//    memory.part(...)       a piece that keeps the whole alive
//
// The start is aligned to a cache line. Where the system refuses huge pages the advice is lost and
// nothing else changes.
// Threads: a Memory belongs to one owner; its bytes are as safe as what is done with them. A lender
//          is named before the first make(), and serves any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::size_t memory_alignment = 64;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

// Runs work; false when it ran out of memory (std::bad_alloc), as vectors tell it. Without
// exceptions memory that runs out ends the program.
template <class Work>
[[nodiscard]] bool had_memory(Work&& work) {
#if __cpp_exceptions
  try {
    work();
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  work();
#endif
  return true;
}

// Another allocator, such as that of a server that counts the memory of its modules. take_zeroed
// returns nullptr when it has no memory; its bytes may start on any multiple of 8.
struct Lender {
  void* (*take_zeroed)(std::size_t bytes) = nullptr;
  void (*give_back)(void* bytes) = nullptr;
};

class Memory {
 public:
  Memory() = default;
  // What was moved from holds nothing.
  Memory(Memory&& other) noexcept
      : owner_(std::move(other.owner_)), bytes_(std::exchange(other.bytes_, {})) {}
  Memory& operator=(Memory&& other) noexcept {
    owner_ = std::move(other.owner_);
    bytes_ = std::exchange(other.bytes_, {});
    return *this;
  }

  // Zeroed bytes, or an Error that names the size.
  static Result<Memory> make(std::uint64_t bytes);
  // A lender without functions restores the default. Bytes go back to the lender they came from.
  static void lend_from(const Lender& lender);
  // Takes over bytes that `owner` keeps alive.
  static Memory adopt(std::shared_ptr<void> owner, std::span<std::byte> bytes);

  // Grows to this many bytes, at least as many as now: the old bytes keep their values, the new
  // ones are zero. Mapped memory moves without a copy (mremap); other memory is copied. On an Error
  // nothing has changed. No other owner may hold a part.
  Result<void> grow(std::uint64_t bytes);

  // For a lender that moves what it has lent: move(own, block) copies a block of bytes to another
  // place, gives the old one back and returns the new one, or nullptr when the block stays. No
  // other owner may hold a part. Memory that was not lent stays.
  void relocate(void* (*move)(void* own, void* block), void* own);

  // A fresh copy of these bytes.
  static Result<Memory> copy_of(std::span<const std::byte> bytes);

  Memory part(std::size_t offset, std::size_t length) const;

  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::shared_ptr<void> owner_;
  std::span<std::byte> bytes_;
};

}  // namespace bloomery::inline v0::detail
