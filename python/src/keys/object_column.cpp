// Keys from any iterable: objects of Python, as one_key.hpp takes them.
#include <deque>
#include <string>
#include <vector>

#include "errors.hpp"
#include "keys/key_column.hpp"
#include "keys/one_key.hpp"

namespace bloomery::python {
namespace {

// CPython 3.12 calls them old; what takes their place is not in the stable ABI of 3.11.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// The Python error that is set, put by for later.
class KeptError {
 public:
  explicit operator bool() const { return static_cast<bool>(type_); }
  void keep() {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    type_ = Ref(type);
    value_ = Ref(value);
    trace_ = Ref(trace);
  }
  [[noreturn]] void raise_again() {
    PyErr_Restore(type_.release(), value_.release(), trace_.release());
    throw Raised{};
  }

 private:
  Ref type_;
  Ref value_;
  Ref trace_;
};

#pragma GCC diagnostic pop

class ObjectColumn final : public KeyColumn {
 public:
  explicit ObjectColumn(Ref iterator) : iterator_(std::move(iterator)) {}

  std::optional<std::size_t> size() const override { return std::nullopt; }
  bool is_plain() const override { return false; }

  // Spans end where the form of the keys changes.
  KeySpan next(std::size_t most) override {
    most = std::min(most, ready_keys);
    forget();
    if (failure_) failure_.raise_again();
    if (held_back_) {
      const Ref first = std::move(held_back_);
      take(Ref::to(first.get()));
    }
    try {
      while (held_.size() < most && take_one()) {
      }
    } catch (const Raised&) {
      // The keys before it are used first: they have left the iterator for ever.
      if (held_.empty()) throw;
      failure_.keep();
    }
    switch (form_) {
      case OneKey::Form::natural: return Naturals(naturals_);
      case OneKey::Form::integer: return Integers(integers_);
      case OneKey::Form::text: break;
    }
    return Texts(texts_);
  }

 private:
  // False: there are no more keys, or the next one begins another span.
  bool take_one() {
    Ref object(stopping_at_exit([this] { return PyIter_Next(iterator_.get()); }));
    if (!object) {
      if (PyErr_Occurred() != nullptr) throw Raised{};
      return false;
    }
    if (take(Ref::to(object.get()))) return true;
    held_back_ = std::move(object);
    return false;
  }
  // False: the key has another form than those before it in the span.
  bool take(Ref object) {
    const OneKey key(object.get());
    if (held_.empty())
      form_ = key.form();
    else if (form_ != key.form())
      return false;
    switch (form_) {
      case OneKey::Form::natural: naturals_.push_back(key.natural()); break;
      case OneKey::Form::integer: integers_.push_back(key.integer()); break;
      case OneKey::Form::text:
        texts_.push_back(key.lies_in_object() ? key.text() : copies_.emplace_back(key.text()));
        break;
    }
    held_.push_back(std::move(object));
    return true;
  }
  void forget() {
    held_.clear();
    naturals_.clear();
    integers_.clear();
    texts_.clear();
    copies_.clear();
  }

  Ref iterator_;
  KeptError failure_;      // told instead of the next span
  Ref held_back_;          // the first key of the next span
  std::vector<Ref> held_;  // what the texts lie in
  OneKey::Form form_ = OneKey::Form::natural;
  std::vector<std::uint64_t> naturals_;
  std::vector<std::int64_t> integers_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> copies_;
};

[[noreturn]] void refuse_one(const char* what) {
  raise(PyExc_TypeError,
        "%s is one key, and this verb takes many: give a list of keys, or use add, remove or 'in'",
        what);
}

}  // namespace

std::unique_ptr<KeyColumn> object_column(PyObject* keys) {
  Ref iterator(PyObject_GetIter(keys));
  if (!iterator) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw Raised{};
    PyErr_Clear();
    const Ref name = type_name(keys);
    raise(
        PyExc_TypeError,
        "'%U' does not hold keys: give an array, a list or another iterable of str, bytes, int or "
        "UUID",
        name.get());
  }
  return std::make_unique<ObjectColumn>(std::move(iterator));
}

std::unique_ptr<KeyColumn> column_of(PyObject* keys) {
  // Each would be taken for its letters or bytes, which is never meant.
  if (PyUnicode_Check(keys)) refuse_one("a str");
  if (PyBytes_Check(keys) || PyByteArray_Check(keys)) refuse_one("bytes");
  if (auto column = buffer_column(keys)) return column;
  if (auto column = arrow_column(keys)) return column;
  return object_column(keys);
}

}  // namespace bloomery::python
