#include <bloomery/engines/keys/json_path.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string_view>

namespace bloomery::detail {
namespace {

std::string key(std::string_view record, std::string_view path) {
  JsonReader reader;
  KeyRoom room;
  const JsonPath steps = parse_json_path(path).value();
  // At the end of an allocation: a read beyond the record is seen by a sanitizer.
  const std::vector<char> exact(record.begin(), record.end());
  const auto found = reader.find({exact.data(), exact.size()}, steps, room);
  return found.why != nullptr ? std::string("! ") + found.why : std::string(found.key);
}

TEST(JsonPath, FindsValuesOfEveryForm) {
  EXPECT_EQ(key(R"({"a":{"b":"x"}})", ".a.b"), "x");
  EXPECT_EQ(key(R"({"a":[10,{"b":[1,2]}]})", ".a[1].b[0]"), "1");
  EXPECT_EQ(key(R"([7,8])", ".[1]"), "8");
  EXPECT_EQ(key(R"([7,8])", "[1]"), "8");
  EXPECT_EQ(key(R"({"a": 1.50e3 , "b":2})", ".a"), "1.50e3");
  EXPECT_EQ(key(R"({"a":123456789012345678901234567890})", ".a"), "123456789012345678901234567890");
  EXPECT_EQ(key(R"({"a":true})", ".a"), "true");
  EXPECT_EQ(key(R"({"a":false})", ".a"), "false");
  EXPECT_EQ(key(R"({"a": null })", ".a"), "null");
  EXPECT_EQ(key(R"({"a":{"x": [1, 2]},"b":0})", ".a"), R"({"x": [1, 2]})");
  EXPECT_EQ(key(R"({"a":[ 1 ,2],"b":0})", ".a"), "[ 1 ,2]");
  // Blanks behind a value are not a part of it.
  EXPECT_EQ(key(R"({"a":[1] ,"b":0})", ".a"), "[1]");
  EXPECT_EQ(key("{\"b\":0,\"a\":{\"x\":[2]}\t}\r\n", ".a"), R"({"x":[2]})");
  EXPECT_EQ(key(R"({"a":""})", ".a"), "");
  EXPECT_EQ(key("{\"a\":1}\r", ".a"), "1");
}

TEST(JsonPath, StringsAreUnescaped) {
  EXPECT_EQ(key(R"({"a":"\u00fc\n\"\\\/"})", ".a"), "\xc3\xbc\n\"\\/");
  EXPECT_EQ(key(R"({"a":"\ud83d\ude00"})", ".a"), "\xf0\x9f\x98\x80");
}

TEST(JsonPath, NamesAreFoundEscapedOrNot) {
  EXPECT_EQ(key(R"({"\u0061":1})", ".a"), "1");
  EXPECT_EQ(key(R"({"x":{"\u0062":2},"y":"\\"})", ".x.b"), "2");
  EXPECT_EQ(key(R"({"a \"b\".c[0]":3})", R"(."a \"b\".c[0]")"), "3");
  // A name that ends with a backslash is not the beginning of one with a quote in it.
  EXPECT_EQ(key(R"({"a\"b":1})", R"(."a\\")"), "! its JSON has no such key");
  EXPECT_EQ(key(R"({"a\"b":1,"a\\":2})", R"(."a\\")"), "2");
  EXPECT_EQ(key(R"({"":4})", R"(."")"), "4");
  EXPECT_EQ(key(R"({"a":1,"a":2})", ".a"), "1");
}

TEST(JsonPath, SaysWhyThereIsNone) {
  constexpr const char* absent = "! its JSON has no such key";
  constexpr const char* none = "! it is not a JSON object or array";
  EXPECT_EQ(key(R"({"b":1})", ".a"), absent);
  EXPECT_EQ(key(R"({"b":"\\"})", ".a"), absent);
  EXPECT_EQ(key(R"({"a":1})", ".a.b"), absent);
  EXPECT_EQ(key(R"({"a":[1]})", ".a[1]"), absent);
  EXPECT_EQ(key(R"({"a":[1]})", ".a.b"), absent);
  EXPECT_EQ(key(R"([1])", ".a"), absent);
  EXPECT_EQ(key("7", ".a"), none);
  for (const char* text :
       {"", " ", "text", "{", "{\"a\":1", "{\"a\":\"x", "{\"a\":1}}", "[{\"a\":1}", "{\"a\":1}]",
        "{\"a\":1x}", "{\"a\":01}", "{\"a\":+1}", "{\"a\":tru}", "{\"a\":1}{\"a\":2}",
        "{\"a\":\"\\x\"}", "{\"a\":\"\xff\"}", "{\"a\" 1}", "{'a':1}"})
    EXPECT_EQ(key(text, ".a"), none) << text;
}

// A list that is not JSON inside was given with the bracket of the object around it.
TEST(JsonPath, AListThatIsNotJsonDoesNotTakeWhatIsBehindIt) {
  const std::string record("{\"a\":[\"b\":7,\"c\"\0\0!1,null]}", 26);
  EXPECT_EQ(key(record, ".a"), key(record + "\r\n", ".a"));
  EXPECT_FALSE(key(record, ".a").ends_with('}'));
}

TEST(JsonPath, RefusesWhatIsNoPath) {
  for (const char* text :
       {"", ".", "a", ".a.", "..a", ".a[", ".a[x]", ".a[-1]", ".a[1", ".\"a", "[]", ".a[0]b"}) {
    const auto path = parse_json_path(text);
    ASSERT_FALSE(path) << text;
    EXPECT_EQ(path.error().code, Code::bad_input);
  }
}

// The parser gave up such a document, and rewinding it afterwards crashed.
TEST(JsonPath, BrokenDocumentsAreGivenUp) {
  constexpr const char* none = "! it is not a JSON object or array";
  EXPECT_EQ(key(R"([}"\e"])", ".[2]"), none);
  EXPECT_EQ(key(R"([1,}"\e"])", ".[5]"), none);
  EXPECT_EQ(key(R"({]"\e":1})", ".a"), none);
}

TEST(JsonPath, LongRecordsAreRefusedAndTheLongestIsNot) {
  std::string record(longest_json, ' ');
  constexpr std::string_view begin = "{\"a\":\"x\"";
  std::copy(begin.begin(), begin.end(), record.begin());
  record.back() = '}';
  EXPECT_EQ(key(record, ".a"), "x");
  EXPECT_EQ(key(record + " ", ".a"), "! its JSON is longer than 64 MiB");
}

using nlohmann::json;

// Whether it is JSON without repeated names in an object: of those the first counts here, and the
// last in the other parser.
bool is_plain_json(const std::string& text, json& parsed) {
  std::vector<std::set<std::string>> names;
  bool twice = false;
  const auto look = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key)
      twice = !names.back().insert(value.get<std::string>()).second || twice;
    return true;
  };
  parsed = json::parse(text, look, false);
  return !parsed.is_discarded() && !twice;
}

