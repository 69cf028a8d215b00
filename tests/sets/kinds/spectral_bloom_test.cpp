// What is peculiar to the spectral filter: how often, in two ways of counting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/sets/kinds/spectral_bloom.hpp>
#include <bloomery/set.hpp>
#include <tests/laws/law_keys.hpp>
#include <tests/sets/kinds/multiset_model.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(Addable<SpectralBloom> && Removable<SpectralBloom> && Countable<SpectralBloom> &&
              Mergeable<SpectralBloom> && Estimable<SpectralBloom> && Prefetchable<SpectralBloom>);

using Model = MultisetModel<SpectralBloom>;

TEST(SpectralBloom, WithRemovalAsAMultisetCountsNothingTooLowAndEmptiesToTheByte) {
  Model full({.keys = 2'000, .rate = 0.02, .removal = true}, {.keys = 8'000, .most_copies = 8}, 21);
  full.run(300'000);
  full.expect_members();
  full.remove_everything();
  EXPECT_EQ(full.set().kind().stuck(), 0);
  Model narrow({.keys = 1'000, .rate = 0.1, .most_count = 200, .removal = true},
               {.keys = 2'000, .most_copies = 8}, 22);
  narrow.run(200'000);
  narrow.expect_members();
  narrow.remove_everything();
  EXPECT_EQ(narrow.set().most_count(), 255);
}

// Zipf: key i comes with a chance like 1 / (i + 1).
std::vector<std::uint64_t> zipf_stream(std::uint64_t distinct, std::size_t length) {
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> keys(length);
  const double log_distinct = std::log(static_cast<double>(distinct));
  for (std::uint64_t& key : keys) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    key = static_cast<std::uint64_t>(std::exp(part * log_distinct)) - 1;
  }
  return keys;
}

double mean_excess(const Set<SpectralBloom>& set,
                   const std::unordered_map<std::uint64_t, std::uint64_t>& truth) {
  double excess = 0;
  for (const auto& [key, times] : truth) {
    EXPECT_GE(set.count_of(key), times) << key;
    excess += static_cast<double>(set.count_of(key) - times);
  }
  return excess / static_cast<double>(truth.size());
}

TEST(SpectralBloom, CountsAZipfStreamNeverTooLowAndCloserByMinimumIncrease) {
  const auto stream = zipf_stream(50'000, 300'000);
  std::unordered_map<std::uint64_t, std::uint64_t> truth;
  for (const std::uint64_t key : stream) ++truth[key];
  // A tenth of the room that the keys would need, so that there is something to count too high.
  const Want want{.keys = truth.size() / 5, .rate = 0.05};
  Want removable = want;
  removable.removal = true;
  Set<SpectralBloom> increase(want);
  Set<SpectralBloom> selection(removable);
  increase.add_all(stream);
  selection.add_all(stream);
  const double by_increase = mean_excess(increase, truth);
  const double by_selection = mean_excess(selection, truth);
  EXPECT_GT(by_increase, 0.1);
  EXPECT_LT(by_increase, by_selection / 2);
}

TEST(SpectralBloom, WithRoomEnoughMostCountsAreTheTruth) {
  const auto stream = zipf_stream(20'000, 200'000);
  std::unordered_map<std::uint64_t, std::uint64_t> truth;
  for (const std::uint64_t key : stream) ++truth[key];
  Set<SpectralBloom> set({.keys = truth.size(), .rate = 0.01});
  set.add_all(stream);
  std::size_t too_high = 0;
  for (const auto& [key, times] : truth) too_high += set.count_of(key) != times;
  // No more often than a stranger would pass.
  EXPECT_LT(too_high, truth.size() / 100);
}

TEST(SpectralBloom, MinimumIncreaseHasNoRemovalAndSaysWhy) {
  Set<SpectralBloom> set({.keys = 100, .rate = 0.01});
  set.add("key");
  try {
    set.remove("key");
    ADD_FAILURE() << "removed by minimum increase";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Code::unsound);
    EXPECT_NE(std::string_view(failure.what()).find("plan the set for removal"),
              std::string_view::npos);
  }
  EXPECT_THROW(set.remove_all(std::vector<std::uint64_t>{}), Failure);
  EXPECT_EQ(set.count_of("key"), 1);
}

TEST(SpectralBloom, CountersAreJustWideEnoughAndStopAtTheirEnd) {
  const auto bits_for = [](std::uint64_t most) {
    return SpectralBloom::plan({.keys = 100, .rate = 0.01, .most_count = most})->counter_bits;
  };
  EXPECT_EQ(bits_for(0), 16);
  EXPECT_EQ(bits_for(1), 8);
  EXPECT_EQ(bits_for(255), 8);
  EXPECT_EQ(bits_for(256), 16);
  EXPECT_EQ(bits_for(65'535), 16);
  EXPECT_EQ(bits_for(65'536), 32);
  EXPECT_EQ(bits_for(0xffff'ffff), 32);
  EXPECT_FALSE(SpectralBloom::plan({.keys = 100, .rate = 0.01, .most_count = 1ULL << 32}));

  for (const bool removal : {false, true}) {
    Set<SpectralBloom> set({.keys = 100, .rate = 0.01, .most_count = 255, .removal = removal});
    for (std::uint64_t times = 1; times <= 300; ++times) {
      set.add(17);
      ASSERT_EQ(set.count_of(17), std::min<std::uint64_t>(times, 255));
    }
    EXPECT_EQ(set.kind().stuck(), set.kind().shape().probes);
    if (!removal) continue;
    EXPECT_TRUE(set.remove(17));
    EXPECT_EQ(set.count_of(17), 255);  // at least
  }
}

TEST(SpectralBloom, AUnionCountsBothAndAnIntersectionTheFewer) {
  for (const bool removal : {false, true}) {
    const Want want{.keys = 1'000, .rate = 0.05, .removal = removal};
    Set<SpectralBloom> one(want);
    Set<SpectralBloom> other(want);
    Set<SpectralBloom> both(want);
    for (std::uint64_t key = 0; key < 1'000; ++key) {
      for (std::uint64_t times = 0; times < key % 5; ++times) one.add(key), both.add(key);
      for (std::uint64_t times = 0; times < key % 7; ++times) other.add(key), both.add(key);
    }
    Set<SpectralBloom> common(want);
    common.unite(one);
    EXPECT_TRUE(bits_of(common) == bits_of(one));
    common.intersect(other);
    one.unite(other);
    EXPECT_TRUE(!removal || bits_of(one) == bits_of(both));
    for (std::uint64_t key = 0; key < 1'000; ++key) {
      ASSERT_GE(one.count_of(key), key % 5 + key % 7) << key;
      ASSERT_GE(common.count_of(key), std::min(key % 5, key % 7)) << key;
    }
  }
}

// The two ways of counting do not mix: a merge would claim that keys can be removed.
TEST(SpectralBloom, SetsOfDifferentWaysOfCountingDoNotUnite) {
  Set<SpectralBloom> increase({.keys = 100, .rate = 0.01});
  const Set<SpectralBloom> selection({.keys = 100, .rate = 0.01, .removal = true});
  auto united = increase.try_unite(selection);
  ASSERT_FALSE(united);
  EXPECT_NE(united.error().sentence.find("selection is 0"), std::string::npos);
}

TEST(SpectralBloom, IsAskedByTextThroughAnySet) {
  auto set = AnySet::make("spectral", {.keys = 100, .rate = 1e-4}).value();
  const std::vector<std::string_view> keys = {"a", "b", "a", "a"};
  ASSERT_TRUE(set.add_all(keys));
  const std::vector<std::string_view> asked = {"b", "stranger", "a"};
  std::vector<std::uint64_t> counts(3);
  ASSERT_TRUE(set.counts(asked, counts));
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 0, 3}));
  EXPECT_EQ(set.most_count(), 65'535);
  EXPECT_FALSE(set.remove_all(keys));
}

TEST(SpectralBloom, ShapesThatCanNotBeAreRefused) {
  using Shape = SpectralBloom::Shape;
  EXPECT_TRUE(SpectralBloom::check(Shape{512, 7, 16, 1}, 1'024));
  for (const Shape shape :
       {Shape{0, 7, 16, 0}, Shape{100, 7, 16, 0}, Shape{512, 0, 16, 0}, Shape{512, 65, 16, 0},
        Shape{512, 7, 4, 0}, Shape{512, 7, 24, 0}, Shape{512, 7, 64, 0}, Shape{512, 7, 16, 2},
        Shape{(std::uint64_t{1} << 54) + 512, 7, 8, 0}}) {
    auto checked = SpectralBloom::check(shape, SpectralBloom::bytes(shape));
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::damaged);
  }
  EXPECT_FALSE(SpectralBloom::check(Shape{512, 7, 8, 0}, 1'024));
}

}  // namespace
}  // namespace bloomery::detail
