// How sets are made: planned for so many keys, or from the keys themselves.
#include <optional>
#include <string>
#include <vector>

#include <bloomery/kinds.hpp>

#include "arguments.hpp"
#include "keys/key_column.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

// What Set(keys, rate, ...) was given.
struct Wish {
  PyObject* keys = Py_None;
  PyObject* rate = Py_None;
  PyObject* range = Py_None;
  PyObject* seed = Py_None;
  PyObject* secret = Py_None;
  const char* kind = "blocked";
  PyObject* memory = nullptr;
  PyObject* most_count = nullptr;
  PyObject* shards = nullptr;
  int removal = 0;
  int lines = 0;
};

constexpr double usual_rate = 0.01;

double rate_of(PyObject* rate, bool is_wanted) {
  if (rate == Py_None) return is_wanted ? usual_rate : 0;
  const double number = PyFloat_AsDouble(rate);
  if (number == -1 && PyErr_Occurred() != nullptr) throw Raised{};
  return number;
}

std::uint64_t whole_of(PyObject* number, const char* name) {
  if (number == nullptr) return 0;
  const Ref index(PyNumber_Index(number));  // also of numpy's integers
  const unsigned long long whole = index ? PyLong_AsUnsignedLongLong(index.get()) : 0;
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(PyExc_ValueError, "%s is not a whole number from 0 to 2**64 - 1", name);
  }
  return whole;
}

Range range_of(PyObject* range) {
  if (range == Py_None) return {};
  if (PyTuple_Check(range) == 0 || PyTuple_Size(range) != 2)
    raise(PyExc_ValueError, "range is a pair: (lowest, highest), both in it");
  return {whole_of(PyTuple_GetItem(range, 0), "the lowest integer of the range"),
          whole_of(PyTuple_GetItem(range, 1), "the highest integer of the range")};
}

// Is it how many keys there will be, and not the keys?
bool is_number(PyObject* keys) {
  if (keys == Py_None || PyLong_Check(keys) != 0) return true;
  if (PyFloat_Check(keys) != 0)
    raise(PyExc_TypeError, "the number of keys is an int, not a float: give int(keys)");
  // An integer of numpy; arrays can be an index too, but those are of keys.
  if (PyIndex_Check(keys) == 0) return false;
  const Ref iterator(PyObject_GetIter(keys));
  if (!iterator) PyErr_Clear();
  return !iterator;
}

const KindRow& row_of(const char* kind) {
  const KindRow* row = AnySet::find_row(kind);
  if (row != nullptr) return *row;
  std::string names;
  for (const KindRow& known : AnySet::register_rows())
    names += (names.empty() ? "" : ", ") + std::string(known.id.name);
  told(Result<void>(
      Error{Code::bad_input, "unknown kind '" + std::string(kind) + "': give one of " + names}));
  throw Raised{};
}

// The form of the keys so far and of this span; texts beside integers are refused.
KeyForm joined_form(KeyForm before, const KeySpan& keys) {
  const KeyForm form = std::holds_alternative<Texts>(keys) ? KeyForm::text : KeyForm::u64;
  if (before != KeyForm::none && before != form)
    raise(PyExc_TypeError, "the keys are texts and integers, which never meet: give one of both");
  return form;
}

// Every key of a column as its hash, and the form they have.
struct Hashed {
  std::vector<Hash> hashes;
  KeyForm form = KeyForm::none;
};
Hashed hash_all(KeyColumn& column, const Hasher& hasher) {
  Hashed hashed;
  for (;;) {
    const KeySpan keys = column.next(ready_keys);
    if (size_of(keys) == 0) return hashed;
    hashed.form = joined_form(hashed.form, keys);
    std::visit(
        [&](const auto& span) {
          for (const auto& key : span) hashed.hashes.push_back(hasher(key));
        },
        keys);
    need(PyErr_CheckSignals());
  }
}

[[noreturn]] void refuse_conflict(const CascadeBuilder& builder, const Error& error) {
  Error whole = error;
  if (const auto& both = builder.conflict())
    whole.sentence = "blocked key number " + std::to_string(both->blocked) +
                     " is also allowed key number " + std::to_string(both->allowed) +
                     " (counted from 0): take it out of one of the lists";
  told(Result<void>(whole));
  throw Raised{};
}

// An Error of a call without the GIL is told when it is held again.
template <class Make>
std::unique_ptr<Held> without_gil(Make&& make) {
  Result<std::unique_ptr<Held>> held = std::unique_ptr<Held>();
  {
    const NoGil others_run;
    held = make();
  }
  return told(std::move(held));
}

// The keys of a set that is made from them: their number is the plan, unless memory is.
Ref counted(PyObject* keys, const KindRow& row, Want& want) {
  Ref all = Ref::to(keys);
  if (row.grows || row.input == InputForm::ordinal || want.memory_bytes != 0) return all;
  Py_ssize_t length = PyObject_Size(keys);
  if (length < 0) {
    PyErr_Clear();
    all = need(PySequence_List(keys));
    length = PyObject_Size(all.get());
    need(static_cast<int>(length < 0 ? -1 : 0));
  }
  want.keys = static_cast<std::uint64_t>(length == 0 ? 1 : length);
  return all;
}

