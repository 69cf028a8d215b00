// JSON paths: a record that a strict parser takes gives the value that it has there, and no record
// leaves traces in the reader.
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include <bloomery/engines/keys/json_path.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

using detail::JsonPath;
using detail::JsonReader;
using detail::KeyRoom;
using Json = nlohmann::json;

struct Answer {
  bool found = false;
  bool null = false;
  std::string key;
  bool operator==(const Answer&) const = default;
};

Answer answer_of(JsonReader& reader, std::string_view record, const JsonPath& path) {
  static KeyRoom room;
  room.clear();
  const auto found = reader.find(record, path, room);
  if (found.why != nullptr) return {};
  return {true, found.null, std::string(found.key)};
}

std::size_t names_in(const Json& value) {
  std::size_t names = value.is_object() ? value.size() : 0;
  if (value.is_structured())
    for (const Json& inner : value) names += names_in(inner);
  return names;
}

// nullptr: a strict parser has nothing there.
const Json* strict(const Json& whole, const JsonPath& path) {
  const Json* at = &whole;
  for (const auto& step : path) {
    const auto* place = std::get_if<std::size_t>(&step);
    if (place != nullptr) {
      if (!at->is_array() || *place >= at->size()) return nullptr;
      at = &(*at)[*place];
    } else {
      const auto& name = std::get<std::string>(step);
      if (!at->is_object() || !at->contains(name)) return nullptr;
      at = &(*at)[name];
    }
  }
  return at;
}

// Nothing where a strict parser has another view: of duplicate names it keeps the last, and numbers
// that no double holds it refuses; a zero byte ends a record.
std::optional<Json> parsed(std::string_view record) {
  if (record.find('\0') != record.npos) return {};
  std::size_t names = 0;
  int deepest = 0;
  const auto count = [&](int depth, Json::parse_event_t event, Json&) {
    names += event == Json::parse_event_t::key;
    deepest = std::max(deepest, depth);
    return true;
  };
  Json whole = Json::parse(record, count, false);
  if (whole.is_discarded() || !whole.is_structured() || names_in(whole) != names) return {};
  return deepest < 1000 ? std::optional(std::move(whole)) : std::nullopt;
}

void check_value(const Answer& answer, const Json* value) {
  must(answer.found == (value != nullptr), "a value is found where a strict parser has it");
  if (value == nullptr) return;
  must(answer.null == value->is_null(), "null is null");
  if (value->is_string()) {
    must(answer.key == value->get_ref<const std::string&>(), "a text is that of a strict parser");
    return;
  }
  must(Json::parse(answer.key, nullptr, false) == *value, "a value is taken as it is written");
  must(std::string_view(" \t\r\n").find(answer.key.back()) == std::string_view::npos,
       "blanks behind a value are not a part of it");
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery::fuzz;
  static JsonReader reader;
  ByteFeed feed(data, size);
  const auto path = bloomery::detail::parse_json_path(feed.short_text());
  if (!path) return 0;
  const std::string_view record = feed.rest();
  const Answer answer = answer_of(reader, record, *path);
  answer_of(reader, R"({"a":["\u00e4",{"b":1}]})", *path);
  must(answer_of(reader, record, *path) == answer, "a reader answers alike after other records");
  must(answer_of(reader, " " + std::string(record) + "\r\n", *path) == answer,
       "blanks around a record do not matter");
  if (const auto whole = parsed(record)) check_value(answer, strict(*whole, *path));
  return 0;
}
