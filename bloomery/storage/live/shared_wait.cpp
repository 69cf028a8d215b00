#include <bloomery/storage/live/shared_wait.hpp>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#else
#include <thread>
#endif

namespace bloomery::inline v0::detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

#ifdef __linux__
namespace {

void wake(const std::atomic<std::uint32_t>& value, int most, WaitGroups groups) {
  static_cast<void>(
      ::syscall(SYS_futex, &value, FUTEX_WAKE_BITSET, most, nullptr, nullptr, groups));
}

}  // namespace

void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest, WaitGroups groups) {
  // Until a moment of the monotonic clock, unlike FUTEX_WAIT.
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto nanoseconds = until.tv_nsec + longest.count() % 1'000'000'000;
  until.tv_sec +=
      static_cast<time_t>(longest.count() / 1'000'000'000 + nanoseconds / 1'000'000'000);
  until.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
  // Signals, a time that is over and a number that has changed already are all the same to callers.
  static_cast<void>(::syscall(SYS_futex, &value, FUTEX_WAIT_BITSET, seen, &until, nullptr, groups));
}

void tell_change(std::atomic<std::uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
  wake(value, INT_MAX, all_groups);
}

void tell_group(std::atomic<std::uint32_t>& value) {
  const std::uint32_t before = value.fetch_add(1, std::memory_order_release);
  wake(value, INT_MAX, group_of(before));
  wake(value, 1, group_of(before + 1));
}
#else
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest, WaitGroups) {
  constexpr auto pause = std::chrono::microseconds(100);
  const auto until = std::chrono::steady_clock::now() + longest;
  while (value.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(pause);
}

void tell_change(std::atomic<std::uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
}
void tell_group(std::atomic<std::uint32_t>& value) { tell_change(value); }
#endif

}  // namespace bloomery::inline v0::detail
