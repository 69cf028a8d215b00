// What makes keys of lines, as those see it who only hand lines on: a batch in, a batch out.
//
// The seam between the library, which needs nothing for it, and bloomery::text, where LineKeys
// makes keys with the parsers of others.
// Threads: one maker, one thread; another() gives a second one its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <bloomery/engines/lines.hpp>
#include <bloomery/error.hpp>

namespace bloomery {

// Of the named columns of a CSV file: their numbers in that file, from 0. What has no header has
// none.
using CsvColumns = std::vector<std::size_t>;

// Where a batch of lines stands.
struct LinePlace {
  std::string_view file;                // for sentences
  std::uint64_t first_line = 1;         // number of its first line in that file
  const CsvColumns* columns = nullptr;  // what columns_of() said of the file's first line
};

class KeyMaker {
 public:
  virtual ~KeyMaker() = default;

  // The first line of every file is a header and no key: give it to columns_of(), and not to
  // keys_of().
  virtual bool has_header() const = 0;
  virtual Result<CsvColumns> columns_of(std::string_view header, std::string_view file) const = 0;

  // The keys of these lines, in their order, without those that have none; valid until the next
  // call, and as long as the lines are. A line without a key is an Error that names it, unless such
  // lines are to be passed over.
  virtual Result<Lines> keys_of(Lines lines, const LinePlace& place) = 0;
  // Which lines of the last batch had no key: ascending indices into it.
  virtual std::span<const std::uint32_t> without_key() const = 0;

  // The same for another thread.
  virtual std::unique_ptr<KeyMaker> another() const = 0;
};

}  // namespace bloomery
