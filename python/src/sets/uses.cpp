#include "sets/uses.hpp"

#include <ctime>

namespace bloomery::python {

template <class Free>
void Uses::wait_until(Free&& free) const {
  // A tenth of a millisecond, then twice as long each time, up to ten.
  long wait_ns = 100'000;
  while (!free()) {
    if (process_ != getpid())
      raise(PyExc_RuntimeError,
            "another thread was using the set when this process was forked, so it may be half "
            "changed: copy() or open() it after the fork");
    need(PyErr_CheckSignals());
    const NoGil others_run;
    const timespec wait{.tv_sec = 0, .tv_nsec = wait_ns};
    nanosleep(&wait, nullptr);
    if (wait_ns < 6'400'000) wait_ns *= 2;
  }
}

void Uses::wait_to_ask() const {
  wait_until([this] { return may_ask(); });
}

void Uses::wait_to_change() const {
  wait_until([this] { return may_change(); });
}

}  // namespace bloomery::python
