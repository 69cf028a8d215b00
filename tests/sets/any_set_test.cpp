// The set whose kind is known only at run time: register, refusals, and parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>

namespace bloomery::detail {
namespace {

const std::vector<std::string_view> texts = {"one", "two", "three", "two"};

TEST(AnySet, RegisterNamesEveryKindInTheOrderOfNumbers) {
  std::vector<std::string> names;
  std::uint16_t before = 0;
  for (const KindRow& row : AnySet::register_rows()) {
    names.emplace_back(row.id.name);
    EXPECT_GT(row.id.number, before);
    before = row.id.number;
    EXPECT_EQ(AnySet::find_row(row.id.name), &row);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"bitmap", "two-bit", "classic", "blocked",
                                             "split-block", "counting", "spectral", "cuckoo",
                                             "window", "fuse", "ribbon", "hash-set", "scalable",
                                             "compact", "chain", "sharded", "cascade"}));
  EXPECT_EQ(AnySet::find_row("nonesuch"), nullptr);
}

// Written into files: red means that old files no longer open.
TEST(AnySet, GoldenNumbersOfKindsNeverChange) {
  const auto number = [](std::string_view name) { return AnySet::find_row(name)->id.number; };
  EXPECT_EQ(number("bitmap"), 1);
  EXPECT_EQ(number("two-bit"), 2);
  EXPECT_EQ(number("classic"), 3);
  EXPECT_EQ(number("blocked"), 4);
  EXPECT_EQ(number("split-block"), 5);
  EXPECT_EQ(number("counting"), 6);
  EXPECT_EQ(number("spectral"), 7);
  EXPECT_EQ(number("cuckoo"), 8);
  EXPECT_EQ(number("window"), 9);
  EXPECT_EQ(number("fuse"), 10);
  EXPECT_EQ(number("ribbon"), 11);
  EXPECT_EQ(number("hash-set"), 12);
  EXPECT_EQ(number("scalable"), 13);
  EXPECT_EQ(number("compact"), 14);
  EXPECT_EQ(number("chain"), 1002);
  EXPECT_EQ(number("sharded"), 1003);
  EXPECT_EQ(number("cascade"), 1004);
}

TEST(AnySet, UnknownKindsAreRefusedByName) {
  const auto made = AnySet::make("nonesuch", {.keys = 1, .rate = 0.01});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::impossible);
  EXPECT_NE(made.error().sentence.find("nonesuch"), std::string::npos);
}

TEST(AnySet, RowsTellWhatTheirSetsAre) {
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.built || row.two_lists) continue;  // static_laws_test.cpp
    const bool map = row.input == InputForm::ordinal;
    const Want want = map ? Want{.range = {10, 1'000}} : Want{.keys = 100, .rate = 0.01};
    const auto set = AnySet::make(row.id.name, want).value();
    EXPECT_EQ(set.kind(), row.id);
    EXPECT_EQ(set.input(), row.input);
    EXPECT_EQ(set.exact(), row.exact);
    EXPECT_EQ(set.range().has_value(), map);
    if (map) {
      EXPECT_EQ(*set.range(), want.range);
      EXPECT_EQ(set.capacity(), 991);
    }
    EXPECT_EQ(row.planned_bytes(want).value(), set.bytes());
    EXPECT_EQ(row.grows, row.id.name == "hash-set" || row.id.name == "chain" ||
                             row.id.name == "scalable" || row.id.name == "compact");
  }
  EXPECT_TRUE(AnySet::find_row("bitmap")->exact);
  EXPECT_FALSE(AnySet::find_row("blocked")->exact);
}

TEST(AnySet, HearsWhichKeysWereNewAndFindsThem) {
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.input == InputForm::ordinal || row.built || row.two_lists) continue;
    auto set = AnySet::make(row.id.name, {.keys = 100, .rate = 1e-4}).value();
    bool fresh[4] = {};
    EXPECT_EQ(set.add_all(texts, fresh).value(), 3);
    EXPECT_TRUE(fresh[0] && fresh[1] && fresh[2] && !fresh[3]);
    bool answers[2] = {};
    set.may_contain_all(std::vector<std::string_view>{"two", "four"}, answers).value();
    EXPECT_TRUE(answers[0] && !answers[1]);
    EXPECT_EQ(set.rules().form, KeyForm::text);
  }
}

TEST(AnySet, TheWrongSortOfKeyIsRefusedAndLeavesNoTrace) {
  const std::vector<Hash> hashes = {Hash{1}};
  const std::vector<Ordinal> ordinals = {Ordinal{12}};
  bool answers[4] = {};
  const auto expect_mismatch = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::mismatch);
  };
  auto map = AnySet::make("bitmap", {.range = {10, 20}}).value();
  expect_mismatch(map.add_all(texts));
  expect_mismatch(map.add_all(hashes));
  expect_mismatch(map.may_contain_all(texts, answers));
  expect_mismatch(map.may_contain_all(hashes, answers));
  EXPECT_EQ(map.rules().form, KeyForm::number);

  auto filter = AnySet::make("blocked", {.keys = 10, .rate = 0.01}).value();
  expect_mismatch(filter.add_all(ordinals));
  expect_mismatch(filter.may_contain_all(ordinals, answers));
  EXPECT_EQ(filter.rules().form, KeyForm::none);
  EXPECT_TRUE(filter.add_all(std::vector<std::string_view>{}));
  EXPECT_EQ(filter.rules().form, KeyForm::none);

  auto exact = AnySet::make("hash-set", {}).value();
  expect_mismatch(exact.add_all(hashes));
  EXPECT_EQ(exact.rules().form, KeyForm::none);
}

