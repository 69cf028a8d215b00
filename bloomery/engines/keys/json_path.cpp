#include <bloomery/engines/keys/json_path.hpp>

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <utility>

namespace bloomery::inline v0::detail {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr const char* no_json = "it is not a JSON object or array";
constexpr const char* no_such_key = "its JSON has no such key";
constexpr const char* too_long = "its JSON is longer than 64 MiB";
static_assert(longest_json == std::size_t{64} << 20);
// The parser stores whole vectors, the last of them beyond the end of a text.
constexpr std::size_t store_bytes = std::max<std::size_t>(64, simdjson::SIMDJSON_PADDING);

Error bad_path(std::string_view text, std::string_view why) {
  return Error{Code::bad_input, "'" + std::string(text) +
                                    "' is not a JSON path: " + std::string(why) +
                                    "; it looks like .name, .a.b, .a[0].b or .\"odd name\""};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number by the grammar of JSON; the parser of a value would round it.
bool is_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - start;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const bool zero = at < text.size() && text[at] == '0';
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view without_outer_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return without_blanks(text.substr(std::min(first, text.size())));
}

using Step = std::variant<std::string, std::size_t>;
using Value = simdjson::simdjson_result<ondemand::value>;

// Not array.at(): it counts a broken element as one, and says that there are too few.
Value element_at(ondemand::array array, std::size_t place) {
  for (auto element : array) {
    if (const auto error = element.error()) return error;
    if (place-- == 0) return element;
  }
  return simdjson::INDEX_OUT_OF_BOUNDS;
}

// The fast search compares a name with the bytes in the record: a\ would be found in "a\"b".
bool needs_unescaping(const JsonPath& path) {
  return std::any_of(path.begin(), path.end(), [](const auto& next) {
    const auto* name = std::get_if<std::string>(&next);
    return name != nullptr && name->find_first_of("\\\"") != std::string::npos;
  });
}

bool is_absence(simdjson::error_code error) {
  return error == simdjson::NO_SUCH_FIELD || error == simdjson::INDEX_OUT_OF_BOUNDS ||
         error == simdjson::INCORRECT_TYPE;
}

}  // namespace

Result<JsonPath> parse_json_path(std::string_view text) {
  // The parser chooses its kernels at its first use, in a function that cannot throw and aborts
  // when memory runs out. So that happens here, before a record is read.
  static_cast<void>(simdjson::get_active_implementation()->name());
  JsonPath path;
  std::size_t at = 0;
  const auto here = [&](char c) { return at < text.size() && text[at] == c; };
  while (at < text.size()) {
    if (here('[')) {
      std::size_t place = 0;
      const char* const end = text.data() + text.size();
      const auto [stop, wrong] = std::from_chars(text.data() + at + 1, end, place);
      if (wrong != std::errc{} || stop == end || *stop != ']')
        return bad_path(text, "brackets hold a number from 0");
      at = static_cast<std::size_t>(stop - text.data()) + 1;
      path.emplace_back(place);
      continue;
    }
    if (!here('.')) return bad_path(text, "a name begins with a dot");
    ++at;
    if (here('[')) continue;
    std::string name;
    if (here('"')) {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        name += text[at];
      }
      if (!here('"')) return bad_path(text, "a quote is not closed");
      ++at;
    } else {
      while (at < text.size() && text[at] != '.' && text[at] != '[') name += text[at++];
      if (name.empty()) return bad_path(text, "a name is empty");
    }
    path.emplace_back(std::move(name));
  }
  if (path.empty()) return bad_path(text, "it names nothing");
  return path;
}

// After an error a document is neither used further nor rewound, only opened again: the parser may
// have left it in any state. Strings and names are unescaped into our own memory: the parser's
// buffer does not report that the system refused it.
struct JsonReader::Parser {
  ondemand::parser parser;
  // The parser reads some bytes beyond the record; in the reader's block those may not be there.
  std::vector<char> padded;
  std::vector<std::uint8_t> names;

  simdjson::error_code open(std::string_view record, ondemand::document& document) {
    const std::size_t needed = record.size() + simdjson::SIMDJSON_PADDING;
    if (padded.size() < needed) padded.resize(needed + needed / 4);
    std::memcpy(padded.data(), record.data(), record.size());
    std::memset(padded.data() + record.size(), ' ', simdjson::SIMDJSON_PADDING);
    const auto error = parser.iterate(padded.data(), record.size(), padded.size()).get(document);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    return error;
  }

  // One object or array from end to end: {"a":1}{"a":2} is two. Leaves the document rewound.
  static bool is_one_value(ondemand::document& document, std::string_view record) {
    std::string_view text;
    ondemand::object object;
    ondemand::array array;
    const bool found = record[record.find_first_not_of(" \t\r\n")] == '{'
                           ? !document.get_object().get(object) && !object.raw_json().get(text)
                           : !document.get_array().get(array) && !array.raw_json().get(text);
    if (!found || without_blanks(text).size() != without_outer_blanks(record).size()) return false;
    document.rewind();
    return true;
  }