Ref made(PyTypeObject* type, const Wish& wish) {
  const KindRow& row = row_of(wish.kind);
  const Hasher hasher = hasher_of(wish.seed, wish.secret);
  const bool planned = is_number(wish.keys);
  Want want{.range = range_of(wish.range),
            .memory_bytes = whole_of(wish.memory, "memory"),
            .most_count = whole_of(wish.most_count, "most_count"),
            .removal = wish.removal != 0,
            .shards = whole_of(wish.shards, "shards")};
  if (planned && wish.keys != Py_None) want.keys = whole_of(wish.keys, "keys");
  const bool rate_follows = want.memory_bytes != 0 && want.keys != 0;
  want.rate = rate_of(wish.rate, !row.exact && !row.whole_hashes && !rate_follows);
  const auto note = [&](Held& held) {
    if (wish.lines == 0) return;
    // What the command notes of keys that are whole lines.
    KeyRules rules = held.rules();
    rules.strip_cr = true;
    rules.made_from = "list";
    held.note(std::move(rules));
  };
  if (row.two_lists)
    told(Result<void>(Error{Code::unsupported,
                            "a cascade is built from two lists: give them to bloomery.Cascade"}));
  if (row.built) {
    if (planned)
      told(Result<void>(Error{Code::unsupported, "a " + std::string(row.id.name) +
                                                     " set is built from all its keys: give the "
                                                     "keys, not their number"}));
    const Hashed keys = hash_all(*column_of(wish.keys), hasher);
    auto held =
        without_gil([&] { return build_held(wish.kind, want, keys.hashes, keys.form, hasher); });
    note(*held);
    return object_of(type, std::move(held));
  }
  const Ref keys = planned ? Ref() : counted(wish.keys, row, want);
  auto held = without_gil([&] { return make_held(wish.kind, want, hasher); });
  note(*held);
  Ref object = object_of(type, std::move(held));
  if (keys) update_from(object.get(), keys.get(), {1});
  return object;
}

}  // namespace

PyObject* set_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys",    "rate",   "kind", "memory", "range", "most_count",
                                "removal", "shards", "seed", "secret", "lines", nullptr};
  Wish wish;
  if (PyArg_ParseTupleAndKeywords(args, named, "|OO$sOOOpOOOp:Set", const_cast<char**>(names),
                                  &wish.keys, &wish.rate, &wish.kind, &wish.memory, &wish.range,
                                  &wish.most_count, &wish.removal, &wish.shards, &wish.seed,
                                  &wish.secret, &wish.lines) == 0)
    return nullptr;
  return guarded([&] {
    if (std::string_view(wish.kind) == Bitmap::id.name)
      told(Result<void>(Error{Code::unsupported,
                              "a bitmap is a type of its own: use bloomery.Bitmap(low, high)"}));
    return made(type, wish).release();
  });
}

PyObject* bitmap_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"low", "high", "keys", nullptr};
  PyObject* low = nullptr;
  PyObject* high = nullptr;
  PyObject* keys = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, named, "OO|O:Bitmap", const_cast<char**>(names), &low,
                                  &high, &keys) == 0)
    return nullptr;
  return guarded([&] {
    const Want want{.range = {whole_of(low, "low"), whole_of(high, "high")}};
    Ref object =
        object_of(type, without_gil([&] { return make_held(Bitmap::id.name, want, Hasher()); }));
    if (keys != Py_None) update_from(object.get(), keys, {1});
    return object.release();
  });
}

PyObject* cascade_new(PyTypeObject* type, PyObject* args, PyObject* named) {
  static const char* names[] = {"blocked", "allowed", "rate", "seed", "secret", nullptr};
  PyObject* blocked = nullptr;
  PyObject* allowed = nullptr;
  PyObject* rate = Py_None;
  PyObject* seed = Py_None;
  PyObject* secret = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, named, "OO|O$OO:Cascade", const_cast<char**>(names),
                                  &blocked, &allowed, &rate, &seed, &secret) == 0)
    return nullptr;
  return guarded([&] {
    const Hasher hasher = hasher_of(seed, secret);
    CascadeBuilder builder(Want{.rate = rate_of(rate, true)});
    KeyForm form = KeyForm::none;
    std::vector<WideHash> hashes;
    const auto take = [&](PyObject* keys, auto&& give) {
      const auto column = column_of(keys);
      for (;;) {
        const KeySpan span = column->next(ready_keys);
        if (size_of(span) == 0) return;
        form = joined_form(form, span);
        hashes.clear();
        std::visit(
            [&](const auto& texts) {
              for (const auto& key : texts) hashes.push_back(hasher.wide(key));
            },
            span);
        if (auto given = give(std::span<const WideHash>(hashes)); !given)
          refuse_conflict(builder, given.error());
        need(PyErr_CheckSignals());
      }
    };
    take(allowed, [&](auto span) { return builder.allow_all(span); });
    take(blocked, [&](auto span) { return builder.block_all(span); });
    KeyRules rules;
    rules.form = form;
    auto held = without_gil([&]() -> Result<std::unique_ptr<Held>> {
      auto cascade = std::move(builder).finish();
      if (!cascade) return cascade.error();
      return hold(AnySet::of(std::move(*cascade), hasher, rules));
    });
    return object_of(type, std::move(held)).release();
  });
}

}  // namespace bloomery::python
