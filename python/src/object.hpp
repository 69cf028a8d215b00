// CPython as these files see it: the stable ABI of 3.11, references that count themselves, and
// Python errors as C++ exceptions until they reach the interpreter.
//
//    PyObject* verb(PyObject* self, PyObject* keys) {
//      return guarded([&]() -> PyObject* { ... need(PyObject_GetIter(keys)) ... });
//    }
//
// Errors:  Raised is thrown where a Python error is set already; guarded() turns it, and whatever
//          the library throws, into the nullptr that CPython expects.
// Threads: as every object of Python: only with its global lock (the GIL), but for what is said to
//          run in NoGil.
#pragma once

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <utility>

namespace bloomery::python {

// A Python error is set.
struct Raised {};

// Owns one reference, or none.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref to(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// The new reference that a call returned, or Raised if it failed.
inline Ref need(PyObject* returned) {
  if (returned == nullptr) throw Raised{};
  return Ref(returned);
}
inline void need(int status) {
  if (status < 0) throw Raised{};
}

// Raised, with this error set. `format` as PyErr_Format.
template <class... Values>
[[noreturn]] void raise(PyObject* type, const char* format, Values... values) {
  PyErr_Format(type, format, values...);
  throw Raised{};
}

// Calls into CPython where this thread may wait for the GIL. At the end of the interpreter CPython
// up to 3.13 ends such a thread by unwinding its stack, and C++ frames on it would abort the
// process or count references without the GIL. As CPython 3.14 does, the thread stops for ever
// instead, and the process ends without it.
template <class Call>
auto stopping_at_exit(Call&& call) {
  try {
    return call();
  } catch (...) {  // C functions throw nothing else
    for (;;) pause();
  }
}

// Lets other threads run Python while it lives. Nothing in it may touch an object of Python.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;
  ~NoGil() {
    stopping_at_exit([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

// The name of an object's type, for sentences.
inline Ref type_name(PyObject* object) { return need(PyType_GetName(Py_TYPE(object))); }

}  // namespace bloomery::python
