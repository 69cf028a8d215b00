// What only a bitmap can: list its members, count those before one.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "keys/answers.hpp"
#include "keys/one_key.hpp"
#include "sets/set_object.hpp"
#include "sets/set_verbs.hpp"

namespace bloomery::python {
namespace {

constexpr std::size_t members_at_a_time = 512;

struct MemberIterator {
  PyObject_HEAD PyObject* bitmap;       // owned
  std::vector<std::uint64_t>* members;  // the next ones, the last of them first
  std::uint64_t from;
  bool ended;
};

PyTypeObject* iterator_type = nullptr;

MemberIterator* as_iterator(PyObject* object) { return reinterpret_cast<MemberIterator*>(object); }

// Reads the members from a number on, so that a bitmap may change meanwhile.
bool read_members(MemberIterator* iterator) {
  if (iterator->ended) return false;
  std::vector<std::uint64_t>& members = *iterator->members;
  members.resize(members_at_a_time);
  const std::size_t n = asking(iterator->bitmap, [&](const Held& held) {
    return held.bitmap()->copy_members(std::span(members), iterator->from);
  });
  members.resize(n);
  if (n == 0) return false;
  iterator->ended = n < members_at_a_time || members.back() == ~std::uint64_t{0};
  iterator->from = members.back() + 1;
  std::reverse(members.begin(), members.end());
  return true;
}

PyObject* next_member(PyObject* self) {
  MemberIterator* iterator = as_iterator(self);
  return guarded([&]() -> PyObject* {
    if (iterator->members->empty() && !read_members(iterator)) return nullptr;
    const std::uint64_t member = iterator->members->back();
    iterator->members->pop_back();
    return PyLong_FromUnsignedLongLong(member);
  });
}

void free_iterator(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_iterator(self)->bitmap);
  delete as_iterator(self)->members;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// A bitmap lists its members where they lie in memory: of a live one, a copy.
template <class Work>
auto listing(PyObject* self, Work&& work) {
  const Ref bitmap = local(self);
  return asking(bitmap.get(), [&](const Held& held) { return work(*held.bitmap()); });
}

std::uint64_t number_of(PyObject* object) {
  const OneKey key(object);
  if (key.form() == OneKey::Form::text) raise(PyExc_TypeError, "a bitmap holds ints, not texts");
  if (key.form() == OneKey::Form::integer) raise(PyExc_ValueError, "the number is below 0");
  return key.natural();
}

}  // namespace

PyObject* bitmap_iterate(PyObject* self) {
  return guarded([&] {
    Ref bitmap = local(self);
    Ref object = need(PyType_GenericAlloc(iterator_type, 0));
    MemberIterator* iterator = as_iterator(object.get());
    iterator->bitmap = bitmap.release();
    iterator->members = new std::vector<std::uint64_t>;
    iterator->from = 0;
    iterator->ended = false;
    return object.release();
  });
}

PyObject* bitmap_to_numpy(PyObject* self, PyObject* args, PyObject* named) {
  static const char* names[] = {"dtype", nullptr};
  const char* dtype = "uint64";
  if (PyArg_ParseTupleAndKeywords(args, named, "|s:to_numpy", const_cast<char**>(names), &dtype) ==
      0)
    return nullptr;
  return guarded([&] {
    const bool narrow = std::string_view(dtype) == "uint32";
    if (!narrow && std::string_view(dtype) != "uint64")
      raise(PyExc_ValueError, "dtype is 'uint64' or 'uint32', not '%s'", dtype);
    const Ref listed = local(self);
    const auto count =
        listing(listed.get(), [](const Set<Bitmap>& bitmap) { return bitmap.count(); });
    Ref array = new_array(count, narrow ? "I" : "Q", narrow ? 4 : 8);
    Py_buffer view{};
    need(PyObject_GetBuffer(array.get(), &view, PyBUF_WRITABLE));
    std::size_t copied = 0;
    try {
      copied = listing(listed.get(), [&](const Set<Bitmap>& bitmap) {
        return narrow
                   ? bitmap.copy_members(std::span(static_cast<std::uint32_t*>(view.buf), count))
                   : bitmap.copy_members(std::span(static_cast<std::uint64_t*>(view.buf), count));
      });
    } catch (...) {
      PyBuffer_Release(&view);
      throw;
    }
    PyBuffer_Release(&view);
    if (copied != count)
      raise(PyExc_RuntimeError, "another thread removed members while they were listed");
    return array.release();
  });
}

PyObject* bitmap_rank(PyObject* self, PyObject* number) {
  return guarded([&] {
    const std::uint64_t n = number_of(number);
    return PyLong_FromUnsignedLongLong(
        listing(self, [&](const Set<Bitmap>& bitmap) { return bitmap.kind().rank(Ordinal{n}); }));
  });
}

PyObject* bitmap_select(PyObject* self, PyObject* smaller) {
  return guarded([&] {
    const std::uint64_t n = number_of(smaller);
    const auto member =
        listing(self, [&](const Set<Bitmap>& bitmap) { return bitmap.kind().select(n); });
    if (!member) raise(PyExc_IndexError, "the bitmap does not have that many members");
    return PyLong_FromUnsignedLongLong(member->value);
  });
}

int add_bitmap_iterator(PyObject*) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(free_iterator)},
      {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
      {Py_tp_iternext, reinterpret_cast<void*>(next_member)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"bloomery.BitmapIterator", sizeof(MemberIterator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  iterator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return iterator_type == nullptr ? -1 : 0;
}

}  // namespace bloomery::python
