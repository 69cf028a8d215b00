// What a set knows of itself: lengths, attributes, repr.
#include <cmath>
#include <limits>
#include <string>

#include "arguments.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// Getters that read the bits let go of the GIL; those that read a number do not.
template <class Read>
PyObject* number_of(PyObject* self, Read&& read) {
  return guarded([&] {
    return PyLong_FromUnsignedLongLong(asking(self, [&](const Held& held) { return read(held); }));
  });
}
template <class Read>
PyObject* real_of(PyObject* self, Read&& read) {
  return guarded([&] {
    return PyFloat_FromDouble(asking(self, [&](const Held& held) { return read(held); }));
  });
}

PyObject* kind(PyObject* self, void*) {
  return guarded([&] { return text_of(std::string(held_of(self).row().id.name)).release(); });
}
PyObject* adds(PyObject* self, void*) {
  return number_of(self, [](const Held& held) { return held.adds(); });
}
PyObject* capacity(PyObject* self, void*) {
  return number_of(self, [](const Held& held) { return held.capacity(); });
}
PyObject* nbytes(PyObject* self, void*) {
  return number_of(self, [](const Held& held) { return held.bytes(); });
}
PyObject* most_count(PyObject* self, void*) {
  return number_of(self, [](const Held& held) { return held.most_count(); });
}
PyObject* rate(PyObject* self, void*) {
  return real_of(self, [](const Held& held) { return held.rate_asked(); });
}
PyObject* overfull(PyObject* self, void*) {
  return guarded([&] {
    return PyBool_FromLong(asking(self, [](const Held& held) { return held.overfull(); }) ? 1 : 0);
  });
}
PyObject* exact(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(held_of(self).row().exact ? 1 : 0); });
}
PyObject* seed(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(held_of(self).hasher().seed()); });
}
PyObject* hardened(PyObject* self, void*) {
  return guarded(
      [&] { return PyBool_FromLong(held_of(self).hasher().mode() == HashMode::hardened ? 1 : 0); });
}
PyObject* key_form(PyObject* self, void*) {
  return guarded(
      [&] { return text_of(std::string(name_of(asked_once(self).rules().form))).release(); });
}
PyObject* range(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const auto range = asked_once(self).range();
    if (!range) return Py_NewRef(Py_None);
    return Py_BuildValue("KK", static_cast<unsigned long long>(range->low),
                         static_cast<unsigned long long>(range->high));
  });
}
PyObject* live(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(live_of(self) != nullptr ? 1 : 0); });
}
PyObject* recovery(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Live* const live = live_of(self);
    if (live == nullptr) return Py_NewRef(Py_None);
    const Recovery& found = live->recovery();
    const auto is = [](bool yes) { return yes ? Py_True : Py_False; };
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    return Py_BuildValue("{s:O,s:O,s:O,s:K,s:K,s:K,s:K}", "was_cut", is(found.was_cut),
                         "lost_power", is(found.lost_power), "sync_failed", is(found.sync_failed),
                         "records", number(found.records), "keys", number(found.keys),
                         "summed_bytes", number(found.summed_bytes), "undone_keys",
                         number(found.undone_keys));
  });
}
PyObject* closed(PyObject* self, void*) {
  return PyBool_FromLong(as_set(self)->held == nullptr ? 1 : 0);
}

}  // namespace

PyGetSetDef set_facts[] = {
    {"kind", kind, nullptr, "The kind of the set, such as 'blocked'.", nullptr},
    {"adds", adds, nullptr, "Keys that were surely new when they were added.", nullptr},
    {"capacity", capacity, nullptr, "How many keys it was planned for; of maps, their range.",
     nullptr},
    {"rate", rate, nullptr, "The false-positive rate that was asked for.", nullptr},
    {"overfull", overfull, nullptr, "True if it holds more keys than it was planned for.", nullptr},
    {"nbytes", nbytes, nullptr, "Bytes of its bits.", nullptr},
    {"most_count", most_count, nullptr, "The highest count it keeps; 0: it does not count.",
     nullptr},
    {"exact", exact, nullptr, "True if its answers are never wrong.", nullptr},
    {"range", range, nullptr, "(low, high) of a map of integers; None for other kinds.", nullptr},
    {"seed", seed, nullptr, "Seed of the fast hash.", nullptr},
    {"hardened", hardened, nullptr, "True if keys are hashed with a secret.", nullptr},
    {"key_form", key_form, nullptr, "What its keys are: none, text, u64, number, hash or mixed.",
     nullptr},
    {"live", live, nullptr, "True if it is in a file that other processes change too.", nullptr},
    {"recovery", recovery, nullptr,
     "What open() found of a live file that was not closed: a dict. None if the set is not live.",
     nullptr},
    {"closed", closed, nullptr, "True after close().", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

Py_ssize_t set_length(PyObject* self) {
  try {
    const double keys = asking(self, [](const Held& held) { return held.estimate(); });
    if (!(keys < static_cast<double>(std::numeric_limits<Py_ssize_t>::max())))
      raise(PyExc_OverflowError,
            "every bit of the set is set, so that nothing is known of the number of its keys: plan "
            "it for more keys");
    return static_cast<Py_ssize_t>(std::llround(keys));
  } catch (...) {
    raised_from_cxx();
    return -1;
  }
}

int set_is_true(PyObject* self) {
  return guarded_int([&] {
    return asking(self, [](const Held& held) { return held.adds() != 0 || held.estimate() > 0; })
               ? 1
               : 0;
  });
}

PyObject* set_repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Ref name = type_name(self);
    if (as_set(self)->held == nullptr) return PyUnicode_FromFormat("<%U, closed>", name.get());
    const bool is_live = live_of(self) != nullptr;
    const std::string facts = asking(self, [is_live](const Held& held) {
      std::string text = "kind='" + std::string(held.row().id.name) +
                         "', adds=" + std::to_string(held.adds()) +
                         ", nbytes=" + std::to_string(held.bytes());
      if (const auto range = held.range())
        text += ", range=(" + std::to_string(range->low) + ", " + std::to_string(range->high) + ")";
      if (is_live) text += ", live";
      return text;
    });
    return PyUnicode_FromFormat("<%U %s>", name.get(), facts.c_str());
  });
}

PyObject* set_estimate(PyObject* self, PyObject*) {
  return real_of(self, [](const Held& held) { return held.estimate(); });
}
PyObject* set_rate_now(PyObject* self, PyObject*) {
  return real_of(self, [](const Held& held) { return held.rate_now(); });
}
PyObject* set_fill_ratio(PyObject* self, PyObject*) {
  return real_of(self, [](const Held& held) { return held.fill_ratio(); });
}
PyObject* set_sizeof(PyObject* self, PyObject*) {
  if (as_set(self)->held == nullptr) return PyLong_FromSize_t(sizeof(SetObject));
  return number_of(self, [](const Held& held) { return sizeof(SetObject) + held.bytes(); });
}

}  // namespace bloomery::python
