// The rows of an Arrow array as keys.
//
//    c C s S i I l L     integers
//    u U z Z vu vz       text and bytes, by offsets of 32 or 64 bits or by views
//    w:16                rows of a fixed number of bytes
//    a dictionary        what its numbers stand for
//    +s with one child   that child: a table of one column
//
// See: https://arrow.apache.org/docs/format/Columnar.html; tests/python/arrow_test.py.
#pragma once

#include <memory>

#include "keys/arrow_abi.hpp"
#include "keys/table_rows.hpp"

namespace bloomery::python {

struct ArrowRows {
  std::unique_ptr<Rows> rows;
  std::size_t count = 0;
};

// Raised: the array has null keys, or is of a type that holds no keys. Array and schema outlive
// the rows.
ArrowRows arrow_rows(const ArrowSchema& schema, const ArrowArray& array);

}  // namespace bloomery::python
