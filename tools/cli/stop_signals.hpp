// While it lives, the first SIGINT, SIGTERM or SIGHUP only raises a flag, so that work in hand can
// be ended well; the second one ends the program as ever.
//
// Limits:  one at a time.
#pragma once

#include <atomic>
#include <csignal>

namespace bloomery::cli {

class StopSignals {
 public:
  StopSignals() {
    flag_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) { flag_ = true; };
    // Not SA_RESTART: who waits for input shall wake up.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (int i = 0; i < count; ++i) sigaction(signals[i], &action, &before_[i]);
  }
  ~StopSignals() {
    for (int i = 0; i < count; ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& raised() const { return flag_; }

 private:
  static constexpr int count = 3;
  static constexpr int signals[count] = {SIGINT, SIGTERM, SIGHUP};
  static inline std::atomic<bool> flag_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");
  struct sigaction before_[count];
};

}  // namespace bloomery::cli
