#include "keys/one_key.hpp"

namespace bloomery::python {
namespace {

// uuid.UUID if somebody has imported it; otherwise no key can be one.
bool is_uuid(PyObject* object) {
  const Ref name = need(PyUnicode_FromString("uuid"));
  const Ref module(PyImport_GetModule(name.get()));
  if (!module) {
    if (PyErr_Occurred() != nullptr) throw Raised{};
    return false;
  }
  const Ref type = need(PyObject_GetAttrString(module.get(), "UUID"));
  const int is = PyObject_IsInstance(object, type.get());
  need(is);
  return is == 1;
}

// numpy 1 lets its bool be an index.
bool is_bool_of_numpy(PyObject* object) {
  const Ref name = type_name(object);
  return PyUnicode_CompareWithASCIIString(name.get(), "bool_") == 0 ||
         PyUnicode_CompareWithASCIIString(name.get(), "bool") == 0;
}

[[noreturn]] void refuse(PyObject* object) {
  const Ref name = type_name(object);
  if (object == Py_None)
    raise(PyExc_TypeError, "None is not a key: leave missing keys out, or give text for them");
  if (PyBool_Check(object) || is_bool_of_numpy(object))
    raise(PyExc_TypeError, "a bool is not a key: give int(key) if 0 and 1 are meant");
  if (PyFloat_Check(object))
    raise(PyExc_TypeError,
          "a float is not a key, since equal numbers may differ in bits: give an int, or str(key)");
  raise(PyExc_TypeError,
        "an object of type '%U' is not a key: give str, bytes, int or UUID, such as str(key)",
        name.get());
}

}  // namespace

OneKey::OneKey(PyObject* object) {
  if (PyUnicode_Check(object)) {
    Py_ssize_t length = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &length);
    if (bytes == nullptr) {
      PyErr_Clear();
      raise(PyExc_ValueError,
            "a str with lone surrogates has no UTF-8 form: give bytes, such as os.fsencode(key)");
    }
    take_text(bytes, length);
  } else if (PyBytes_Check(object)) {
    char* bytes = nullptr;
    Py_ssize_t length = 0;
    need(PyBytes_AsStringAndSize(object, &bytes, &length));
    take_text(bytes, length);
  } else if (PyBool_Check(object)) {
    refuse(object);
  } else if (PyLong_Check(object)) {
    take_int(object);
  } else if (PyByteArray_Check(object) || PyMemoryView_Check(object)) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) < 0) {
      PyErr_Clear();
      raise(PyExc_ValueError, "a memoryview that is not contiguous is not a key: give bytes(key)");
    }
    take_text(static_cast<const char*>(view_.buf), view_.len);
    lies_in_object_ = false;
  } else if (is_uuid(object)) {
    made_ = need(PyObject_GetAttrString(object, "bytes"));
    char* bytes = nullptr;
    Py_ssize_t length = 0;
    need(PyBytes_AsStringAndSize(made_.get(), &bytes, &length));
    take_text(bytes, length);
    lies_in_object_ = false;
  } else if (PyIndex_Check(object) && !is_bool_of_numpy(object)) {
    const Ref number(PyNumber_Index(object));
    if (!number) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw Raised{};
      PyErr_Clear();
      refuse(object);
    }
    take_int(number.get());
  } else {
    refuse(object);
  }
}

void OneKey::take_int(PyObject* number) {
  static_assert(sizeof(long) == 8, "the quickest way of reading an int gives 64 bits here");
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred() != nullptr) throw Raised{};
    form_ = value < 0 ? Form::integer : Form::natural;
    natural_ = static_cast<std::uint64_t>(value);
    integer_ = value;
    return;
  }
  natural_ = PyLong_AsUnsignedLongLong(number);
  form_ = Form::natural;
  if (natural_ == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(PyExc_OverflowError,
          "an int of more than 64 bits is not a key: give str(key) or bytes for all keys");
  }
}

void OneKey::take_text(const char* bytes, Py_ssize_t length) {
  form_ = Form::text;
  text_ = {bytes, static_cast<std::size_t>(length)};
}

}  // namespace bloomery::python
