// How the library reports failure: an Error is a code for programs and a sentence for people.
//
//    Result<T>     a value or an Error
//    Result<void>  done or an Error
//
// Prefer the forms that return a Result (make, open, try_...) where a failure is ordinary, or where
// there are no exceptions; the short verbs of Set, which throw, elsewhere.
//
// Example:
//    #include <bloomery/set.hpp>
//    auto set = Set<BlockedBloom>::make({.keys = 1'000, .rate = 0.01});
//    if (!set) return set.error();                 // to the caller
//    if (!set->add(url)) crawl(url);
//    if (auto saved = set->try_save("seen.bloom"); !saved) {
//      if (saved.error().code != Code::exists) return saved;
//      crawl(saved.error().sentence);              // for people: names the file
//    }
//    set->try_save("seen.bloom").value();          // throws the Error as a Failure
//
// A Result is an inert value: it can be copied where T can, and it does nothing when it goes. The
// compiler warns of a Result that a statement drops (nodiscard) and of one that gets a name and is
// never read (warn_unused).
// Errors:  value() throws a Failure. To read a Result that has no value, or the error of one that
//          has, is a misuse (assert).
// Limits:  without exceptions (-fno-exceptions) there is no value(): test the Result and read it
//          with *.
// Threads: a Result belongs to one thread at a time.
// See:     docs/library.md "Errors".
#pragma once

#include <cassert>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

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

namespace detail {

// Throws. Where there are no exceptions, what would be thrown is a misuse, and ends the program.
template <class Exception>
[[noreturn]] void raise(const Exception& exception) {
#if __cpp_exceptions
  throw exception;
#else
  static_cast<void>(exception);
  std::abort();
#endif
}

}  // namespace detail

namespace detail {
struct Nothing {};
}  // namespace detail

template <class T>
class [[nodiscard, gnu::warn_unused]] Result {
  static constexpr bool has_nothing = std::is_void_v<T>;
  using Held = std::conditional_t<has_nothing, detail::Nothing, T>;
  using Reference = std::add_lvalue_reference_t<T>;
  using ConstReference = std::add_lvalue_reference_t<const T>;
  using Moved = std::add_rvalue_reference_t<T>;

 public:
  Result() requires has_nothing : held_(), has_value_(true) {}
  Result(Held value) requires(!has_nothing) : held_(std::move(value)), has_value_(true) {}
  Result(Error error) : error_(std::move(error)), has_value_(false) {}

  Result(const Result& other) requires std::is_copy_constructible_v<Held>
      : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(&held_, other.held_);
    else
      std::construct_at(&error_, other.error_);
  }
  Result(Result && other) noexcept : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(&held_, std::move(other.held_));
    else
      std::construct_at(&error_, std::move(other.error_));
  }
  Result& operator=(Result other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~Result() {
    if (has_value_)
      std::destroy_at(&held_);
    else
      std::destroy_at(&error_);
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value(); }

  const Error& error() const {
    assert(!has_value() && "error() asked of a Result that holds no error");
    return error_;
  }

  Reference operator*() & requires(!has_nothing) { return held(); }
  ConstReference operator*() const& requires(!has_nothing) { return held(); }
  Moved operator*() && requires(!has_nothing) { return std::move(held()); }
  Held* operator->() requires(!has_nothing) { return &held(); }
  const Held* operator->() const requires(!has_nothing) { return &held(); }

#if __cpp_exceptions
  // The value, or the Error thrown as a Failure.
  Reference value()& {
    expect_value();
    if constexpr (!has_nothing) return held();
  }
  ConstReference value() const& {
    expect_value();
    if constexpr (!has_nothing) return held();
  }
  Moved value()&& {
    expect_value();
    if constexpr (!has_nothing) return std::move(held());
  }
#endif

 private:
  Held& held() {
    assert(has_value() && "a Result without a value was read; test it first");
    return held_;
  }
  const Held& held() const { return const_cast<Result*>(this)->held(); }
#if __cpp_exceptions
  void expect_value() const {
    if (!has_value()) throw Failure(error());
  }
#endif

  // Not std::variant, of which each T costs every includer some ten milliseconds.
  union {
    Held held_;
    Error error_;
  };
  bool has_value_;
};

}  // namespace bloomery::inline v0
