// The two C structs of Arrow and the one of its streams, as its specification fixes them for ever:
// https://arrow.apache.org/docs/format/CDataInterface.html. Nothing of Arrow's is needed for them.
#pragma once

#include <cstdint>
#include <utility>

#include "object.hpp"

namespace bloomery::python {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// One that calls release, as whoever got it must. A producer may run Python for that, which must
// not meet the error that made us give up.
template <class T>
class ArrowOwned {
 public:
  ArrowOwned() = default;
  ArrowOwned(ArrowOwned&& other) noexcept : held_(other.held_) { other.held_.release = nullptr; }
  ArrowOwned& operator=(ArrowOwned&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~ArrowOwned() {
    if (held_.release == nullptr) return;
    PyObject* error[3] = {};
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    held_.release(&held_);
    PyErr_Restore(error[0], error[1], error[2]);
  }
  // The struct to fill, or that was filled.
  T* get() { return &held_; }
  const T* get() const { return &held_; }
  // Takes what lies there: its owner must not release it any more.
  static ArrowOwned take(T* from) {
    ArrowOwned owned;
    owned.held_ = *from;
    from->release = nullptr;
    return owned;
  }

 private:
  T held_{};
};

}  // namespace bloomery::python
