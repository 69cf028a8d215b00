#include "keys/answers.hpp"

#include <cstring>
#include <string_view>

namespace bloomery::python {
namespace {

// numpy.empty; None where there is no numpy.
PyObject* numpy_empty() {
  static PyObject* found = nullptr;
  if (found != nullptr) return found;
  const Ref numpy(PyImport_ImportModule("numpy"));
  if (!numpy) {
    if (PyErr_ExceptionMatches(PyExc_ImportError) == 0) throw Raised{};
    PyErr_Clear();
    Py_INCREF(Py_None);
    return found = Py_None;
  }
  return found = need(PyObject_GetAttrString(numpy.get(), "empty")).release();
}

}  // namespace

Ref new_array(std::size_t n, const char* code, std::size_t item_bytes) {
  const auto size = static_cast<Py_ssize_t>(n);
  if (PyObject* empty = numpy_empty(); empty != Py_None)
    return need(PyObject_CallFunction(empty, "ns", size, code));
  const Ref bytes =
      need(PyByteArray_FromStringAndSize(nullptr, size * static_cast<Py_ssize_t>(item_bytes)));
  std::memset(PyByteArray_AsString(bytes.get()), 0, n * item_bytes);
  const Ref view = need(PyMemoryView_FromObject(bytes.get()));
  return need(PyObject_CallMethod(view.get(), "cast", "s", code));
}

template <class T>
Answers<T>::Answers(PyObject* out, const KeyColumn& column) {
  const auto keys = column.size();
  if (out != nullptr && out != Py_None) {
    given_ = true;
    lend(out);
    if (keys && *keys != size_)
      raise(PyExc_ValueError, "out has room for %zd answers, and there are %zd keys",
            static_cast<Py_ssize_t>(size_), static_cast<Py_ssize_t>(*keys));
    if (column.lies_in(view_.buf, static_cast<std::size_t>(view_.len)))
      raise(PyExc_ValueError,
            "out shares its memory with the keys, which the answers would overwrite: give an "
            "array of its own");
    has_room_ = keys.has_value();
  } else if (keys) {
    make(*keys);
    has_room_ = true;
  }
}

template <class T>
Answers<T>::~Answers() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

template <class T>
void Answers<T>::make(std::size_t size) {
  const Ref array = new_array(size, AnswerItem<T>::numpy, sizeof(T));
  lend(array.get());
}

template <class T>
void Answers<T>::lend(PyObject* array) {
  if (PyObject_GetBuffer(array, &view_, PyBUF_FULL_RO) < 0) throw Raised{};
  array_ = Ref::to(array);
  std::string_view format = view_.format == nullptr ? "B" : view_.format;
  while (!format.empty() && std::string_view("@=<").find(format[0]) != std::string_view::npos)
    format.remove_prefix(1);
  const bool is_ours =
      format.size() == 1 && view_.itemsize == sizeof(T) &&
      std::string_view(AnswerItem<T>::letters).find(format[0]) != std::string_view::npos;
  if (view_.readonly != 0 || view_.ndim != 1 || !is_ours || PyBuffer_IsContiguous(&view_, 'C') == 0)
    raise(PyExc_ValueError,
          "out is not a writable, contiguous, one-dimensional array of %s: give "
          "numpy.empty(len(keys), '%s')",
          AnswerItem<T>::name, AnswerItem<T>::numpy);
  size_ = static_cast<std::size_t>(view_.len) / sizeof(T);
}

template <class T>
std::span<T> Answers<T>::next(std::size_t n) {
  const std::size_t first = done_;
  if (array_) {
    if (n > size_ - done_)
      raise(PyExc_ValueError, "out has room for %zd answers, and there are more keys",
            static_cast<Py_ssize_t>(size_));
    done_ += n;
    return {static_cast<T*>(view_.buf) + first, n};
  }
  done_ += n;
  grown_.resize(done_ * sizeof(T));
  return {reinterpret_cast<T*>(grown_.data()) + first, n};
}

template <class T>
Ref Answers<T>::finish() {
  if (!array_) {
    make(done_);
    if (done_ != 0) std::memcpy(view_.buf, grown_.data(), done_ * sizeof(T));
  } else if (done_ != size_) {
    raise(PyExc_ValueError, "out has room for %zd answers, and there were %zd keys",
          static_cast<Py_ssize_t>(size_), static_cast<Py_ssize_t>(done_));
  }
  return std::move(array_);
}

template class Answers<bool>;
template class Answers<std::uint64_t>;

}  // namespace bloomery::python
