// What is peculiar to the counting filter: removal, counters that stick, and what they leave.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/sets/kinds/counting_bloom.hpp>
#include <bloomery/set.hpp>
#include <tests/laws/law_keys.hpp>
#include <tests/sets/kinds/multiset_model.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<CountingBloom> && Removable<CountingBloom> &&
              Countable<CountingBloom> && Mergeable<CountingBloom> && Estimable<CountingBloom> &&
              Prefetchable<CountingBloom>);

using Model = MultisetModel<CountingBloom>;

// Full to twice its capacity with single copies: no counter sticks.
TEST(CountingBloom, AsAMultisetOfSingleKeysForgetsNothingAndEmptiesToTheByte) {
  Model model({.keys = 2'000, .rate = 0.02}, {.keys = 6'000, .most_copies = 1}, 11);
  model.run(150'000);
  model.expect_members();
  EXPECT_GT(model.set().estimate(), 1'500);
  model.remove_everything();
  EXPECT_EQ(model.set().kind().stuck(), 0);
}

// Many copies in a roomy set: no counter sticks for this seed, which the last line makes sure of.
TEST(CountingBloom, AsAMultisetOfEightCopiesForgetsNothingAndEmptiesToTheByte) {
  Model model({.keys = 40'000, .rate = 0.01}, {.keys = 200, .most_copies = 8}, 12);
  model.run(150'000);
  model.expect_members();
  model.remove_everything();
  EXPECT_EQ(model.set().kind().stuck(), 0);
}

// Many copies in a full set: counters stick, and still nothing is forgotten.
TEST(CountingBloom, WithStuckCountersForgetsNothing) {
  Model model({.keys = 2'000, .rate = 0.02}, {.keys = 8'000, .most_copies = 8}, 13);
  model.run(200'000);
  model.expect_members();
  model.remove_everything();
  EXPECT_GT(model.set().kind().stuck(), 0);
}

TEST(CountingBloom, RefusesToRemoveWhatIsSurelyAbsentAndChangesNothing) {
  Set<CountingBloom> set({.keys = 1'000, .rate = 0.01});
  set.add_all(numbered_keys<CountingBloom>({}, 0, 1'000));
  const FileBytes before = bits_of(set);
  const std::uint64_t adds = set.adds();
  std::size_t refused = 0;
  for (std::uint64_t stranger = 1'000; stranger < 3'000; ++stranger) {
    if (set.may_contain(stranger)) continue;
    EXPECT_FALSE(set.remove(stranger));
    ++refused;
  }
  EXPECT_GT(refused, 1'900);
  EXPECT_EQ(set.adds(), adds);
  EXPECT_TRUE(bits_of(set) == before);
}

TEST(CountingBloom, ACounterAtItsEndStaysThere) {
  Set<CountingBloom> set({.keys = 1'000, .rate = 0.01});
  for (int copy = 1; copy <= 14; ++copy) set.add("key");
  EXPECT_EQ(set.count_of("key"), 14);
  EXPECT_EQ(set.kind().stuck(), 0);
  for (int copy = 1; copy <= 14; ++copy) EXPECT_TRUE(set.remove("key"));
  EXPECT_FALSE(set.remove("key"));
  EXPECT_EQ(set.adds(), 0);

  for (int copy = 1; copy <= 20; ++copy) set.add("key");
  EXPECT_EQ(set.count_of("key"), set.most_count());
  EXPECT_EQ(set.kind().stuck(), set.kind().shape().probes);
  for (int copy = 1; copy <= 40; ++copy) EXPECT_TRUE(set.remove("key"));
  EXPECT_TRUE(set.may_contain("key"));
  EXPECT_EQ(set.adds(), 1);
}

// A place that comes twice is raised once: else the copies of such a key would stick after seven.
TEST(CountingBloom, APlaceThatComesTwiceIsRaisedOnce) {
  // Sixty probes in 512 counters: nearly every key has some place twice.
  const CountingBloom::Shape shape{.counters = 512, .probes = 60};
  Memory memory = Memory::make(CountingBloom::bytes(shape)).value();
  int with_a_place_twice = 0;
  for (std::uint64_t key = 0; key < 50; ++key) {
    CountingBloom filter(shape, memory.bytes());
    const auto slot = filter.locate(Hasher()(key));
    for (int copy = 1; copy <= 3; ++copy) EXPECT_EQ(filter.add(slot) == Added::fresh, copy == 1);
    EXPECT_EQ(filter.count(slot), 3);
    for (const std::byte two : memory.bytes()) {
      const auto bits = std::to_integer<unsigned>(two);
      EXPECT_TRUE((bits & 15) == 0 || (bits & 15) == 3);
      EXPECT_TRUE(bits >> 4 == 0 || bits >> 4 == 3);
    }
    with_a_place_twice += filter.fill_ratio() * 512 < 60;
    for (int copy = 1; copy <= 3; ++copy) EXPECT_TRUE(filter.remove(slot));
    EXPECT_EQ(filter.fill_ratio(), 0);
  }
  EXPECT_GT(with_a_place_twice, 40);
}

// Keys that land on one counter of a full set: Poisson, ln 2 on average.
TEST(CountingBloom, ACounterOfAFullSetIsStuckWithAChanceNearTenToTheMinusFifteen) {
  const double stuck = plan::poisson_mean(plan::ln2, [](double keys) { return keys >= 15; });
  EXPECT_NEAR(stuck, 1.6e-15, 0.1e-15);
}

TEST(CountingBloom, AUnionHoldsTheCopiesOfBothAndGivesThemBack) {
  const Want want{.keys = 2'000, .rate = 0.01};
  Set<CountingBloom> one(want);
  Set<CountingBloom> other(want);
  const auto shared = numbered_keys<CountingBloom>(want, 0, 500);
  const auto more = numbered_keys<CountingBloom>(want, 500, 500);
  one.add_all(shared);
  const FileBytes before = bits_of(one);
  other.add_all(shared);
  other.add_all(more);
  one.unite(other);
  for (const std::uint64_t key : shared) ASSERT_GE(one.count_of(key), 2);
  EXPECT_EQ(one.remove_all(shared), 500);
  EXPECT_EQ(one.remove_all(more), 500);
  EXPECT_TRUE(bits_of(one) == before);
}

TEST(CountingBloom, AllCommonKeysOfAnIntersectionCanBeRemoved) {
  const Want want{.keys = 2'000, .rate = 0.05};
  Set<CountingBloom> one(want);
  Set<CountingBloom> other(want);
  one.add_all(numbered_keys<CountingBloom>(want, 0, 2'000));
  other.add_all(numbered_keys<CountingBloom>(want, 1'000, 2'000));
  one.intersect(other);
  const auto common = numbered_keys<CountingBloom>(want, 1'000, 1'000);
  for (std::size_t i = 0; i < common.size(); ++i) {
    ASSERT_TRUE(one.remove(common[i])) << i;
    if (i % 50 != 0) continue;
    for (std::size_t left = i + 1; left < common.size(); ++left)
      ASSERT_TRUE(one.may_contain(common[left])) << left << " of " << i;
  }
}

TEST(CountingBloom, IsRemovedFromByTextThroughAnySet) {
  auto set = AnySet::make("counting", {.keys = 100, .rate = 1e-4}).value();
  const std::vector<std::string_view> keys = {"a", "b", "a"};
  ASSERT_TRUE(set.add_all(keys));
  std::vector<std::uint64_t> counts(3);
  ASSERT_TRUE(set.counts(keys, counts));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{2, 1, 2}));
  EXPECT_EQ(set.most_count(), 15);
  const std::vector<std::string_view> gone = {"b", "stranger", "a"};
  Bools removed(3);
  EXPECT_EQ(set.remove_all(gone, removed).value(), 2);
  EXPECT_EQ(removed.copy(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(set.adds(), 1);
  ASSERT_TRUE(set.counts(keys, counts));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 0, 1}));
  EXPECT_EQ(set.stuck(), 0);
  EXPECT_EQ(AnySet::make("classic", {.keys = 100, .rate = 1e-4})->stuck(), std::nullopt);
}

TEST(CountingBloom, IntegersOutsideAMapAreNotRemovedInPlaceOfItsLowEnd) {
  auto map = AnySet::make("two-bit", {.range = {10, 20}}).value();
  ASSERT_TRUE(map.add_all(std::vector<Ordinal>{{10}, {12}, {12}}));
  Bools removed(3);
  EXPECT_EQ(map.remove_all(std::vector<Ordinal>{{9}, {12}, {21}}, removed).value(), 1);
  EXPECT_EQ(removed.copy(), (std::vector<bool>{false, true, false}));
  std::vector<std::uint64_t> counts(3);
  ASSERT_TRUE(map.counts(std::vector<Ordinal>{{9}, {10}, {12}}, counts));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 1, 0}));
}

TEST(CountingBloom, ShapesThatCanNotBeAreRefused) {
  using Shape = CountingBloom::Shape;
  EXPECT_TRUE(CountingBloom::check(Shape{512, 7}, 256));
  for (const Shape shape : {Shape{0, 7}, Shape{100, 7}, Shape{512, 0}, Shape{512, 65},
                            Shape{(std::uint64_t{1} << 56) + 512, 7}}) {
    auto checked = CountingBloom::check(shape, CountingBloom::bytes(shape));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::damaged);
  }
  EXPECT_FALSE(CountingBloom::check(Shape{512, 7}, 512));
}

}  // namespace
}  // namespace bloomery::detail
