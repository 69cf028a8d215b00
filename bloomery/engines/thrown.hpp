// What was thrown, as the Error to return instead: for threads, and callers who expect a Result.
//
//    try { ... } catch (const std::exception&) { return error_of(std::current_exception()); }
//
// Limits:  what is not a std::exception is thrown again. Making the sentence may itself lack
//          memory, and throws std::bad_alloc then.
// Threads: pure.
#pragma once

#include <exception>
#include <new>

#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

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

}  // namespace bloomery::inline v0::detail