  // Names in the record may be escaped ("\u0061" is a), which the fast search does not see.
  Value find_unescaped(ondemand::object object, std::string_view name) {
    if (names.size() < padded.size() + store_bytes) names.resize(padded.size() + store_bytes);
    for (auto field : object) {
      ondemand::raw_json_string raw;
      if (const auto error = field.key().get(raw)) return error;
      std::uint8_t* into = names.data();
      std::string_view key;
      if (const auto error = parser.unescape(raw, into).get(key)) return error;
      if (key == name) return field.value();
    }
    return simdjson::NO_SUCH_FIELD;
  }

  // Walks down, from the document or from a value.
  template <class From>
  [[gnu::always_inline]] Value step(From& from, const Step& next, bool unescape) {
    if (const auto* place = std::get_if<std::size_t>(&next)) {
      ondemand::array array;
      if (const auto error = from.get_array().get(array)) return error;
      return element_at(array, *place);
    }
    ondemand::object object;
    if (const auto error = from.get_object().get(object)) return error;
    const std::string& name = std::get<std::string>(next);
    return unescape ? find_unescaped(object, name) : object.find_field_unordered(name);
  }

  Value walk(ondemand::document& document, const JsonPath& path, bool unescape) {
    auto found = step(document, path.front(), unescape);
    for (std::size_t i = 1; i < path.size(); ++i) {
      ondemand::value value;
      if (const auto error = std::move(found).get(value)) return error;
      found = step(value, path[i], unescape);
    }
    return found;
  }

  // The bytes of a value that is there, in the record or in the room.
  [[gnu::always_inline]] const char* take(ondemand::value value, KeyRoom& room,
                                          std::string_view& text, bool& null) {
    ondemand::json_type type;
    if (value.type().get(type)) return no_json;
    switch (type) {
      case ondemand::json_type::string: return take_string(value, room, text);
      case ondemand::json_type::object: {
        ondemand::object object;
        if (value.get_object().get(object) || object.raw_json().get(text)) return no_json;
        return take_brackets(text, '}');
      }
      case ondemand::json_type::array: {
        ondemand::array array;
        if (value.get_array().get(array) || array.raw_json().get(text)) return no_json;
        return take_brackets(text, ']');
      }
      default: break;
    }
    text = without_blanks(value.raw_json_token());
    null = text == "null";
    const bool word = null || text == "true" || text == "false";
    return word || is_number(text) ? nullptr : no_json;
  }

  // The parser gives an object or array up to what follows it: blanks, or in a record that is not
  // JSON inside of the value, what lies behind the bracket of another.
  static const char* take_brackets(std::string_view& text, char last) {
    text = without_blanks(text);
    return text.ends_with(last) ? nullptr : no_json;
  }

  // Unescaped, a string is never longer than it was.
  const char* take_string(ondemand::value value, KeyRoom& room, std::string_view& text) {
    const std::size_t most = value.raw_json_token().size();
    auto* into = reinterpret_cast<std::uint8_t*>(room.reserve(most + store_bytes));
    ondemand::raw_json_string raw;
    if (value.get_raw_json_string().get(raw) || parser.unescape(raw, into).get(text))
      return no_json;
    return nullptr;
  }
};

JsonReader::JsonReader() : parser_(std::make_unique<Parser>()) {}
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;
JsonReader::~JsonReader() = default;

JsonReader::Found JsonReader::find(std::string_view record, const JsonPath& path, KeyRoom& room) {
  if (record.size() > longest_json) return {{}, too_long};
  ondemand::document document;
  if (without_outer_blanks(record).empty() || parser_->open(record, document) ||
      !Parser::is_one_value(document, record))
    return {{}, no_json};
  const bool unescape = needs_unescaping(path);
  auto found = parser_->walk(document, path, unescape);
  if (!unescape && is_absence(found.error()) && record.find('\\') != std::string_view::npos) {
    if (parser_->open(record, document)) return {{}, no_json};
    found = parser_->walk(document, path, true);
  }
  ondemand::value value;
  if (const auto error = std::move(found).get(value))
    return {{}, is_absence(error) ? no_such_key : no_json};
  std::string_view text;
  bool null = false;
  if (const char* why = parser_->take(value, room, text, null)) return {{}, why};
  // A string is already in the room. Other values are copied: the next record overwrites them.
  char* const place = room.reserve(text.size());
  if (text.data() != place) std::memcpy(place, text.data(), text.size());
  return {room.keep(place, text.size()), nullptr, null};
}

}  // namespace bloomery::inline v0::detail
