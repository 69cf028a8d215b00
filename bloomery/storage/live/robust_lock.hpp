// The locks of a live file, which lie in the file: mutexes of the C library that outlive an owner.
//
// Threads: any number, of any processes in one PID namespace.
// If the lock is wrong: two add at once. So it is taken only from an owner that is dead.
// See:     exact_kills_test, live_copies_test.
#pragma once

#include <pthread.h>

#include <mutex>

namespace bloomery::inline v0::detail {

// Locks a robust mutex; was_left tells that its last owner ended while it held it.
class RobustLock {
 public:
  explicit RobustLock(pthread_mutex_t& mutex);
  // Not held where another has it.
  RobustLock(pthread_mutex_t& mutex, std::try_to_lock_t);
  ~RobustLock() { unlock(); }
  RobustLock(const RobustLock&) = delete;
  RobustLock& operator=(const RobustLock&) = delete;
  void unlock();
  bool was_left() const { return was_left_; }
  bool is_held() const { return mutex_ != nullptr; }
  // For those who try, and find it held for a second: its owner may have died without a mark.
  static void free_if_owner_died(pthread_mutex_t& mutex);

 private:
  pthread_mutex_t* mutex_;
  bool was_left_ = false;
};

}  // namespace bloomery::inline v0::detail
