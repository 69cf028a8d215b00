// Many keys from one object of Python, in spans that the engine takes.
//
//    numpy array, array, memoryview     where they lie, or some thousand at a time in one width
//    __arrow_c_array__, ..._stream__    the same (arrow_column.cpp)
//    any other iterable                 object by object, as single keys (one_key.hpp)
//
// Errors:  Raised, with a TypeError or ValueError that names what is wrong with the object.
// Limits:  an array that another thread writes to while it is read gives some keys or others.
// See:     docs/python.md "Many keys"; tests/python/bulk_test.py, arrow_test.py.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "keys/key_span.hpp"
#include "object.hpp"

namespace bloomery::python {

class KeyColumn {
 public:
  virtual ~KeyColumn() = default;

  // How many keys there are, if that is known before they are read.
  virtual std::optional<std::size_t> size() const = 0;
  // True: next() touches no object of Python and may be called with the GIL free.
  virtual bool is_plain() const = 0;
  // Are keys read from these bytes?
  virtual bool lies_in(const void* /*at*/, std::size_t /*bytes*/) const { return false; }
  // The next keys, at least one and at most this many; valid until the next call. Empty: no more.
  virtual KeySpan next(std::size_t most) = 0;
};

// Keys made ready at a time, where they cannot be taken as they lie: 128 KiB of string_views, which
// stay in the L2 cache.
inline constexpr std::size_t ready_keys = 8192;

std::unique_ptr<KeyColumn> column_of(PyObject* keys);

// What column_of is made of; nullptr: the object is not of that sort.
std::unique_ptr<KeyColumn> buffer_column(PyObject* keys);
std::unique_ptr<KeyColumn> arrow_column(PyObject* keys);
std::unique_ptr<KeyColumn> object_column(PyObject* keys);

}  // namespace bloomery::python
