#include <tools/redis/server/server_memory.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {
namespace {

constexpr std::size_t advised_from_bytes = std::size_t{4} << 20;
constexpr std::size_t freed_by_thread_from_bytes = std::size_t{32} << 20;
constexpr std::size_t zeroed_by_kernel_from_bytes = std::size_t{1} << 20;

// Speaks of the huge pages that lie wholly inside. A refusal costs speed and nothing else.
void advise(void* start, std::size_t bytes, int advice) {
  if (start == nullptr || bytes < advised_from_bytes) return;
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t first = (at + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  const std::uintptr_t last = (at + bytes) / huge_page_bytes * huge_page_bytes;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, advice);
}

void* take(std::size_t bytes) { return api.try_alloc(bytes); }

void is_dense(const void* start, std::size_t bytes) {
  advise(const_cast<void*>(start), bytes, MADV_HUGEPAGE);
}

// Lets the kernel forget the whole pages inside, which are zero when they are touched next: no time
// is spent on pages that are never touched. False where it cannot, say because they are locked or
// the allocator shares them; a page that was written to tells.
bool zeroed_by_kernel(void* start, std::size_t bytes) {
  if (bytes < zeroed_by_kernel_from_bytes) return false;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t first = (at + page - 1) / page * page, last = (at + bytes) / page * page;
  auto* const pages = reinterpret_cast<volatile char*>(first);
  *pages = 1;
  if (::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0 || *pages != 0) {
    return false;
  }
  std::memset(start, 0, first - at);
  std::memset(reinterpret_cast<void*>(last), 0, at + bytes - last);
  return true;
}

void* take_zeroed(std::size_t bytes) {
  if (api.try_calloc != nullptr) return api.try_calloc(1, bytes);
  void* const start = api.try_alloc(bytes);
  if (start == nullptr) return nullptr;
  if (!zeroed_by_kernel(start, bytes)) std::memset(start, 0, bytes);
  return start;
}

// The allocator may use the place for something small next. To unmap a gigabyte takes the kernel a
// tenth of a second, so that is left to a thread; this module is never unloaded.
void give_back(void* start) {
  const std::size_t bytes = api.malloc_size(start);
  advise(start, bytes, MADV_NOHUGEPAGE);
  if (bytes >= freed_by_thread_from_bytes) {
    try {
      std::thread([start] { api.free(start); }).detach();
      return;
    } catch (const std::system_error&) {
      // No thread to be had: it takes as long as it takes.
    }
  }
  api.free(start);
}

}  // namespace

void take_memory_from_server() {
  host() = {.take = take, .take_zeroed = take_zeroed, .give_back = give_back, .is_dense = is_dense};
  Memory::lend_from({.take_zeroed = take_zeroed, .give_back = give_back});
}

}  // namespace bloomery::redis
