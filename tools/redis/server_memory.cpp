#include <tools/redis/server_memory.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bloomery/bits/memory.hpp>
#include <tools/redis/api.hpp>
#include <tools/redis/server_bytes.hpp>

namespace bloomery::redis {
namespace {

constexpr std::size_t advised_from_bytes = std::size_t{4} << 20;

// Speaks of the huge pages that lie wholly inside. A refusal costs speed and nothing else.
void advise(void* start, std::size_t bytes, int advice) {
  if (start == nullptr || bytes < advised_from_bytes) return;
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t first = (at + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  const std::uintptr_t last = (at + bytes) / huge_page_bytes * huge_page_bytes;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, advice);
}

void* take(std::size_t bytes) {
  void* const start = api.try_alloc(bytes);
  advise(start, bytes, MADV_HUGEPAGE);
  return start;
}

void* take_zeroed(std::size_t bytes) {
  if (api.try_calloc != nullptr) {
    void* const start = api.try_calloc(1, bytes);
    advise(start, bytes, MADV_HUGEPAGE);
    return start;
  }
  void* const start = take(bytes);
  if (start != nullptr) std::memset(start, 0, bytes);
  return start;
}

// The allocator may use the place for something small next.
void give_back(void* start) {
  advise(start, api.malloc_size(start), MADV_NOHUGEPAGE);
  api.free(start);
}

}  // namespace

void take_memory_from_server() {
  host() = {.take = take, .take_zeroed = take_zeroed, .give_back = give_back};
  Memory::lend_from({.take_zeroed = take_zeroed, .give_back = give_back});
}

}  // namespace bloomery::redis
