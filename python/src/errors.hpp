// What the library says, as exceptions of Python: one class for each Code, with its sentence.
//
//    Error                    code: the name of the Code
//      Full, Mismatch, ...    also a ValueError, OSError or MemoryError, where Python has a word
//
// See: docs/python.md "Errors"; tests/python/misuse_test.py.
#pragma once

#include <type_traits>
#include <utility>

#include <bloomery/error.hpp>

#include "object.hpp"

namespace bloomery::python {

// Puts the classes into the module. -1: a Python error is set.
int add_exceptions(PyObject* module);

// Takes the classes from bloomery._bloomery instead, in a module beside it.
int take_exceptions();

// Of a set that was closed; also a ValueError, as for files.
PyObject* closed_class();

// Sets the Python error for this one; always returns nullptr.
PyObject* raised(const Error& error);
// The same for a file that is not there: a FileNotFoundError too.
PyObject* raised_not_found(const Error& error);
// The same for the exception that is being handled.
PyObject* raised_from_cxx();

// The value, or the Error as a Python error, thrown as Raised.
template <class T>
T told(Result<T> result) {
  if (!result) {
    raised(result.error());
    throw Raised{};
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Calls work(), which returns a new reference.
template <class Work>
PyObject* guarded(Work&& work) {
  try {
    return work();
  } catch (...) {
    return raised_from_cxx();
  }
}
// The same for slots that return an int; -1 tells of the error.
template <class Work>
int guarded_int(Work&& work) {
  try {
    return work();
  } catch (...) {
    raised_from_cxx();
    return -1;
  }
}

}  // namespace bloomery::python
