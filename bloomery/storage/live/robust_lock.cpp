#include <bloomery/storage/live/robust_lock.hpp>

#ifdef __GLIBC__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

// The lock is held for as long as one call writes some bytes, 1 to 3 us, and most who find it held
// come from the same sync. Whoever goes to sleep for that is woken up by another call and some
// 10 us later: with these tries, eight writers add a tenth more keys.
constexpr int most_tries = 100;
void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// EBUSY: another one has it still. By the clock of the day, which every system has here: when that
// is set, somebody looks too early or too late.
int locked_within_a_second(pthread_mutex_t& mutex) {
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  const int number = pthread_mutex_timedlock(&mutex, &until);
  return number == ETIMEDOUT ? EBUSY : number;
}

#ifdef __GLIBC__
// Is there no such thread, or has it ended and only waits to be asked for its exit code?
bool is_dead(pid_t thread) {
  // The number came round: this thread does not wait for itself.
  if (thread == static_cast<pid_t>(::syscall(SYS_gettid))) return true;
  if (::kill(thread, 0) != 0) return errno == ESRCH;
  std::ifstream stat("/proc/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 &&
         (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
}

// When a thread ends, the system marks the locks that it holds. It cannot do so where the page of
// the lock cannot be written: on a full disk of a file system that copies what it writes, such as
// btrfs, where the thread was killed for the same reason. Then this does it, in the way of the
// system: who waits longest gets the lock, and is told.
void leave_for_dead_owner(pthread_mutex_t& mutex) {
  std::atomic_ref<int> word(mutex.__data.__lock);
  int seen = word.load();
  const int owner = seen & static_cast<int>(FUTEX_TID_MASK);
  if (owner == 0 || (seen & static_cast<int>(FUTEX_OWNER_DIED)) != 0 || !is_dead(owner)) return;
  const int left = (seen & static_cast<int>(FUTEX_WAITERS)) | static_cast<int>(FUTEX_OWNER_DIED);
  if (word.compare_exchange_strong(seen, left))
    static_cast<void>(
        ::syscall(SYS_futex, &mutex.__data.__lock, FUTEX_WAKE, 1, nullptr, nullptr, 0));
}
#else
void leave_for_dead_owner(pthread_mutex_t&) {}
#endif

}  // namespace

RobustLock::RobustLock(pthread_mutex_t& mutex) : mutex_(&mutex) {
  int number = pthread_mutex_trylock(mutex_);
  for (int tries = 0; number == EBUSY && tries < most_tries; ++tries) {
    pause_briefly();
    number = pthread_mutex_trylock(mutex_);
  }
  while (number == EBUSY) {
    number = locked_within_a_second(*mutex_);
    if (number == EBUSY) leave_for_dead_owner(*mutex_);
  }
  if (number != EOWNERDEAD) return;
  was_left_ = true;
  pthread_mutex_consistent(mutex_);
}
RobustLock::RobustLock(pthread_mutex_t& mutex, std::try_to_lock_t) : mutex_(&mutex) {
  const int number = pthread_mutex_trylock(mutex_);
  was_left_ = number == EOWNERDEAD;
  if (was_left_) pthread_mutex_consistent(mutex_);
  if (number != 0 && !was_left_) mutex_ = nullptr;
}
void RobustLock::free_if_owner_died(pthread_mutex_t& mutex) { leave_for_dead_owner(mutex); }
void RobustLock::unlock() {
  if (mutex_ != nullptr) pthread_mutex_unlock(std::exchange(mutex_, nullptr));
}

}  // namespace bloomery::inline v0::detail
