#include <bloomery/engines/json_path.hpp>

#include <gtest/gtest.h>

namespace bloomery {
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
  constexpr const char* none = "! it is no JSON object or array";
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

TEST(JsonPath, RefusesWhatIsNoPath) {
  for (const char* text :
       {"", ".", "a", ".a.", "..a", ".a[", ".a[x]", ".a[-1]", ".a[1", ".\"a", "[]", ".a[0]b"}) {
    const auto path = parse_json_path(text);
    ASSERT_FALSE(path) << text;
    EXPECT_EQ(path.error().code, Code::bad_input);
  }
}

}  // namespace
}  // namespace bloomery
