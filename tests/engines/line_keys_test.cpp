#include <bloomery/engines/line_keys.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace bloomery {
namespace {

using Texts = std::vector<std::string_view>;

TEST(LineKeys, WhereNothingIsToBeDoneTheLinesAreTheKeys) {
  const FieldCutter cutter;
  LineKeys keys(cutter, false, nullptr);
  const Texts lines = {"a\r", "b"};
  const auto made = keys.keys_of(lines, {"f"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->data(), lines.data());
}

TEST(LineKeys, StripsThenCutsThenNormalises) {
  const auto cutter =
      FieldCutter::make({.part = KeyPart::fields, .fields = {2}, .separator = ","}).value();
  const auto normalizer = Normalizer::find("case").value();
  LineKeys keys(cutter, true, &normalizer);
  const Texts lines = {"x, Ab \r", "y,CD"};
  const auto made = keys.keys_of(lines, {"f"});
  ASSERT_TRUE(made);
  EXPECT_EQ(Texts(made->begin(), made->end()), (Texts{"ab", "cd"}));
  EXPECT_TRUE(keys.without_key().empty());
}

TEST(LineKeys, ARecordWithoutAKeyIsAnErrorThatNamesIt) {
  const auto cutter = FieldCutter::make({.part = KeyPart::fields, .fields = {2}}).value();
  LineKeys keys(cutter, false, nullptr);
  const Texts lines = {"a b", "c"};
  const auto made = keys.keys_of(lines, {.file = "some.txt", .first_line = 1025});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::bad_input);
  EXPECT_EQ(made.error().sentence, "some.txt, line 1026: 'c' has no key: it has too few fields");
}

TEST(LineKeys, OrIsPassedOverAndCounted) {
  const auto cutter =
      FieldCutter::make({.part = KeyPart::json, .json_path = ".a", .skip_bad = true}).value();
  LineKeys keys(cutter, false, nullptr);
  const Texts lines = {"x", R"({"a":1})", R"({"b":1})", R"({"a":2})"};
  for (std::uint64_t round = 1; round <= 2; ++round) {
    const auto made = keys.keys_of(lines, {"f"});
    ASSERT_TRUE(made);
    EXPECT_EQ(Texts(made->begin(), made->end()), (Texts{"1", "2"}));
    EXPECT_EQ(std::vector<std::uint32_t>(keys.without_key().begin(), keys.without_key().end()),
              (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(keys.bad(), 2 * round);
  }
}

TEST(LineKeys, CountsWhatTheNormalisationIsNotFor) {
  const FieldCutter cutter;
  const auto normalizer = Normalizer::find("url/1").value();
  LineKeys keys(cutter, false, &normalizer);
  const Texts lines = {"HTTP://A", " no url "};
  const auto made = keys.keys_of(lines, {"f"});
  ASSERT_TRUE(made);
  EXPECT_EQ(Texts(made->begin(), made->end()), (Texts{"http://a/", "no url"}));
  EXPECT_EQ(keys.not_normalized(), 1);
}

// Shares the cutter and the normalizer, and nothing else.
TEST(LineKeys, ThreadsEachWithTheirOwnMakeTheSameKeys) {
  const auto cutter = FieldCutter::make({.part = KeyPart::json, .json_path = ".u"}).value();
  const auto normalizer = Normalizer::find("crawl").value();
  const LineKeys first(cutter, true, &normalizer);
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
      const auto keys = first.another();
      good = true;
      for (int round = 0; round < 5; ++round) {
        const auto made = keys->keys_of(lines, {"f"});
        good = good && made && std::equal(made->begin(), made->end(), expected.begin());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool good : same) EXPECT_TRUE(good);
}

}  // namespace
}  // namespace bloomery
