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

inline Live* live_of(PyObject* object) { return held_of(object).live(); }

// Asks, or changes, the set of an object with the GIL free. work(held) touches nothing of Python.
template <class Work>
auto changing(PyObject* object, Work&& work) {
  held_of(object);
  const Changing mark(as_set(object)->uses);
  Held& held = held_of(object);  // it may have been closed while this thread waited
  const NoGil others_run;
  return work(held);
}
template <class Work>
auto asking(PyObject* object, Work&& work) {
  if (live_of(object) != nullptr)
    return changing(object, [&](const Held& held) { return work(held); });
  const Asking mark(as_set(object)->uses);
  const Held& held = held_of(object);
  const NoGil others_run;
  return work(held);
}

// The set of an object that is asked for one key, which never lets go of the GIL.
inline const Held& asked_once(PyObject* object) {
  const SetObject* set = as_set(object);
  if (live_of(object) != nullptr)
    set->uses.wait_to_change();
  else
    set->uses.wait_to_ask();
  return held_of(object);
}
// Changes the set by one key, or as a whole. The GIL is free where others may have to be waited
// for: other processes, and the disk.
template <class Work>
auto changing_once(PyObject* object, Work&& work) {
  if (live_of(object) == nullptr) {
    as_set(object)->uses.wait_to_change();
    return work(held_of(object));
  }
  return changing(object, [&](Held& held) -> decltype(work(held)) {
    auto done = work(held);
    if (!done) return done;
    if (auto kept = held.live()->keep_promise(); !kept) return kept.error();
    return done;
  });
}
// Behind many keys: they are in a live file now, and are brought to the disk if that was asked for.
inline void keep_promise(PyObject* object) {
  if (live_of(object) != nullptr)
    told(changing(object, [](Held& held) { return held.live()->keep_promise(); }));
}

// The object, or a copy of this moment in memory if it is live.
Ref local(PyObject* object);

}  // namespace bloomery::python
