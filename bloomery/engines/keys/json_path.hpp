// The value at one path of a JSON record, as the bytes of a key.
//
//    .user.id    .items[0].sku    ."odd key"."with \"quotes\""    .[2]
//
//    "Z\u00fcrich"   its text, unescaped: Zurich with its umlaut in UTF-8
//    12, 1.50e3      as written: 1 and 1.0 are two keys
//    true, false     as written
//    null            not a text: fields.hpp defines its key
//    {..} [..]       as written, blanks and all
//
// So "1" and 1 are one key, and so are "true" and true: a list of ids can be asked for whichever
// way they are written. Of a name that comes twice in an object the first counts.
// Limits:  the path to the value is checked. Of the whole record only this is checked: that it is
//          UTF-8, that its quotes and brackets are closed, and that it is one object or array. A
//          record longer than longest_json has no key: the parser takes up to ten times its bytes.
//          A parser that gets no memory throws std::bad_alloc.
// Threads: a path may be used by any number; a reader belongs to one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <bloomery/detail/engines/keys/key_room.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::size_t longest_json = std::size_t{64} << 20;

// Names and places, in order.
using JsonPath = std::vector<std::variant<std::string, std::size_t>>;

Result<JsonPath> parse_json_path(std::string_view text);

class JsonReader {
 public:
  JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;
  ~JsonReader();

  struct Found {
    std::string_view key;       // in the room
    const char* why = nullptr;  // why the record has no key; nullptr: it has one
    bool null = false;          // it is there, and is null
  };
  Found find(std::string_view record, const JsonPath& path, KeyRoom& room);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace bloomery::inline v0::detail
