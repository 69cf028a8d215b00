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
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest) {
  const timespec time{.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000),
                      .tv_nsec = static_cast<long>(longest.count() % 1'000'000'000)};
  // Signals, a time that is over and a number that has changed already are all the same to callers.
  static_cast<void>(::syscall(SYS_futex, &value, FUTEX_WAIT, seen, &time, nullptr, 0));
}

void tell_change(std::atomic<std::uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
  static_cast<void>(::syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}
#else
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest) {
  constexpr auto pause = std::chrono::microseconds(100);
  const auto until = std::chrono::steady_clock::now() + longest;
  while (value.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(pause);
}

void tell_change(std::atomic<std::uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
}
#endif

}  // namespace bloomery::inline v0::detail
