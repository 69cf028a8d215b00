// The bulk verbs of Set that return an Error where their short forms throw.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

const std::vector<std::uint64_t> integers{1, 2, 3, 4, 5};
const std::vector<std::string> texts{"a", "b", "c"};

Set<BlockedBloom> blocked() { return Set<BlockedBloom>({.keys = 100, .rate = 0.001}); }

TEST(TryBulk, DoesAsTheShortFormWhereNothingFails) {
  auto set = blocked();
  auto short_form = blocked();
  Bools fresh(5);
  std::vector<bool> vector;
  std::array<std::uint64_t, 1> mask{};
  EXPECT_EQ(set.try_add_all(integers, fresh).value(), short_form.add_all(integers));
  EXPECT_EQ(fresh.count(), 5);
  EXPECT_EQ(set.try_add_all(std::list<int>{6, 1}, vector).value(), 1);
  EXPECT_EQ(vector, (std::vector<bool>{true, false}));
  EXPECT_EQ(set.try_add_all(std::vector{1, 7}, std::span(mask)).value(), 1);
  EXPECT_EQ(mask[0], 2);
  EXPECT_EQ(set.try_add_all(std::vector{8}, Threads{2}).value(), 1);
  EXPECT_EQ(set.try_add_all_by_lines(std::vector{9}).value(), 1);
  short_form.add_all(std::vector{6, 7, 8, 9});
  EXPECT_TRUE(set == short_form);
  EXPECT_EQ(set.adds(), short_form.adds());

  EXPECT_EQ(set.try_may_contain_all(integers, fresh).value(), 5);
  EXPECT_EQ(set.try_may_contain_all(integers, std::span(mask)).value(), 5);
  EXPECT_EQ(mask[0], 31);
  EXPECT_EQ(set.try_may_contain_all(integers).value(), std::vector<bool>(5, true));
  EXPECT_EQ(set.try_count_may_contain(integers).value(), 5);
}

