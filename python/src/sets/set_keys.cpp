// One key: asked, added, removed, counted.
//
// An int asked of a blocked set costs a comparison of types, one call that reads the int, one hash
// and one line of memory; nothing is allocated. Everything else goes through OneKey and Held.
// See: bench/python_bench.py, "one key".
#include <string_view>

#include "keys/one_key.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// An int of 63 bits and a sign; false: something else, or wider.
[[gnu::always_inline]] inline bool read_int(PyObject* key, std::int64_t& number) {
  if (!Py_IS_TYPE(key, &PyLong_Type)) return false;
  int overflow = 0;
  number = PyLong_AsLongAndOverflow(key, &overflow);
  return overflow == 0;
}
// The UTF-8 of a str; false: something else, or text that has none.
[[gnu::always_inline]] inline bool read_text(PyObject* key, std::string_view& text) {
  if (!Py_IS_TYPE(key, &PyUnicode_Type)) return false;
  Py_ssize_t length = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(key, &length);
  if (bytes == nullptr) {
    PyErr_Clear();
    return false;
  }
  text = {bytes, static_cast<std::size_t>(length)};
  return true;
}

// The answer by a branch, which the CPU predicts, and not by arithmetic: the interpreter raises and
// lowers the reference count of True or False next. Were its address computed from a cache line
// that is still on its way, every later access to the counts would wait for that line, one key
// after the other: with 1M ints that cost half of the time of a key (python_bench.py).
[[gnu::always_inline]] inline int branch_on(bool answer) {
  if (answer) {
    asm volatile("");  // keeps the compiler from making it arithmetic again
    return 1;
  }
  return 0;
}

[[gnu::noinline]] int has_slowly(PyObject* self, PyObject* key) {
  return guarded_int([&] {
    held_of(self);
    const OneKey one(key);
    bool answer = false;
    told(asked_once(self).ask_all(one.span(), {&answer, 1}, {1}));
    return answer ? 1 : 0;
  });
}

[[gnu::noinline]] PyObject* add_slowly(PyObject* self, PyObject* key) {
  return guarded([&] {
    held_of(self);
    const OneKey one(key);
    bool fresh = false;
    told(changing_once(self, [&](Held& held) {
      return held.add_all(one.span(), {&fresh, 1}, {1});
    }));
    return PyBool_FromLong(fresh ? 1 : 0);
  });
}

// Removes one copy; was it there?
bool removed(PyObject* self, PyObject* key) {
  held_of(self);
  const OneKey one(key);
  bool was_there = false;
  told(changing_once(self, [&](Held& held) {
    return held.remove_all(one.span(), {&was_there, 1});
  }));
  return was_there;
}

}  // namespace

int set_has(PyObject* self, PyObject* key) {
  const SetObject* set = as_set(self);
  if (set->blocked == nullptr || !set->uses.may_ask()) [[unlikely]]
    return has_slowly(self, key);
  try {
    std::int64_t number = 0;
    if (read_int(key, number)) return branch_on(set->blocked->may_contain(number));
    std::string_view text;
    if (read_text(key, text)) return branch_on(set->blocked->may_contain(text));
  } catch (...) {
    raised_from_cxx();
    return -1;
  }
  return has_slowly(self, key);
}

PyObject* set_add(PyObject* self, PyObject* key) {
  const SetObject* set = as_set(self);
  if (set->blocked == nullptr || !set->uses.may_change()) [[unlikely]]
    return add_slowly(self, key);
  bool fresh = false;
  try {
    std::int64_t number = 0;
    std::string_view text;
    if (read_int(key, number))
      fresh = set->blocked->add(number);
    else if (read_text(key, text))
      fresh = set->blocked->add(text);
    else
      return add_slowly(self, key);
  } catch (...) {
    return raised_from_cxx();
  }
  if (branch_on(fresh) != 0) {
    Py_INCREF(Py_True);
    return Py_True;
  }
  Py_INCREF(Py_False);
  return Py_False;
}

PyObject* set_remove(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (!removed(self, key)) {
      PyErr_SetObject(PyExc_KeyError, key);
      return nullptr;
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* set_discard(PyObject* self, PyObject* key) {
  return guarded([&] { return PyBool_FromLong(removed(self, key) ? 1 : 0); });
}

PyObject* set_count(PyObject* self, PyObject* key) {
  return guarded([&] {
    held_of(self);
    const OneKey one(key);
    std::uint64_t count = 0;
    told(asked_once(self).counts(one.span(), {&count, 1}));
    return PyLong_FromUnsignedLongLong(count);
  });
}

}  // namespace bloomery::python
