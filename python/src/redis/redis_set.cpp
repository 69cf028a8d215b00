// The module bloomery._redis: RedisSet, a set on a Redis server or Redis Cluster.
//
// A module of its own, so that the engine needs no libhiredis where nobody uses Redis.
// Threads: one verb at a time; others wait (uses.hpp).
#include <bloomery/redis/redis_set.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "errors.hpp"
#include "keys/answers.hpp"
#include "keys/key_column.hpp"
#include "keys/one_key.hpp"
#include "sets/uses.hpp"

namespace bloomery::python {
namespace {

struct RemoteObject {
  PyObject_HEAD RedisSet* set;  // owned; nullptr: closed
  Uses uses;
};

RemoteObject* as_remote(PyObject* object) { return reinterpret_cast<RemoteObject*>(object); }

RedisSet& set_of(PyObject* self) {
  RedisSet* set = as_remote(self)->set;
  if (set == nullptr) raise(closed_class(), "the set is closed: connect again to use it");
  return *set;
}

// Every verb waits for the server, with the GIL free.
template <class Work>
auto remotely(PyObject* self, Work&& work) {
  set_of(self);
  const Changing mark(as_remote(self)->uses);
  RedisSet& set = set_of(self);
  const NoGil others_run;
  return work(set);
}

// The hashes of a span, made by the law of the set, and the form of its keys.
struct Hashed {
  std::vector<Hash> hashes;
  KeyForm form = KeyForm::text;
};
Hashed hashed(const RedisSet& set, const KeySpan& keys) {
  Hashed made;
  if (!std::holds_alternative<Texts>(keys)) made.form = KeyForm::u64;
  std::visit(
      [&](const auto& span) {
        made.hashes.reserve(span.size());
        for (const auto& key : span) made.hashes.push_back(set.law().hasher(key));
      },
      keys);
  return made;
}

// Adds a span; fresh[i] is false only if key i was there. Without room nothing is told.
Result<std::size_t> add_span(RedisSet& set, const KeySpan& keys, std::span<bool> fresh) {
  const Hashed made = hashed(set, keys);
  std::vector<RemoteAdd> answers(made.hashes.size());
  const auto counts = set.add_all(made.hashes, answers, made.form);
  if (!counts) return counts.error();
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i] = answers[i] != RemoteAdd::seen;
  return counts->fresh + counts->in_doubt;
}

PyObject* add(PyObject* self, PyObject* key) {
  return guarded([&] {
    set_of(self);
    const OneKey one(key);
    bool fresh = false;
    told(remotely(self, [&](RedisSet& set) { return add_span(set, one.span(), {&fresh, 1}); }));
    return PyBool_FromLong(fresh ? 1 : 0);
  });
}

int has(PyObject* self, PyObject* key) {
  return guarded_int([&] {
    set_of(self);
    const OneKey one(key);
    bool answer = false;
    told(remotely(self, [&](RedisSet& set) {
      const Hashed made = hashed(set, one.span());
      return set.may_contain_all(made.hashes, {&answer, 1}, made.form);
    }));
    return answer ? 1 : 0;
  });
}

// Calls use(set, span, room for its answers) for all keys.
template <class Use>
Ref for_all(PyObject* self, PyObject* keys, PyObject* out, Use&& use) {
  set_of(self);
  const auto column = column_of(keys);
  Answers<bool> answers(out, *column);
  for (;;) {
    const KeySpan span = column->next(ready_keys);
    if (size_of(span) == 0) return answers.finish();
    const auto room = answers.next(size_of(span));
    told(remotely(self, [&](RedisSet& set) { return use(set, span, room); }));
    need(PyErr_CheckSignals());
  }
}

PyObject* add_all(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "out", nullptr};
  PyObject* keys = nullptr;
  PyObject* out = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|O:add_all", const_cast<char**>(names), &keys,
                                  &out) == 0)
    return nullptr;
  return guarded([&] {
    return for_all(self, keys, out,
                   [](RedisSet& set, const KeySpan& span, std::span<bool> fresh) {
                     return add_span(set, span, fresh);
                   })
        .release();
  });
}

PyObject* contains_all(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "out", nullptr};
  PyObject* keys = nullptr;
  PyObject* out = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, named, "O|O:contains_all", const_cast<char**>(names), &keys,
                                  &out) == 0)
    return nullptr;
  return guarded([&] {
    return for_all(self, keys, out,
                   [](RedisSet& set, const KeySpan& span, std::span<bool> answers) {
                     const Hashed made = hashed(set, span);
                     return set.may_contain_all(made.hashes, answers, made.form);
                   })
        .release();
  });
}

