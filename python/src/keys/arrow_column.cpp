// Keys through the PyCapsule protocol of Arrow: pyarrow, polars, pandas, DuckDB and others.
#include <algorithm>

#include "keys/arrow_rows.hpp"
#include "keys/key_column.hpp"

namespace bloomery::python {
namespace {

template <class T>
T* in_capsule(PyObject* capsule, const char* name) {
  auto* held = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (held == nullptr) throw Raised{};
  if (held->release == nullptr)
    raise(PyExc_ValueError, "the Arrow structure was used already: ask for it once more");
  return held;
}

// One array, or those of a stream.
class ArrowColumn final : public KeyColumn {
 public:
  ArrowColumn(ArrowOwned<ArrowSchema> schema, ArrowOwned<ArrowArray> array)
      : schema_(std::move(schema)), is_stream_(false) {
    begin(std::move(array));
  }
  ArrowColumn(ArrowOwned<ArrowSchema> schema, ArrowOwned<ArrowArrayStream> stream)
      : schema_(std::move(schema)), stream_(std::move(stream)), is_stream_(true) {}

  std::optional<std::size_t> size() const override {
    if (is_stream_) return std::nullopt;
    return rows_.count;
  }
  // A stream may run Python to make its next array.
  bool is_plain() const override { return !is_stream_; }

  KeySpan next(std::size_t most) override {
    while (is_stream_ && done_ == rows_.count && next_array()) continue;
    if (done_ == rows_.count) return Texts();
    std::size_t n = std::min(most, rows_.count - done_);
    if (!rows_.rows->in_place()) n = std::min(n, ready_keys);
    const KeySpan keys = rows_.rows->take(done_, n);
    done_ += n;
    return keys;
  }

 private:
  void begin(ArrowOwned<ArrowArray> array) {
    rows_ = {};
    array_ = std::move(array);
    rows_ = arrow_rows(*schema_.get(), *array_.get());
    done_ = 0;
  }
  // False: the stream has ended.
  bool next_array() {
    if (ended_) return false;
    ArrowOwned<ArrowArray> array;
    ArrowArrayStream* stream = stream_.get();
    if (const int failed = stream->get_next(stream, array.get()); failed != 0) {
      const char* why = stream->get_last_error(stream);
      raise(PyExc_OSError, "the Arrow stream failed: %s", why == nullptr ? "unknown" : why);
    }
    ended_ = array.get()->release == nullptr;
    if (ended_) return false;
    begin(std::move(array));
    return true;
  }

  ArrowOwned<ArrowSchema> schema_;
  ArrowOwned<ArrowArrayStream> stream_;
  ArrowOwned<ArrowArray> array_;
  bool is_stream_;
  bool ended_ = false;
  ArrowRows rows_;
  std::size_t done_ = 0;
};

// What the method of this name returns; nothing if the object has no such method.
Ref called(PyObject* object, const char* name) {
  const Ref method(PyObject_GetAttrString(object, name));
  if (!method) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw Raised{};
    PyErr_Clear();
    return Ref();
  }
  return need(PyObject_CallNoArgs(method.get()));
}

}  // namespace

std::unique_ptr<KeyColumn> arrow_column(PyObject* keys) {
  if (const Ref pair = called(keys, "__arrow_c_array__")) {
    if (PyTuple_Check(pair.get()) == 0 || PyTuple_Size(pair.get()) != 2)
      raise(PyExc_TypeError, "__arrow_c_array__ did not return a schema and an array");
    auto* schema = in_capsule<ArrowSchema>(PyTuple_GetItem(pair.get(), 0), "arrow_schema");
    auto* array = in_capsule<ArrowArray>(PyTuple_GetItem(pair.get(), 1), "arrow_array");
    return std::make_unique<ArrowColumn>(ArrowOwned<ArrowSchema>::take(schema),
                                         ArrowOwned<ArrowArray>::take(array));
  }
  if (const Ref capsule = called(keys, "__arrow_c_stream__")) {
    auto stream = ArrowOwned<ArrowArrayStream>::take(
        in_capsule<ArrowArrayStream>(capsule.get(), "arrow_array_stream"));
    ArrowOwned<ArrowSchema> schema;
    if (stream.get()->get_schema(stream.get(), schema.get()) != 0) {
      const char* why = stream.get()->get_last_error(stream.get());
      raise(PyExc_OSError, "the Arrow stream failed: %s", why == nullptr ? "unknown" : why);
    }
    return std::make_unique<ArrowColumn>(std::move(schema), std::move(stream));
  }
  return nullptr;
}

}  // namespace bloomery::python
