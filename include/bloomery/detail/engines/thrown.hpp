// What was thrown, as the Error to return instead, or for the thread that waits for the others.
//
//    try { ... } catch (const std::exception&) { return error_of(std::current_exception()); }
//
//    FirstThrown thrown;               several threads: thrown.keep([&] { ... });
//    thrown.rethrow();                 when they have ended, what the first of them threw
//
// Limits:  what is not a std::exception is thrown again. Making the sentence may itself lack
//          memory, and throws std::bad_alloc then.
// Threads: error_of is pure; FirstThrown::keep and any by any number at once.
#pragma once

#include <atomic>
#include <exception>
#include <new>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

class FirstThrown {
 public:
  template <class Work>
  void keep(Work&& work) noexcept {
#if __cpp_exceptions
    try {
      work();
    } catch (...) {
      if (!any_.exchange(true)) thrown_ = std::current_exception();
    }
#else
    work();
#endif
  }
  bool any() const { return any_.load(); }
  // After all who keep have ended.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::atomic<bool> any_ = false;
  std::exception_ptr thrown_;
};

#if __cpp_exceptions
inline Error error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    return {failure.code, failure.what()};
  } catch (const std::bad_alloc&) {
    return {Code::no_memory, "the system does not give that much memory"};
  } catch (const std::exception& other) {
    return {Code::bad_input, other.what()};
  }
}
#endif

}  // namespace bloomery::inline v0::detail
