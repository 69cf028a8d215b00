// Syncs in the background, so that a power cut costs no more than the last moments, also when
// nobody adds any more.
//
// Threads: its one thread calls `sync` every interval, and soon after hurry(), until it is
//          destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace bloomery::inline v0::detail {

class Syncer {
 public:
  Syncer(std::chrono::milliseconds interval, std::function<void()> sync);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  void hurry();

 private:
  void work();

  std::chrono::milliseconds interval_;
  std::function<void()> sync_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  bool hurried_ = false;
  std::thread thread_;
};

}  // namespace bloomery::inline v0::detail