Py_ssize_t length(PyObject* self) {
  return guarded_int([&] {
    const auto told_now = told(remotely(self, [](RedisSet& set) { return set.estimate(); }));
    const double keys = std::round(told_now.keys);
    if (!(keys < 2147483647.0))
      raise(PyExc_OverflowError, "the set holds too many keys for len(): ask estimate()");
    return static_cast<int>(keys);
  });
}

PyObject* estimate(PyObject* self, PyObject*) {
  return guarded([&] {
    return PyFloat_FromDouble(
        told(remotely(self, [](RedisSet& set) { return set.estimate(); })).keys);
  });
}

PyObject* clear(PyObject* self, PyObject*) {
  return guarded([&] {
    told(remotely(self, [](RedisSet& set) { return set.clear(); }));
    return Py_NewRef(Py_None);
  });
}

PyObject* drop(PyObject* self, PyObject*) {
  return guarded([&] {
    told(remotely(self, [](RedisSet& set) { return set.drop(); }));
    return Py_NewRef(Py_None);
  });
}

PyObject* close(PyObject* self, PyObject*) {
  return guarded([&] {
    const Changing mark(as_remote(self)->uses);
    std::unique_ptr<RedisSet> gone(std::exchange(as_remote(self)->set, nullptr));
    {
      const NoGil others_run;  // tells the server the number of adds
      gone.reset();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"url", "keys", "rate", nullptr};
  const char* url = nullptr;
  unsigned long long keys = 0;
  double rate = 0.01;
  if (PyArg_ParseTupleAndKeywords(args, named, "s|Kd:RedisSet", const_cast<char**>(names), &url,
                                  &keys, &rate) == 0)
    return nullptr;
  return guarded([&] {
    const RedisAddress address = told(parse_redis_url(url));
    std::unique_ptr<RedisSet> set;
    Error refused{Code::io, ""};
    {
      const NoGil others_run;
      auto opened = keys == 0
                        ? RedisSet::open(address)
                        : RedisSet::open_or_make(address, {.want = {.keys = keys, .rate = rate}});
      if (opened)
        set = std::make_unique<RedisSet>(std::move(*opened));
      else
        refused = opened.error();
    }
    if (!set) told(Result<void>(refused));
    Ref object = need(PyType_GenericAlloc(type, 0));
    as_remote(object.get())->set = set.release();
    return object.release();
  });
}

void free_remote(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete as_remote(self)->set;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    if (as_remote(self)->set == nullptr) return PyUnicode_FromString("<RedisSet, closed>");
    return PyUnicode_FromFormat("<RedisSet %s>", set_of(self).address().shown().c_str());
  });
}

PyCFunction with_names(PyObject* (*verb)(PyObject*, PyObject*, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(verb));
}

int fill(PyObject* module) {
  if (take_exceptions() < 0) return -1;
  static PyMethodDef methods[] = {
      {"add", add, METH_O,
       "add($self, key, /)\n--\n\nAdd a key; True if it was new, or nobody can tell."},
      {"add_all", with_names(add_all), METH_VARARGS | METH_KEYWORDS,
       "add_all($self, keys, out=None)\n--\n\nAdd all keys; an array of bool: which were new."},
      {"contains_all", with_names(contains_all), METH_VARARGS | METH_KEYWORDS,
       "contains_all($self, keys, out=None)\n--\n\nAn array of bool: which may be there."},
      {"estimate", estimate, METH_NOARGS,
       "estimate($self, /)\n--\n\nThe number of keys, from the bits."},
      {"clear", clear, METH_NOARGS, "clear($self, /)\n--\n\nForget every key, for all clients."},
      {"drop", drop, METH_NOARGS, "drop($self, /)\n--\n\nDelete the set from the server."},
      {"close", close, METH_NOARGS, "close($self, /)\n--\n\nGive the connections back."},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("RedisSet(url, keys=0, rate=0.01)\n--\n\n"
                                    "A set on a Redis server: redis://host/0/name. With keys it "
                                    "is made where it is missing.")},
      {Py_tp_new, reinterpret_cast<void*>(make)},
      {Py_tp_dealloc, reinterpret_cast<void*>(free_remote)},
      {Py_tp_methods, methods},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_sq_contains, reinterpret_cast<void*>(has)},
      {Py_sq_length, reinterpret_cast<void*>(length)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"bloomery.redis.RedisSet", sizeof(RemoteObject), 0, Py_TPFLAGS_DEFAULT,
                             slots};
  return guarded_int([&] {
    const Ref type = need(PyType_FromSpec(&spec));
    need(PyModule_AddObjectRef(module, "RedisSet", type.get()));
    return 0;
  });
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, reinterpret_cast<void*>(fill)}, {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "bloomery._redis",
                          "Sets on Redis servers.",
                          0,
                          nullptr,
                          module_slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace bloomery::python

PyMODINIT_FUNC PyInit__redis() { return PyModuleDef_Init(&bloomery::python::definition); }
