// What a set of a kind would cost, and which kinds there are.
#include <string>

#include <bloomery/any_set.hpp>

#include "arguments.hpp"
#include "errors.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

const KindRow& row_of(const char* kind) {
  if (const KindRow* row = AnySet::find_row(kind)) return *row;
  told(Result<void>(Error{
      Code::bad_input, "unknown kind '" + std::string(kind) + "': bloomery.kinds() lists them"}));
  throw Raised{};
}

void put(PyObject* dict, const char* name, Ref value) {
  need(PyDict_SetItemString(dict, name, value.get()));
}
Ref number(std::uint64_t value) { return need(PyLong_FromUnsignedLongLong(value)); }
Ref truth(bool value) { return need(PyBool_FromLong(value ? 1 : 0)); }

}  // namespace

PyObject* plan(PyObject*, PyObject* args, PyObject* named) {
  static const char* names[] = {"keys", "rate", "kind", "memory", "range", nullptr};
  unsigned long long keys = 0;
  double rate = 0;
  const char* kind = "blocked";
  unsigned long long memory = 0;
  Range range;
  if (PyArg_ParseTupleAndKeywords(args, named, "|Kd$sK(KK):plan", const_cast<char**>(names), &keys,
                                  &rate, &kind, &memory, &range.low, &range.high) == 0)
    return nullptr;
  return guarded([&] {
    const KindRow& row = row_of(kind);
    const Want given{.keys = keys, .rate = rate, .range = range, .memory_bytes = memory};
    const Want want = told(row.complete(given));
    const std::uint64_t bytes = told(row.planned_bytes(want));
    Ref facts = need(PyDict_New());
    put(facts.get(), "kind", text_of(std::string(row.id.name)));
    put(facts.get(), "keys", number(want.keys));
    put(facts.get(), "rate", need(PyFloat_FromDouble(want.rate)));
    put(facts.get(), "nbytes", number(bytes));
    return facts.release();
  });
}

PyObject* kinds(PyObject*, PyObject*) {
  return guarded([&] {
    Ref all = need(PyDict_New());
    for (const KindRow& row : AnySet::register_rows()) {
      Ref facts = need(PyDict_New());
      put(facts.get(), "integers", truth(row.input == InputForm::ordinal));
      put(facts.get(), "exact", truth(row.exact));
      put(facts.get(), "grows", truth(row.grows));
      put(facts.get(), "removes", truth(row.removes));
      put(facts.get(), "counts", truth(row.counts));
      put(facts.get(), "forgets", truth(row.forgets));
      put(facts.get(), "built", truth(row.built || row.two_lists));
      put(all.get(), std::string(row.id.name).c_str(), std::move(facts));
    }
    return all.release();
  });
}

}  // namespace bloomery::python
