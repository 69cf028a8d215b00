#include "sets/uses.hpp"

#include <ctime>

namespace bloomery::python {

namespace {

void sleep_without_gil(long nanoseconds) {
  const NoGil others_run;
  const timespec wait{.tv_sec = 0, .tv_nsec = nanoseconds};
  nanosleep(&wait, nullptr);
}

// Counts those who wait; also when they are interrupted.
class Counted {
 public:
  explicit Counted(std::uint32_t& number) : number_(number) { ++number_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --number_; }

 private:
  std::uint32_t& number_;
};

}  // namespace

template <class Free>
void Uses::wait_until(Free&& free) const {
  if (free()) return;
  const Counted wait(waiting_);
  do {
    if (process_ != getpid())
      raise(PyExc_RuntimeError,
            "another thread was using the set when this process was forked, so it may be half "
            "changed: copy() or open() it after the fork");
    if (Py_IsInitialized() == 0)
      raise(PyExc_RuntimeError,
            "another thread was using the set when the interpreter ended, and will never finish: "
            "join() threads before");
    need(PyErr_CheckSignals());
    sleep_without_gil(200'000);
  } while (!free());
}

void Uses::hold_back() const {
  for (int i = 0; i < 100 && waiting_ != 0 && process_ == getpid(); ++i) sleep_without_gil(200'000);
}

void Uses::wait_to_ask() const {
  wait_until([this] { return may_ask(); });
}

void Uses::wait_to_change() const {
  wait_until([this] { return may_change(); });
}

}  // namespace bloomery::python
