// Files that people pass by mistake where lines are wanted: archives, tables and documents, known
// by their full magic. Taken for lines, they would give an answer to another question.
//
// What is more than a magic: tar has its checksum in the first 512 bytes; formats whose magic is
// four letters or fewer (ORC, Parquet) must go on with bytes that no text has.
// Threads: pure.
#pragma once

#include <string_view>

namespace bloomery::inline v0::detail {

struct NotText {
  std::string_view what;    // "a zip archive"; empty: nothing that is known
  std::string_view advice;  // how to get lines out of it; " |": here a reader may be named
  bool unsure = false;      // so few bytes that they may become one
};

// `all`: these are all the bytes of the file.
NotText find_not_text(std::string_view first_bytes, bool all);

}  // namespace bloomery::inline v0::detail
