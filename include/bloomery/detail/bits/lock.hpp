// Locks of sets that several threads may change. A program without threads (BLOOMERY_NO_THREADS,
// defined for the library and its users alike) has none, and includes no header of threads.
//
//    const Locked hold(mutex);             alone
//    const LockedShared hold(mutex);       with others who only read
#pragma once

#ifndef BLOOMERY_NO_THREADS
#include <shared_mutex>
#endif

namespace bloomery::inline v0::detail {

#ifndef BLOOMERY_NO_THREADS
using SharedMutex = std::shared_mutex;
#else
struct SharedMutex {
  void lock() {}
  void unlock() {}
  void lock_shared() {}
  void unlock_shared() {}
};
#endif

class Locked {
 public:
  explicit Locked(SharedMutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Locked() { mutex_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SharedMutex& mutex_;
};

class LockedShared {
 public:
  explicit LockedShared(SharedMutex& mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~LockedShared() { mutex_.unlock_shared(); }
  LockedShared(const LockedShared&) = delete;
  LockedShared& operator=(const LockedShared&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace bloomery::inline v0::detail