TEST(AnySet, AnIntegerOutsideTheRangeIsRefusedWithAllItsCompany) {
  auto map = AnySet::make("two-bit", {.range = {10, 20}}).value();
  const auto added = map.add_all(std::vector<Ordinal>{{12}, {21}});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::out_of_range);
  EXPECT_NE(added.error().sentence.find("21"), std::string::npos);
  EXPECT_NE(added.error().sentence.find("10..20"), std::string::npos);
  EXPECT_EQ(map.adds(), 0);
  bool answers[3] = {true, true, true};
  map.may_contain_all(std::vector<Ordinal>{{12}, {21}, {9}}, answers).value();
  EXPECT_FALSE(answers[0] || answers[1] || answers[2]);
}

TEST(AnySet, UnlikeKindsAndUnlikeKeysDoNotMerge) {
  const Want want{.keys = 100, .rate = 0.01};
  auto one = AnySet::make("classic", want).value();
  auto other = AnySet::make("blocked", want).value();
  auto refused = one.unite(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
  EXPECT_NE(refused.error().sentence.find("classic"), std::string::npos);
  EXPECT_NE(refused.error().sentence.find("blocked"), std::string::npos);

  auto by_text = AnySet::make("classic", want).value();
  auto by_hash = AnySet::make("classic", want).value();
  ASSERT_TRUE(by_text.add_all(texts));
  ASSERT_TRUE(by_hash.add_all(std::vector<Hash>{Hash{5}}));
  auto mixed = by_text.unite(by_hash);
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().sentence.find("text"), std::string::npos);
  EXPECT_NE(mixed.error().sentence.find("hash"), std::string::npos);
}

TEST(AnySet, PartsMakeTheSameSetAgain) {
  for (const KindRow& row : AnySet::register_rows()) {
    if (row.built || row.two_lists) continue;
    const bool map = row.input == InputForm::ordinal;
    const Want want = map ? Want{.range = {0, 999}} : Want{.keys = 1, .rate = 0.01};
    auto set = AnySet::make(row.id.name, want, Hasher(3)).value();
    const std::vector<Ordinal> ordinals = {{1}, {1}, {998}};
    ASSERT_TRUE(map ? set.add_all(ordinals) : set.add_all(texts));
    const Parts one = set.parts().value();
    for (const Part& part : one.parts)
      EXPECT_TRUE(AnySet::check_part(part, part.payload.size())) << row.id.name;
    auto again = AnySet::from_parts(set.parts().value(), set.hasher(), set.rules());
    ASSERT_TRUE(again) << again.error().sentence;
    EXPECT_EQ(again->kind(), set.kind());
    EXPECT_EQ(again->adds(), set.adds());
    EXPECT_EQ(again->estimate(), set.estimate());
    EXPECT_EQ(again->rules(), set.rules());
    const Parts other = again->parts().value();
    ASSERT_EQ(one.parts.size(), other.parts.size());
    for (std::size_t i = 0; i < one.parts.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(one.parts[i].payload, other.parts[i].payload));
  }
}

TEST(AnySet, PartsThatMakeNoSetAreRefused) {
  const auto refused = [](Parts parts) {
    return AnySet::from_parts(std::move(parts), Hasher(), {}).error().code;
  };
  EXPECT_EQ(refused({}), Code::damaged);
  Parts unknown;
  unknown.parts.push_back({.kind = 999});
  EXPECT_EQ(refused(std::move(unknown)), Code::unsupported);
  EXPECT_EQ(AnySet::check_part({.kind = 999}, 0).error().code, Code::unsupported);

  const auto set = AnySet::make("blocked", {.keys = 100, .rate = 0.01}).value();
  Parts two = set.parts().value();
  two.parts.push_back(std::move(set.parts().value().parts[0]));
  EXPECT_EQ(refused(std::move(two)), Code::mismatch);
  Parts cut = set.parts().value();
  cut.parts[0].payload = cut.parts[0].payload.first(64);
  EXPECT_EQ(AnySet::check_part(cut.parts[0], 64).error().code, Code::damaged);
  EXPECT_EQ(refused(std::move(cut)), Code::damaged);
  Parts short_shape = set.parts().value();
  short_shape.parts[0].shape.pop_back();
  EXPECT_EQ(refused(std::move(short_shape)), Code::damaged);
}

TEST(AnySet, ShapeFactsNameTheFields) {
  const auto facts = AnySet::make("blocked", {.keys = 1'000, .rate = 0.01}).value().shape_facts();
  ASSERT_EQ(facts.size(), 3);
  EXPECT_EQ(facts[0].first, "blocks");
  EXPECT_EQ(facts[1].first, "probes");
  EXPECT_EQ(facts[2], (std::pair<std::string, std::string>("lines", "1")));
}

}  // namespace
}  // namespace bloomery::detail
