// One key at a time, integers, and ranges of any sort in a set whose kind is known at run time.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <set>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/bloomery.hpp>

#include <tests/sets/made_range.hpp>

namespace bloomery::detail {
namespace {

struct Item {
  std::uint32_t store;
  std::uint32_t number;
};
std::uint64_t bloomery_key(const Item& item) {
  return std::uint64_t{item.store} << 32 | item.number;
}

// The example of any_set.hpp.
TEST(AnySetKeys, OneAtATime) {
  auto set = AnySet::make("blocked", {.keys = 1'000, .rate = 1e-6}).value();
  EXPECT_TRUE(set.add("one").value());
  EXPECT_FALSE(set.add(std::string("one")).value());
  EXPECT_TRUE(set.may_contain(std::string_view("one")).value());
  EXPECT_FALSE(set.may_contain("two").value());
  EXPECT_TRUE(set.may_contain(set.hasher()("one")).value());
  EXPECT_TRUE(set.add(std::vector<std::byte>{std::byte{1}}).value());
  EXPECT_EQ(set.adds(), 2);
  EXPECT_EQ(set.rules().form, KeyForm::text);
  EXPECT_EQ(set.add(1).error().code, Code::mismatch);
  EXPECT_EQ(set.may_contain(1).error().code, Code::mismatch);
  EXPECT_EQ(set.contains("one").error().code, Code::unsound);
  EXPECT_EQ(set.remove("one").error().code, Code::unsound);
  EXPECT_EQ(set.count_of("one").error().code, Code::unsound);
  EXPECT_EQ(set.add(Ordinal{1}).error().code, Code::mismatch);
}

// Every kind that can be added to does as the typed set does: same bits for integers.
TEST(AnySetKeys, IntegersAreHashedAsSetHashesThem) {
  Set<BlockedBloom> typed({.keys = 1'000, .rate = 0.01});
  auto erased = AnySet::make("blocked", {.keys = 1'000, .rate = 0.01}).value();
  for (int n = -500; n < 500; ++n) ASSERT_EQ(erased.add(n).value(), typed.add(n));
  EXPECT_EQ(erased.rules().form, KeyForm::u64);
  EXPECT_EQ(erased.add("text").error().code, Code::mismatch);
  EXPECT_EQ(erased.adds(), typed.adds());
  EXPECT_EQ(erased.estimate(), typed.estimate());
  for (int n = -1'000; n < 1'000; ++n)
    ASSERT_EQ(erased.may_contain(n).value(), typed.may_contain(n)) << n;

  for (const char* kind : {"classic", "cuckoo", "hash-set", "scalable", "compact", "chain"}) {
    auto set = AnySet::make(kind, {.keys = 1'000, .rate = 1e-4}).value();
    EXPECT_TRUE(set.add(Item{7, 42}).value()) << kind;
    EXPECT_TRUE(set.may_contain(std::uint64_t{7} << 32 | 42).value()) << kind;
  }
}

TEST(AnySetKeys, MapsTakeIntegersAsThemselves) {
  constexpr auto top = std::numeric_limits<std::uint64_t>::max();
  auto map = AnySet::make("bitmap", {.range = {top - 9, top}}).value();
  EXPECT_EQ(map.add(-1).error().sentence,
            "-1 is outside the range of the set, 18446744073709551606..18446744073709551615");
  EXPECT_FALSE(map.may_contain(-1).value());
  EXPECT_TRUE(map.add(top).value());
  EXPECT_TRUE(map.contains(top).value());
  EXPECT_FALSE(map.may_contain(-1).value());
  EXPECT_FALSE(map.remove(-1).value());
  EXPECT_EQ(map.add("text").error().code, Code::mismatch);
  EXPECT_EQ(map.add(Hash{1}).error().code, Code::mismatch);
  EXPECT_TRUE(map.remove(Ordinal{top}).value());
  EXPECT_EQ(map.adds(), 0);

  auto twice = AnySet::make("two-bit", {.range = {0, 99}}).value();
  const std::vector<int> numbers = {5, 6, 5};
  EXPECT_EQ(twice.add_all(numbers).value(), 2);
  EXPECT_EQ(twice.count_of(5).value(), 2);
  std::vector<std::uint64_t> counts(4);
  EXPECT_TRUE(twice.counts(std::vector<int>{6, 5, -1, 100}, counts));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 2, 0, 0}));
  // Nothing is added when one is outside, wherever it stands.
  std::vector<int> far(3'000, 7);
  far.push_back(100);
  EXPECT_EQ(twice.add_all(far).error().code, Code::out_of_range);
  EXPECT_EQ(twice.count_of(7).value(), 0);
}

// More than two chunks, the last one not full.
TEST(AnySetKeys, AnyForwardRangeDoesAsASpan) {
  std::vector<std::string> texts;
  for (int i = 0; i < 2'500; ++i) texts.push_back("key " + std::to_string(i % 2'000));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::list<std::string> list(texts.begin(), texts.end());
  for (const char* kind : {"blocked", "hash-set", "cuckoo", "scalable"}) {
    const Want want{.keys = 3'000, .rate = 0.01};
    auto spanned = AnySet::make(kind, want).value();
    auto listed = AnySet::make(kind, want).value();
    auto fresh = std::make_unique<bool[]>(2'500);
    auto fresh_too = std::make_unique<bool[]>(2'500);
    const auto count = spanned.add_all(views, {fresh.get(), 2'500}).value();
    EXPECT_EQ(listed.add_all(list, {fresh_too.get(), 2'500}).value(), count);
    EXPECT_TRUE(std::equal(fresh.get(), fresh.get() + 2'500, fresh_too.get()));
    EXPECT_EQ(spanned.estimate(), listed.estimate());
    EXPECT_EQ(listed.rules().form, KeyForm::text);
    const auto odd =
        made_range<false>(0, 2'500, [](int i) { return "key " + std::to_string(2 * i + 1); });
    const std::vector<bool> answers = listed.may_contain_all(odd).value();
    ASSERT_EQ(answers.size(), 2'500);
    for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(answers[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(spanned.may_contain_all(odd).value(), answers);
    EXPECT_EQ(spanned.may_contain_all(views).value(), std::vector<bool>(2'500, true));
  }
  auto counting = AnySet::make("counting", {.keys = 3'000, .rate = 1e-6}).value();
  EXPECT_TRUE(counting.add_all(list));
  const std::set<std::string> some = {"key 1", "key 2", "nothing"};
  EXPECT_EQ(counting.remove_all(some).value(), 2);
}

TEST(AnySetKeys, ACloneIsEqualAndApart) {
  for (const char* kind : {"blocked", "cuckoo", "hash-set", "scalable", "chain", "window"}) {
    auto set = AnySet::make(kind, {.keys = 1'000, .rate = 0.01}).value();
    EXPECT_TRUE(set.add("one").value());
    auto copy = set.clone().value();
    EXPECT_TRUE(copy == set) << kind;
    EXPECT_EQ(copy.adds(), 1);
    EXPECT_EQ(copy.rules().form, KeyForm::text);
    EXPECT_TRUE(copy.add("two").value());
    EXPECT_FALSE(copy == set) << kind;
    EXPECT_FALSE(set.may_contain("two").value()) << kind;
    EXPECT_TRUE(set.add("two").value());
    EXPECT_TRUE(copy == set) << kind;
  }
  const Want want{.keys = 10, .rate = 0.01};
  EXPECT_FALSE(AnySet::make("blocked", want).value() == AnySet::make("classic", want).value());
  EXPECT_FALSE(AnySet::make("blocked", want).value() ==
               AnySet::make("blocked", want, Hasher(7)).value());
}

TEST(AnySetKeys, NoKeysAreNoForm) {
  auto set = AnySet::make("blocked", {.keys = 10, .rate = 0.01}).value();
  EXPECT_EQ(set.add_all(std::list<int>{}).value(), 0);
  EXPECT_EQ(set.rules().form, KeyForm::none);
  EXPECT_TRUE(set.may_contain_all(std::list<int>{}).value().empty());
}

}  // namespace
}  // namespace bloomery::detail
