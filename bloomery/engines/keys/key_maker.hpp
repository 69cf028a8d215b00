// The interface that makes keys of records, for code that only passes records on.
//
// It separates the library, which depends on no parser, from bloomery::text, where LineKeys makes
// keys with the parsers of other libraries.
// Threads: one maker, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

// What becomes of records whose key is empty: an empty text, a JSON null, or nothing but these.
enum class EmptyKeys {
  one,   // it is a key like any other
  keep,  // it does not count as a key: such records are never repeats and are not added to a set
  drop,  // such records are skipped
};

class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  // One key a record, good until the next call; a null pointer where a record has none.
  virtual Lines keys_of(Lines records) = 0;
  // Why the record has none, and what to do: the end of a sentence that begins with its place.
  virtual std::string why_none(std::string_view record) const = 0;
  // Which records of the last call have an empty key, ascending; good until the next call.
  virtual std::span<const std::uint32_t> empty_keys() const { return {}; }
};

}  // namespace bloomery::inline v0::detail
