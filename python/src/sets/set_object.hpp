// An object of the Python types Set, Bitmap and Cascade, and how their verbs reach the set in it.
//
// Limits:  verbs that let go of the GIL mark their use of the set first (uses.hpp).
// Threads: with the GIL held.
#pragma once

#include <memory>

#include "errors.hpp"
#include "held/held.hpp"
#include "object.hpp"
#include "sets/uses.hpp"

namespace bloomery::python {

struct SetObject {
  PyObject_HEAD Set<BlockedBloom>* blocked;  // the set in `held`, if its kind is blocked
  Uses uses;
  Held* held;  // owned; nullptr: closed
  PyObject* weak_references;
};

// The three types. Made by add_set_types().
extern PyTypeObject* set_type;
extern PyTypeObject* bitmap_type;
extern PyTypeObject* cascade_type;

// Makes the types and puts them into the module. -1: a Python error is set.
int add_set_types(PyObject* module);

inline SetObject* as_set(PyObject* object) { return reinterpret_cast<SetObject*>(object); }
inline bool is_set(PyObject* object) { return PyObject_TypeCheck(object, set_type) != 0; }

// The set of an object that was not closed; else Raised.
inline Held& held_of(PyObject* object) {
  Held* held = as_set(object)->held;
  if (held == nullptr) raise(closed_class(), "the set is closed: open it again to use it");
  return *held;
}

// A new object with this set in it: of this type, or of the one for its kind if `type` is Set.
Ref object_of(PyTypeObject* type, std::unique_ptr<Held> held);

// Adds many keys (set_bulk.cpp); returns how many were surely new.
std::size_t update_from(PyObject* self, PyObject* keys, Threads threads);

// Asks, or changes, the set of an object with the GIL free. work(held) touches nothing of Python.
template <class Work>
auto asking(PyObject* object, Work&& work) {
  held_of(object);
  const Asking mark(as_set(object)->uses);
  const Held& held = held_of(object);  // it may have been closed while this thread waited
  const NoGil others_run;
  return work(held);
}
template <class Work>
auto changing(PyObject* object, Work&& work) {
  held_of(object);
  const Changing mark(as_set(object)->uses);
  Held& held = held_of(object);
  const NoGil others_run;
  return work(held);
}

}  // namespace bloomery::python
