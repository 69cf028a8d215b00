#include <bloomery/engines/keys/line_keys.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace bloomery::detail {
namespace {

using Texts = std::vector<std::string_view>;

TEST(LineKeys, WhereNothingIsToBeDoneTheLinesAreTheKeys) {
  const FieldCutter cutter;
  LineKeys keys(cutter, false, nullptr);
  const Texts lines = {"a\r", "b"};
  EXPECT_EQ(keys.keys_of(lines).data(), lines.data());
}

Texts keys_of(LineKeys& keys, const Texts& lines) {
  const Lines made = keys.keys_of(lines);
  return {made.begin(), made.end()};
}

TEST(LineKeys, StripsThenCutsThenNormalises) {
  const auto cutter =
      FieldCutter::make({.part = KeyPart::fields, .fields = {2}, .separator = ","}).value();
  const auto normalizer = Normalizer::find("case").value();
  LineKeys keys(cutter, true, &normalizer);
  EXPECT_EQ(keys_of(keys, {"x, Ab \r", "y,CD", "z,"}), (Texts{"ab", "cd", ""}));
  EXPECT_TRUE(keys.without_key().empty());
}

TEST(LineKeys, ARecordWithoutAKeyHasNone) {
  const auto cutter = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a"}}).value();
  LineKeys keys(cutter, false, nullptr);
  const Texts lines = {"x", R"({"a":1})", R"({"b":1})", R"({"a":""})"};
  for (int round = 0; round < 2; ++round) {
    const Texts made = keys_of(keys, lines);
    EXPECT_EQ(made, (Texts{"", "1", "", ""}));
    // An empty key is a key.
    EXPECT_EQ(made[0].data(), nullptr);
    EXPECT_EQ(made[2].data(), nullptr);
    EXPECT_NE(made[3].data(), nullptr);
    EXPECT_EQ(std::vector<std::uint32_t>(keys.without_key().begin(), keys.without_key().end()),
              (std::vector<std::uint32_t>{0, 2}));
  }
  EXPECT_EQ(keys.why_none("x"), "has no key, because it is not a JSON object or array: 'x'");
  EXPECT_EQ(keys.why_none(R"({"a":1})"), "");
  EXPECT_EQ(keys.why_none("{}"), "has no key, because its JSON has no such key: '{}'");
}

// Every way to an empty key.
TEST(LineKeys, AnEmptyKeyIsAKey) {
  const auto csv = FieldCutter::make({.part = KeyPart::csv, .fields = {2}}).value();
  const auto fields =
      FieldCutter::make({.part = KeyPart::fields, .fields = {2}, .separator = ","}).value();
  const FieldCutter whole;
  for (const FieldCutter* cutter : {&csv, &fields})
    for (const char* line : {"a,", "a,,b"}) {
      LineKeys keys(*cutter, false, nullptr);
      EXPECT_NE(keys_of(keys, {line})[0].data(), nullptr) << line;
    }
  LineKeys quoted_keys(csv, false, nullptr);
  EXPECT_NE(keys_of(quoted_keys, {"a,\"\""})[0].data(), nullptr);
  for (const char* profile : {"trim", "case", "email", "url", "crawl"}) {
    const auto normalizer = Normalizer::find(profile).value();
    LineKeys keys(whole, true, &normalizer);
    for (const char* line : {"", " ", "\r"})
      EXPECT_NE(keys_of(keys, {line})[0].data(), nullptr) << profile;
  }
}

TEST(LineKeys, ColumnsAreThoseOfTheFile) {
  const auto cutter = FieldCutter::make({.part = KeyPart::csv, .columns = {"id"}}).value();
  const CsvColumns first = cutter.columns_of("id,x", "a.csv").value();
  const CsvColumns second = cutter.columns_of("x,id", "b.csv").value();
  LineKeys keys(cutter, false, nullptr, &first);
  EXPECT_EQ(keys_of(keys, {"1,2"}), Texts{"1"});
  keys.set_columns(&second);
  EXPECT_EQ(keys_of(keys, {"1,2"}), Texts{"2"});
}

TEST(LineKeys, CountsWhatTheNormalisationIsNotFor) {
  const FieldCutter cutter;
  const auto normalizer = Normalizer::find("url/1").value();
  LineKeys keys(cutter, false, &normalizer);
  EXPECT_EQ(keys_of(keys, {"HTTP://A", " no url "}), (Texts{"http://a/", "no url"}));
  EXPECT_EQ(keys.not_normalized(), 1);
}

// Shares the cutter and the normalizer, and nothing else.
TEST(LineKeys, ThreadsEachWithTheirOwnMakeTheSameKeys) {
  const auto cutter = FieldCutter::make({.part = KeyPart::json, .json_paths = {".u"}}).value();
  const auto normalizer = Normalizer::find("crawl").value();
  std::vector<std::string> records;
  std::vector<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    records.push_back("{\"u\":\"HTTPS://www.A.b:443/x/../" + number + "?utm_x=1&b=2&a=1\"}");
    expected.push_back("http://a.b/" + number + "?a=1&b=2");
  }
  const Texts lines(records.begin(), records.end());
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (bool& good : same)
    threads.emplace_back([&] {
      LineKeys keys(cutter, true, &normalizer);
      good = true;
      for (int round = 0; round < 5; ++round) {
        const Lines made = keys.keys_of(lines);
        good = good && std::equal(made.begin(), made.end(), expected.begin(), expected.end());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool good : same) EXPECT_TRUE(good);
}

}  // namespace
}  // namespace bloomery::detail