// Keys one after the other until the set is full; `gathered` ones come in several spans.
template <class Keys>
void expect_full(const Keys& keys) {
  const auto set_of = [] { return Set<Cuckoo>({.keys = 1'000, .rate = 0.01}); };
  auto set = set_of();
  const auto refused = set.try_add_all(keys);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  EXPECT_GT(set.adds(), 900);
  EXPECT_TRUE(set.may_contain(*std::ranges::begin(keys))) << "those before it are in the set";
  auto thrown = set_of();
  EXPECT_THROW(thrown.add_all(keys), Failure);
  EXPECT_TRUE(set == thrown);
}

TEST(TryBulk, ASetThatIsFullSaysSo) {
  const auto many = numbered_keys<Cuckoo>({}, 0, 8'000);
  expect_full(many);
  expect_full(std::list<std::uint64_t>(many.begin(), many.end()));
  Set<Cuckoo> set({.keys = 1'000, .rate = 0.01});
  Bools fresh(many.size());
  std::vector<std::uint64_t> mask(words_for(many.size()));
  std::vector<bool> vector;
  EXPECT_EQ(set.try_add_all(many, fresh).error().code, Code::full);
  EXPECT_EQ(set.try_add_all(many, std::span(mask)).error().code, Code::full);
  EXPECT_EQ(set.try_add_all(many, vector).error().code, Code::full);
  EXPECT_EQ(set.try_add_all(many, Threads{2}).error().code, Code::full);
}

TEST(TryBulk, KeysOfAnotherFormAreAMismatch) {
  auto set = blocked();
  set.add("a");
  Bools answers(5);
  EXPECT_EQ(set.try_add_all(integers).error().code, Code::mismatch);
  EXPECT_EQ(set.try_add_all(integers, answers).error().code, Code::mismatch);
  EXPECT_EQ(set.try_add_all(integers, Threads{2}).error().code, Code::mismatch);
  EXPECT_EQ(set.try_add_all_by_lines(integers).error().code, Code::mismatch);
  EXPECT_EQ(set.try_may_contain_all(integers, answers).error().code, Code::mismatch);
  EXPECT_EQ(set.try_may_contain_all(integers).error().code, Code::mismatch);
  EXPECT_EQ(set.try_count_may_contain(integers).error().code, Code::mismatch);
  EXPECT_EQ(set.adds(), 1);
}

TEST(TryBulk, AnIntegerOutsideTheRangeAddsNothing) {
  Set<Bitmap> map({.range = {1, 4}});
  EXPECT_EQ(map.try_add_all(integers).error().code, Code::out_of_range);
  EXPECT_EQ(map.try_add_all(std::list<int>{2, -1}).error().code, Code::out_of_range);
  EXPECT_EQ(map.count(), 0);
  EXPECT_EQ(map.try_count_may_contain(integers).value(), 0) << "asking is allowed";
}

TEST(TryBulk, TooLittleRoomForAnswersIsBadInput) {
  auto set = blocked();
  Bools few(4);
  const std::vector<std::uint64_t> many = numbered_keys<BlockedBloom>({}, 0, 65);
  std::array<std::uint64_t, 1> mask{};
  EXPECT_EQ(set.try_add_all(integers, few).error().code, Code::bad_input);
  EXPECT_EQ(set.try_add_all(many, std::span(mask)).error().code, Code::bad_input);
  EXPECT_EQ(set.adds(), 0);
  EXPECT_EQ(set.rules().form, KeyForm::none);
  EXPECT_EQ(set.try_may_contain_all(integers, few).error().code, Code::bad_input);
  EXPECT_EQ(set.try_may_contain_all(many, std::span(mask)).error().code, Code::bad_input);
}

TEST(TryBulk, RemovesAndCounts) {
  Set<SpectralBloom> fixed({.keys = 100, .rate = 0.01});
  fixed.add_all(integers);
  EXPECT_EQ(fixed.try_remove_all(integers).error().code, Code::unsound);
  EXPECT_THROW(fixed.remove_all(integers), Failure);
  std::array<std::uint64_t, 5> counts{};
  ASSERT_TRUE(fixed.try_counts(integers, counts));
  EXPECT_EQ(counts[4], 1);
  EXPECT_EQ(fixed.try_counts(texts, counts).error().code, Code::mismatch);
  EXPECT_EQ(fixed.try_counts(integers, std::span(counts).first(2)).error().code, Code::bad_input);

  Set<CountingBloom> set({.keys = 100, .rate = 0.01});
  set.add_all(integers);
  Bools removed(2);
  EXPECT_EQ(set.try_remove_all(std::vector{1, 2, 3}, removed).error().code, Code::bad_input);
  EXPECT_EQ(set.try_remove_all(texts).error().code, Code::mismatch);
  EXPECT_EQ(set.try_remove_all(std::vector{1, 99}, removed).value(), 1);
  EXPECT_TRUE(removed[0]);
  EXPECT_FALSE(removed[1]);
}

TEST(TryBulk, OfASetThatWasMovedFromIsAnError) {
  auto set = blocked();
  const auto taken = std::move(set);
  Bools answers(5);
  EXPECT_FALSE(set.try_add_all(integers));
  EXPECT_FALSE(set.try_add_all(integers, answers));
  EXPECT_FALSE(set.try_may_contain_all(integers));
  EXPECT_FALSE(set.try_count_may_contain(integers));
  EXPECT_THROW(set.add_all(integers, answers), std::logic_error);
  EXPECT_THROW((void)set.count_may_contain(integers), std::logic_error);
  Set<Bitmap> map({.range = {1, 9}});
  const auto taken_map = std::move(map);
  EXPECT_FALSE(map.try_add_all(integers));
  EXPECT_THROW(map.add_all(integers), std::logic_error);
}

TEST(TryBulk, OneShardTakesItsKeysAlone) {
  Set<Sharded> set({.keys = 10'000, .rate = 0.01, .shards = 4});
  std::vector<std::uint64_t> mine;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    if (set.shard_of(i) == 2) mine.push_back(i);
  {
    auto shard = set.shard(2);
    EXPECT_EQ(shard.try_add_all(mine).value(), mine.size());
    EXPECT_EQ(shard.try_add_all(texts).error().code, Code::bad_input);
    EXPECT_EQ(shard.try_add_all(numbered_keys<Sharded>({}, 0, 9)).error().code, Code::bad_input);
    EXPECT_THROW(shard.add_all(numbered_keys<Sharded>({}, 0, 9)), std::invalid_argument);
  }
  EXPECT_EQ(set.adds(), mine.size());
}

}  // namespace
}  // namespace bloomery::detail