const json* find_in(const json& parsed, const JsonPath& path) {
  const json* at = &parsed;
  for (const auto& step : path) {
    if (const auto* place = std::get_if<std::size_t>(&step)) {
      if (!at->is_array() || *place >= at->size()) return nullptr;
      at = &(*at)[*place];
    } else {
      if (!at->is_object() || !at->contains(std::get<std::string>(step))) return nullptr;
      at = &(*at)[std::get<std::string>(step)];
    }
  }
  return at;
}

// For each record that another parser accepts as JSON, both find the same key. A record that it
// refuses may have a key or not.
void expect_same_key(const std::string& record, const std::string& path, std::uint64_t& compared) {
  const std::string found = key(record, path);
  json parsed;
  if (!is_plain_json(record, parsed)) return;
  ++compared;
  if (!parsed.is_structured()) {
    EXPECT_EQ(found, "! it is not a JSON object or array") << record;
    return;
  }
  const json* const there = find_in(parsed, parse_json_path(path).value());
  if (there == nullptr)
    EXPECT_EQ(found, "! its JSON has no such key") << path << " of " << record;
  else if (there->is_string())
    EXPECT_EQ(found, there->get<std::string>()) << path << " of " << record;
  else
    EXPECT_EQ(json::parse(found, nullptr, false), *there) << path << " of " << record;
}

TEST(JsonPath, BrokenRecordsNeitherCrashNorGiveAnotherKey) {
  constexpr std::uint64_t seed = 20261116;
  std::mt19937_64 chance(seed);
  const std::vector<std::string> pieces = {
      "{",    "}",        "[",           "]",    ",",       ":",   "\"a\"", "\"b\"", "\"\\e\"",
      "1",    "-",        "true",        "null", " ",       "\\",  "\"",    "\xff",  "\"\\u0061\"",
      "\"\"", "\"x\\n\"", "\"\\ud83d\"", "[[[[", "{\"a\":", "[1,", "0.5e3", "\r",    "\xc3\xbc"};
  const std::vector<std::string> whole = {R"({"a":{"b":[1,"x\n",{"a":null}]},"b":"\\"})",
                                          R"([[1,2,[3]],"\u0041",{"\u0061":"\"q\""}])",
                                          R"({"b":true,"\u0061":[0.5e3,-1,"",[]],"c\\":{}})",
                                          R"([{"a":"b"},{"b":"a"},1e2,"\ud83d\ude00"])"};
  const std::vector<std::string> paths = {".a",      ".[2]",       ".a.b", ".a[1]",
                                          ".[0][1]", ".\"c\\\\\"", ".b"};
  std::uint64_t compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string record;
    if (round % 2 == 0) {
      for (std::uint64_t left = chance() % 12; left > 0; --left)
        record += pieces[chance() % pieces.size()];
    } else {
      record = whole[chance() % whole.size()];
      for (std::uint64_t left = chance() % 3; left > 0; --left) {
        const std::size_t at = chance() % (record.size() + 1);
        record.replace(at, chance() % 2, pieces[chance() % pieces.size()]);
      }
    }
    expect_same_key(record, paths[chance() % paths.size()], compared);
    if (HasFailure()) FAIL() << "seed " << seed << ", round " << round;
  }
  EXPECT_GT(compared, 2'000u);
}

}  // namespace
}  // namespace bloomery::detail
