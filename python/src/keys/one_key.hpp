// One object of Python as a key: what it is hashed as.
//
//    int, and what has __index__    64 bits; negative ones sign-extended
//    str                            its UTF-8
//    bytes, bytearray, memoryview   their bytes
//    uuid.UUID                      its 16 bytes, most significant first
//    all else, bool too             a TypeError that says what to do
//
// Limits: the key borrows from the object, which must outlive it and stay unchanged.
// See:    docs/python.md "Keys"; tests/python/keys_test.py holds each against the command.
#pragma once

#include <cstdint>
#include <string_view>

#include "keys/key_span.hpp"
#include "object.hpp"

namespace bloomery::python {

class OneKey {
 public:
  // Throws Raised.
  explicit OneKey(PyObject* object);
  ~OneKey() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  OneKey(const OneKey&) = delete;
  OneKey& operator=(const OneKey&) = delete;

  enum class Form { natural, integer, text };
  Form form() const { return form_; }
  std::uint64_t natural() const { return natural_; }
  std::int64_t integer() const { return integer_; }
  std::string_view text() const { return text_; }
  // False: text() lies in this OneKey or in an object that others may change, so that a copy is
  // needed to keep it.
  bool lies_in_object() const { return lies_in_object_; }

  // The key as a span of one; valid while this lives.
  KeySpan span() const {
    switch (form_) {
      case Form::natural: return Naturals(&natural_, 1);
      case Form::integer: return Integers(&integer_, 1);
      case Form::text: break;
    }
    return Texts(&text_, 1);
  }

 private:
  void take_int(PyObject* number);
  void take_text(const char* bytes, Py_ssize_t length);

  Form form_ = Form::natural;
  bool lies_in_object_ = true;
  std::uint64_t natural_ = 0;
  std::int64_t integer_ = 0;
  std::string_view text_ = {};
  Ref made_;          // what the text lies in, when the object gave it
  Py_buffer view_{};  // of a bytearray or memoryview
};

}  // namespace bloomery::python
