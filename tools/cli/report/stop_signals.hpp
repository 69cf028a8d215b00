// While it lives, the first SIGINT, SIGTERM or SIGHUP only raises a flag, so that current work can
// be ended well; the second one ends the program as ever. What was ignored before (nohup) stays so.
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
    which_ = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      which_ = signal;
      flag_ = true;
    };
    // Not SA_RESTART: a thread that waits for input must wake up.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (int i = 0; i < count; ++i) {
      sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
  }
  ~StopSignals() {
    for (int i = 0; i < count; ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& raised() const { return flag_; }
  // The number of the signal that was raised; 0: none.
  static int which() { return which_; }
  // When all is saved: the parent process must see that a signal ended it.
  static void raise_again() {
    const int signal = which_;
    if (signal == 0) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }

 private:
  static constexpr int count = 3;
  static constexpr int signals[count] = {SIGINT, SIGTERM, SIGHUP};
  static inline std::atomic<bool> flag_ = false;
  static inline std::atomic<int> which_ = 0;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");
  struct sigaction before_[count];
};

}  // namespace bloomery::cli
