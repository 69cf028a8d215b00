// Whole sets: united, compared, copied, cleared.
#include <cmath>

#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

using Merge = Result<void> (Held::*)(const Held&);

std::unique_ptr<Held> copied(PyObject* self) {
  return told(asking(self, [](const Held& held) { return held.clone(); }));
}

// Changes one set by another. Both are marked at once; a set beside itself is marked once.
void merge(PyObject* self, PyObject* given, Merge verb) {
  held_of(self);
  const bool same = self == given;
  const Ref other = same ? Ref::to(given) : local(given);
  const Changing marks(as_set(self)->uses, same ? nullptr : &as_set(other.get())->uses);
  Held& held = held_of(self);
  const Held& with = held_of(other.get());
  Result<void> merged;
  {
    const NoGil others_run;
    merged = (held.*verb)(with);
  }
  told(std::move(merged));
}

PyObject* merged_copy(PyObject* left, PyObject* right, Merge verb) {
  if (!is_set(left) || !is_set(right)) return Py_NewRef(Py_NotImplemented);
  return guarded([&] {
    Ref result = object_of(Py_TYPE(left), copied(left));
    merge(result.get(), right, verb);
    return result.release();
  });
}

PyObject* merged_in_place(PyObject* self, PyObject* other, Merge verb) {
  if (!is_set(other)) return Py_NewRef(Py_NotImplemented);
  return guarded([&] {
    merge(self, other, verb);
    return Py_NewRef(self);
  });
}

bool equal(PyObject* one, PyObject* other) {
  if (one == other) return true;
  const Ref left = local(one);
  const Ref right = local(other);
  const Asking first(as_set(left.get())->uses);
  const Asking second(as_set(right.get())->uses);
  const Held& a = held_of(left.get());
  const Held& b = held_of(right.get());
  const NoGil others_run;
  return a.equals(b);
}

// Does every key of `small` lie in `large`? Uniting them then changes nothing in `large`: not its
// bits, or, where bits depend on the order of the keys, not the number of its keys.
bool is_part(PyObject* small, PyObject* large) {
  held_of(small);
  const KindRow& row = held_of(large).row();
  if (row.counts || row.forgets || row.built || row.two_lists)
    told(Result<void>(Error{Code::unsound, "sets of kind " + std::string(row.id.name) +
                                               " cannot be compared by <= or >=: only sets that "
                                               "unite without counting can"}));
  const Ref both = object_of(Py_TYPE(large), copied(large));
  merge(both.get(), small, &Held::unite);
  if (!row.exact) return equal(both.get(), large);
  const auto keys = [](const Held& held) { return held.estimate(); };
  return asking(both.get(), keys) == asking(large, keys);
}

}  // namespace

Ref local(PyObject* object) {
  if (live_of(object) == nullptr) return Ref::to(object);
  return object_of(Py_TYPE(object), copied(object));
}

PyObject* set_or(PyObject* left, PyObject* right) { return merged_copy(left, right, &Held::unite); }
PyObject* set_and(PyObject* left, PyObject* right) {
  return merged_copy(left, right, &Held::intersect);
}
PyObject* set_subtract(PyObject* left, PyObject* right) {
  return merged_copy(left, right, &Held::subtract);
}
PyObject* set_xor(PyObject* left, PyObject* right) {
  return merged_copy(left, right, &Held::exclusive);
}
PyObject* set_inplace_or(PyObject* self, PyObject* other) {
  return merged_in_place(self, other, &Held::unite);
}
PyObject* set_inplace_and(PyObject* self, PyObject* other) {
  return merged_in_place(self, other, &Held::intersect);
}
PyObject* set_inplace_subtract(PyObject* self, PyObject* other) {
  return merged_in_place(self, other, &Held::subtract);
}
PyObject* set_inplace_xor(PyObject* self, PyObject* other) {
  return merged_in_place(self, other, &Held::exclusive);
}

PyObject* set_compare(PyObject* self, PyObject* other, int how) {
  if (!is_set(other)) return Py_NewRef(Py_NotImplemented);
  return guarded([&] {
    bool answer = false;
    switch (how) {
      case Py_EQ: answer = equal(self, other); break;
      case Py_NE: answer = !equal(self, other); break;
      case Py_LE: answer = is_part(self, other); break;
      case Py_GE: answer = is_part(other, self); break;
      case Py_LT: answer = is_part(self, other) && !is_part(other, self); break;
      case Py_GT: answer = is_part(other, self) && !is_part(self, other); break;
      default: break;
    }
    return PyBool_FromLong(answer ? 1 : 0);
  });
}

PyObject* set_copy(PyObject* self, PyObject*) {
  return guarded([&] { return object_of(Py_TYPE(self), copied(self)).release(); });
}
PyObject* set_deepcopy(PyObject* self, PyObject*) { return set_copy(self, nullptr); }

PyObject* set_clear(PyObject* self, PyObject*) {
  return guarded([&] {
    told(changing(self, [](Held& held) { return held.clear(); }));
    keep_promise(self);
    return Py_NewRef(Py_None);
  });
}

PyObject* set_advance_to(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"time", "span", nullptr};
  unsigned long long time = 0;
  unsigned long long span = 0;
  if (PyArg_ParseTupleAndKeywords(args, named, "KK:advance_to", const_cast<char**>(names), &time,
                                  &span) == 0)
    return nullptr;
  return guarded([&] {
    told(changing(self, [&](Held& held) { return held.advance_to(time, span); }));
    keep_promise(self);
    return Py_NewRef(Py_None);
  });
}

PyObject* set_cap_memory(PyObject* self, PyObject* bytes) {
  return guarded([&] {
    const unsigned long long most = PyLong_AsUnsignedLongLong(bytes);
    if (PyErr_Occurred() != nullptr) throw Raised{};
    told(changing(self, [&](Held& held) { return held.cap_memory(most); }));
    return Py_NewRef(Py_None);
  });
}

}  // namespace bloomery::python
