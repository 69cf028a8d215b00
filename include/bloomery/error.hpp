// How the library reports failure: an Error is a code for programs and a sentence for people.
//
//    Result<T>     a value or an Error
//    Result<void>  done or an Error; an Error that is not looked at is thrown when it is dropped.
//                  After a test, return it as `return result.error();`
//
// The throw is the price of `set.unite(other);` on a line of its own: a failure can be tested
// for, or it surfaces as an exception, but it cannot vanish.
// Limits:  in a destructor, where nothing may be thrown, look at a Result<void>, or the program
//          ends.
// Threads: a Result belongs to one thread at a time.
#pragma once

#include <cassert>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace bloomery::inline v0 {

// What templates need in headers; not for users.
namespace detail {}

enum class Code {
  impossible,    // no set can have this shape: rate 0, no keys, an empty range
  mismatch,      // two sets, or a set and its keys, do not fit together
  unsound,       // the operation would give wrong answers on this kind
  out_of_range,  // an integer outside the range of an exact set
  full,          // the set can take no more
  bad_input,     // a line, number or option from outside is not what it should be
  not_ours,      // the bytes are not a bloomery image
  unsupported,   // an image of a later version, or a feature this build lacks
  damaged,       // an image whose bytes are not those that were written
  exists,        // would overwrite something
  no_memory,     // the system does not give that many bytes
  io,            // the system refused to read or write
};

struct Error {
  Code code;
  std::string sentence;
};

// Thrown by the typed door (Set) where C++ users expect an exception; what() is the sentence.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const Error& error) : std::runtime_error(error.sentence), code(error.code) {}
  Code code;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return held_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const Error& error() const {
    assert(!has_value() && "error() asked of a Result that holds a value");
    return std::get<1>(held_);
  }

  T& operator*() & { return held(); }
  const T& operator*() const& { return const_cast<Result*>(this)->held(); }
  T&& operator*() && { return std::move(held()); }
  T* operator->() { return &held(); }
  const T* operator->() const { return &const_cast<Result*>(this)->held(); }

  // The value, or the Error thrown as a Failure.
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(checked()); }

 private:
  T& held() {
    assert(has_value() && "a Result without a value was read; test it first");
    return *std::get_if<0>(&held_);
  }
  T& checked() {
    if (!has_value()) throw Failure(error());
    return *std::get_if<0>(&held_);
  }

  std::variant<T, Error> held_;
};

template <>
class Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true), unread_(true) {}
  // A moved Result counts as not looked at: the receiver must look at it.
  Result(Result&& other) noexcept
      : error_(std::move(other.error_)), failed_(other.failed_), unread_(other.failed_) {
    other.unread_ = false;
  }
  Result& operator=(Result&& other) {
    if (std::exchange(unread_, false)) throw Failure(error_);
    error_ = std::move(other.error_);
    failed_ = other.failed_;
    unread_ = other.failed_;
    other.unread_ = false;
    return *this;
  }

  ~Result() noexcept(false) {
    if (unread_ && std::uncaught_exceptions() == 0) throw Failure(error_);
  }

  bool has_value() const { return !read().failed_; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const {
    assert(failed_ && "error() asked of a Result that holds no error");
    return read().error_;
  }
  // Throws the Error as a Failure, if there is one.
  void value() const {
    if (read().failed_) throw Failure(error_);
  }

 private:
  const Result& read() const {
    unread_ = false;
    return *this;
  }

  Error error_{};
  bool failed_ = false;
  mutable bool unread_ = false;
};

}  // namespace bloomery::inline v0
