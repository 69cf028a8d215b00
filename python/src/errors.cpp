#include "errors.hpp"

#include <array>
#include <new>
#include <stdexcept>
#include <string>

namespace bloomery::python {
namespace {

struct Row {
  Code code;
  const char* name;
  const char* code_name;
  PyObject** also;  // a built-in class that users catch for the same reason; nullptr: none
  const char* doc;
};

constexpr std::size_t codes = 12;
// In the order of Code.
const std::array<Row, codes> rows{{
    {Code::impossible, "Impossible", "impossible", &PyExc_ValueError,
     "No set can have this shape: a rate of 0, no keys, an empty range."},
    {Code::mismatch, "Mismatch", "mismatch", &PyExc_ValueError,
     "Two sets, or a set and its keys, do not fit together."},
    {Code::unsound, "Unsound", "unsound", &PyExc_TypeError,
     "The verb would give wrong answers on this kind of set."},
    {Code::out_of_range, "OutOfRange", "out_of_range", &PyExc_ValueError,
     "An integer outside the range of an exact map."},
    {Code::full, "Full", "full", nullptr, "The set can take no more keys."},
    {Code::bad_input, "BadInput", "bad_input", &PyExc_ValueError,
     "Something from outside is not what it should be."},
    {Code::not_ours, "NotOurs", "not_ours", &PyExc_ValueError, "The bytes are not a set file."},
    {Code::unsupported, "Unsupported", "unsupported", &PyExc_NotImplementedError,
     "A file of a later version, or a feature that this build lacks."},
    {Code::damaged, "Damaged", "damaged", &PyExc_ValueError,
     "A set file whose bytes are not those that were written."},
    {Code::exists, "Exists", "exists", &PyExc_FileExistsError, "Would overwrite a file."},
    {Code::no_memory, "NoMemory", "no_memory", &PyExc_MemoryError,
     "The system does not give that much memory."},
    {Code::io, "Io", "io", &PyExc_OSError, "The system refused to read or write."},
}};

std::array<PyObject*, codes> classes{};
PyObject* base = nullptr;
PyObject* closed = nullptr;
PyObject* not_found = nullptr;

PyObject* class_of(Code code) {
  const auto at = static_cast<std::size_t>(code);
  return at < codes && classes[at] != nullptr ? classes[at] : PyExc_RuntimeError;
}

Ref new_class(const char* name, const char* doc, PyObject* first, PyObject* second,
              const char* code) {
  const std::string full = std::string("bloomery.") + name;
  const Ref bases =
      need(second == nullptr ? PyTuple_Pack(1, first) : PyTuple_Pack(2, first, second));
  const Ref facts = need(PyDict_New());
  const Ref text = need(code == nullptr ? PyUnicode_FromString("") : PyUnicode_FromString(code));
  need(PyDict_SetItemString(facts.get(), "code", text.get()));
  return need(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), facts.get()));
}

}  // namespace

int add_exceptions(PyObject* module) {
  return guarded_int([&] {
    base = new_class("Error", "What bloomery says; str() is the sentence, code the sort of error.",
                     PyExc_Exception, nullptr, nullptr)
               .release();
    need(PyModule_AddObjectRef(module, "Error", base));
    for (const Row& row : rows) {
      PyObject*& made = classes[static_cast<std::size_t>(row.code)];
      made = new_class(row.name, row.doc, base, row.also == nullptr ? nullptr : *row.also,
                       row.code_name)
                 .release();
      need(PyModule_AddObjectRef(module, row.name, made));
    }
    closed = new_class("Closed", "The set was closed.", base, PyExc_ValueError, "closed").release();
    need(PyModule_AddObjectRef(module, "Closed", closed));
    not_found = new_class("NotFound", "There is no such file.", class_of(Code::io),
                          PyExc_FileNotFoundError, "io")
                    .release();
    need(PyModule_AddObjectRef(module, "NotFound", not_found));
    return 0;
  });
}

int take_exceptions() {
  return guarded_int([&] {
    const Ref module = need(PyImport_ImportModule("bloomery._bloomery"));
    const auto take = [&](const char* name) {
      return need(PyObject_GetAttrString(module.get(), name)).release();
    };
    base = take("Error");
    for (const Row& row : rows) classes[static_cast<std::size_t>(row.code)] = take(row.name);
    closed = take("Closed");
    not_found = take("NotFound");
    return 0;
  });
}

PyObject* closed_class() { return closed; }

namespace {

PyObject* raised_as(PyObject* type, const std::string& text) {
  // Sentences hold names of files, which may be any bytes.
  const Ref sentence(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
  if (sentence) PyErr_SetObject(type, sentence.get());
  return nullptr;
}

}  // namespace

PyObject* raised(const Error& error) { return raised_as(class_of(error.code), error.sentence); }
PyObject* raised_not_found(const Error& error) { return raised_as(not_found, error.sentence); }

PyObject* raised_from_cxx() {
  try {
    throw;
  } catch (const Raised&) {
  } catch (const Failure& failure) {
    raised({failure.code, failure.what()});
  } catch (const std::invalid_argument& refused) {
    raised({Code::impossible, refused.what()});
  } catch (const std::out_of_range& outside) {
    raised({Code::out_of_range, outside.what()});
  } catch (const std::bad_alloc&) {
    raised({Code::no_memory, "the system does not give the memory that this takes"});
  } catch (const std::exception& thrown) {
    PyErr_SetString(PyExc_RuntimeError, thrown.what());
  }
  return nullptr;
}

}  // namespace bloomery::python
