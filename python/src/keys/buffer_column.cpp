// Keys from the buffer protocol: numpy arrays, array.array, memoryview.
#include <string>
#include <string_view>

#include "keys/table_rows.hpp"

namespace bloomery::python {
namespace {

class View {
 public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (view.obj != nullptr) PyBuffer_Release(&view);
  }
  Py_buffer view{};
};

// UCS-4 rows of numpy as UTF-8. What is wrong is told where the GIL is held: see check().
class WideTextRows final : public Rows {
 public:
  WideTextRows(const void* at, std::size_t bytes)
      : at_(static_cast<const std::uint32_t*>(at)), width_(bytes / 4) {}

  // Are all of them characters that have a UTF-8 form?
  bool check(std::size_t rows) const {
    for (std::size_t i = 0; i < rows * width_; ++i)
      if (at_[i] > 0x10'ffff || (at_[i] >= 0xd800 && at_[i] < 0xe000)) return false;
    return true;
  }
  KeySpan take(std::size_t first, std::size_t n) override {
    bytes_.clear();
    ends_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t* row = at_ + (first + i) * width_;
      std::size_t length = width_;
      while (length > 0 && row[length - 1] == 0) --length;
      for (std::size_t k = 0; k < length; ++k) write(row[k]);
      ends_.push_back(bytes_.size());
    }
    texts_.resize(n);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < n; ++i) {
      texts_[i] = std::string_view(bytes_).substr(begin, ends_[i] - begin);
      begin = ends_[i];
    }
    return Texts(texts_);
  }

 private:
  void write(std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { bytes_.push_back(static_cast<char>(byte)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xc0 | c >> 6);
      return put(0x80 | (c & 0x3f));
    }
    if (c < 0x1'0000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }

  const std::uint32_t* at_;
  std::size_t width_;
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> texts_;
};

class BufferColumn final : public KeyColumn {
 public:
  BufferColumn(std::unique_ptr<View> view, std::unique_ptr<Rows> rows, std::size_t count)
      : view_(std::move(view)), rows_(std::move(rows)), count_(count) {}

  std::optional<std::size_t> size() const override { return count_; }
  bool is_plain() const override { return true; }
  bool lies_in(const void* at, std::size_t bytes) const override {
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    const auto keys = reinterpret_cast<std::uintptr_t>(view_->view.buf);
    return first < keys + static_cast<std::size_t>(view_->view.len) && keys < first + bytes;
  }
  KeySpan next(std::size_t most) override {
    std::size_t n = std::min(most, count_ - done_);
    if (!rows_->in_place()) n = std::min(n, ready_keys);
    const KeySpan keys = rows_->take(done_, n);
    done_ += n;
    return keys;
  }

 private:
  std::unique_ptr<View> view_;
  std::unique_ptr<Rows> rows_;
  std::size_t count_;
  std::size_t done_ = 0;
};

[[noreturn]] void refuse_format(const char* format) {
  if (std::string_view("efdg").find(format[0]) != std::string_view::npos && format[1] == 0)
    raise(PyExc_TypeError,
          "an array of floats does not hold keys, since equal numbers may differ in bits: give "
          "integers (astype('i8') if all of them are whole), or text");
  raise(PyExc_TypeError,
        "an array with items of format '%s' does not hold keys: give integers (astype('i8')), "
        "bytes ('S'), text ('U') or objects",
        format);
}

// What the items are, as module struct writes it.
struct Items {
  char letter = 'B';
  bool swapped = false;
};
Items items_of(const Py_buffer& view) {
  const char* given = view.format == nullptr ? "B" : view.format;
  std::string_view format = given;
  Items items;
  if (format.starts_with('>') || format.starts_with('!')) items.swapped = view.itemsize > 1;
  if (!format.empty() && std::string_view("@=<>!^").find(format[0]) != std::string_view::npos)
    format.remove_prefix(1);
  while (!format.empty() && format[0] >= '0' && format[0] <= '9') format.remove_prefix(1);
  if (format.size() != 1) refuse_format(given);
  items.letter = format[0];
  return items;
}

std::unique_ptr<Rows> rows_of(const Py_buffer& view, std::size_t count) {
  const Items items = items_of(view);
  const auto width = static_cast<std::size_t>(view.itemsize);
  const auto is_one_of = [&](std::string_view letters) {
    return letters.find(items.letter) != std::string_view::npos;
  };
  const bool is_text = items.letter == 'w';
  const bool is_signed = is_one_of("bhilqn");
  if (!is_text && !is_signed && !is_one_of("BHILQNsc"))
    refuse_format(view.format == nullptr ? "B" : view.format);
  if (items.swapped && !is_one_of("sc"))
    raise(PyExc_ValueError,
          "the array has the byte order of another machine: give "
          "a.astype(a.dtype.newbyteorder('='))");
  if (is_one_of("sc")) return std::make_unique<ByteRows>(view.buf, width, items.letter == 's');
  if (is_text) {
    auto rows = std::make_unique<WideTextRows>(view.buf, width);
    if (!rows->check(count))
      raise(PyExc_ValueError,
            "the array has text with lone surrogates, which has no UTF-8 form: give bytes");
    return rows;
  }
  return integer_rows(view.buf, width, is_signed);
}

// A masked array of numpy lends its items as if none were masked.
void refuse_masked(PyObject* keys) {
  const Ref is_masked_array(PyObject_GetAttrString(keys, "compressed"));
  if (!is_masked_array) return PyErr_Clear();
  const Ref mask = need(PyObject_GetAttrString(keys, "mask"));
  const Ref some = need(PyObject_CallMethod(mask.get(), "any", nullptr));
  const int missing = PyObject_IsTrue(some.get());
  need(missing);
  if (missing == 1)
    raise(PyExc_ValueError, "the array has masked keys: give a.compressed() to leave them out");
}

}  // namespace

std::unique_ptr<KeyColumn> buffer_column(PyObject* keys) {
  if (PyObject_CheckBuffer(keys) == 0) return nullptr;
  refuse_masked(keys);
  auto owner = std::make_unique<View>();
  Py_buffer& view = owner->view;
  if (PyObject_GetBuffer(keys, &view, PyBUF_FULL_RO) < 0) {
    // numpy does not lend out dates; what it says is not for those who have keys.
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw Raised{};
    PyErr_Clear();
    const Ref name = type_name(keys);
    raise(PyExc_TypeError,
          "this %U does not lend its items to others: give integers, such as a.view('i8') of dates",
          name.get());
  }
  const std::string_view format = view.format == nullptr ? "B" : view.format;
  if (format == "O") return nullptr;  // objects, one by one
  if (view.ndim != 1)
    raise(PyExc_ValueError, "keys lie in one dimension, and this array has %d: give a.ravel()",
          view.ndim);
  if (PyBuffer_IsContiguous(&view, 'C') == 0)
    raise(PyExc_ValueError,
          "the array is not contiguous, for example a slice with a step: give "
          "numpy.ascontiguousarray(a)");
  const auto count =
      static_cast<std::size_t>(view.shape == nullptr ? view.len / view.itemsize : view.shape[0]);
  auto rows = rows_of(view, count);
  if (rows == nullptr) refuse_format(view.format);
  return std::make_unique<BufferColumn>(std::move(owner), std::move(rows), count);
}

}  // namespace bloomery::python
