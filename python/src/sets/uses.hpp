// Who is using a set: any number of threads that ask, or one that changes it.
//
//    uses   31: one changes it | 30 ... 0: how many ask
//
// The global lock of Python (the GIL) is let go while the engine works, so another thread may come
// to the same set meanwhile. It then waits. The number is only read and written with the GIL held,
// so a lone key, which never lets go of it, only needs to look. A thread that asks or changes again
// and again would keep those who wait out for ever, since it comes back long before they look: so
// whoever comes while others wait holds back for a moment.
// Limits:  a process that is forked while another thread uses a set has a set that nobody will ever
//          give back: its verbs raise RuntimeError there.
// Threads: all with the GIL held.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "object.hpp"

namespace bloomery::python {

class Uses {
 public:
  bool may_ask() const { return number_ < changing; }
  bool may_change() const { return number_ == 0; }

  // Waits, with the GIL free for others, until may_ask() or may_change(). Raised: the user has
  // interrupted it, or the wait would never end.
  void wait_to_ask() const;
  void wait_to_change() const;

 private:
  friend class Asking;
  friend class Changing;
  static constexpr std::uint32_t changing = std::uint32_t{1} << 31;

  template <class Free>
  void wait_until(Free&& free) const;
  // Lets those who wait go first, for 20 ms at most.
  void hold_back() const;

  std::uint32_t number_ = 0;
  mutable std::uint32_t waiting_ = 0;  // how many threads wait
  pid_t process_ = 0;                  // of the latest use
};

// Marks a set while it is asked without the GIL.
class Asking {
 public:
  explicit Asking(Uses& uses) : uses_(uses) {
    uses_.hold_back();
    uses_.wait_to_ask();
    ++uses_.number_;
    uses_.process_ = getpid();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() { --uses_.number_; }

 private:
  Uses& uses_;
};

// Marks a set while it is changed, and perhaps others that are asked for that: all at once, so that
// two threads with the same sets never wait for each other.
class Changing {
 public:
  explicit Changing(Uses& uses, Uses* asked = nullptr) : uses_(uses), asked_(asked) {
    uses_.hold_back();
    for (;;) {
      uses_.wait_to_change();
      if (asked_ == nullptr || asked_->may_ask()) break;
      asked_->wait_to_ask();
      if (uses_.may_change()) break;
    }
    uses_.number_ = Uses::changing;
    uses_.process_ = getpid();
    if (asked_ != nullptr) {
      ++asked_->number_;
      asked_->process_ = getpid();
    }
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;
  ~Changing() {
    uses_.number_ = 0;
    if (asked_ != nullptr) --asked_->number_;
  }

 private:
  Uses& uses_;
  Uses* asked_;
};

}  // namespace bloomery::python
