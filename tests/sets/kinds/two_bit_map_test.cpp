// The two-bit map against a std::map of counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <bloomery/detail/sets/kinds/two_bit_map.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<TwoBitMap> && Removable<TwoBitMap> && Countable<TwoBitMap> &&
              Mergeable<TwoBitMap> && Estimable<TwoBitMap> && Ranged<TwoBitMap> &&
              Exact<TwoBitMap> && Prefetchable<TwoBitMap> && OneLined<TwoBitMap>);

Seen seen_of(unsigned count) {
  return count == 0 ? Seen::never : count == 1 ? Seen::once : Seen::many;
}

TEST(TwoBitMap, DrivenAtRandomAgreesWithStdMap) {
  for (const Range range : {Range{0, 31}, Range{1'000, 1'032}, Range{5, 5}, Range{1, 200}}) {
    Set<TwoBitMap> map({.range = range});
    std::map<std::uint64_t, unsigned> truth;
    std::mt19937_64 random(3);
    const std::uint64_t integers = range.high - range.low + 1;
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t n = range.low + random() % integers;
      if (random() % 4 != 0) {
        ASSERT_EQ(map.add(n), truth[n]++ == 0) << n;
      } else {
        ASSERT_EQ(map.remove(n), truth[n] != 0) << n;
        truth[n] = 0;
      }
      ASSERT_EQ(map.state(n), seen_of(truth[n]));
      ASSERT_EQ(map.contains(n), truth[n] != 0);
    }
    std::vector<std::uint64_t> all;
    std::vector<std::uint64_t> once;
    std::vector<std::uint64_t> many;
    for (const auto& [n, count] : truth) {
      if (count != 0) all.push_back(n);
      if (count == 1) once.push_back(n);
      if (count > 1) many.push_back(n);
    }
    std::vector<std::uint64_t> walked;
    const auto note = [&](std::uint64_t n) { walked.push_back(n); };
    map.for_each(note);
    EXPECT_EQ(std::exchange(walked, {}), all);
    map.kind().for_each_once(note);
    EXPECT_EQ(std::exchange(walked, {}), once);
    map.kind().for_each_many(note);
    EXPECT_EQ(std::exchange(walked, {}), many);
    EXPECT_EQ(map.count(), all.size());
    EXPECT_EQ(map.adds(), all.size());
    EXPECT_EQ(map.kind().count_once(), once.size());
    EXPECT_EQ(map.kind().count_many(), many.size());
    EXPECT_TRUE(map.kind().check_bits());
  }
}

TEST(TwoBitMap, ManyStaysManyAndNeighboursStayAlone) {
  Set<TwoBitMap> map({.range = {0, 95}});
  for (int i = 0; i < 100; ++i) map.add(32);
  for (int i = 0; i < 100; ++i) map.add_shared(63);
  EXPECT_EQ(map.state(32), Seen::many);
  EXPECT_EQ(map.state(63), Seen::many);
  for (const int n : {31, 33, 62, 64, 0, 95}) EXPECT_EQ(map.state(n), Seen::never) << n;
  EXPECT_EQ(map.state(96), Seen::never);
  EXPECT_EQ(map.state(-1), Seen::never);
}

TEST(TwoBitMap, OnceAndOnceMakesMany) {
  const Want want{.range = {0, 9}};
  Set<TwoBitMap> one(want);
  Set<TwoBitMap> other(want);
  one.add(4);
  other.add(4);
  one.unite(other);
  EXPECT_EQ(one.state(4), Seen::many);
  EXPECT_EQ(one.count(), 1);
  EXPECT_EQ(other.state(4), Seen::once);
}

// All nine pairs of states, each at every place of a word, with other pairs around it.
TEST(TwoBitMap, EveryPairOfStatesCombinesAsCountsDo) {
  constexpr std::uint64_t places = 32 * 9;
  const Want want{.range = {0, places - 1}};
  for (std::uint64_t turn = 0; turn < 9; ++turn) {
    Set<TwoBitMap> one(want);
    Set<TwoBitMap> other(want);
    const auto states = [&](std::uint64_t n) {
      const std::uint64_t pair = (n + turn) % 9;
      return std::pair(static_cast<unsigned>(pair / 3), static_cast<unsigned>(pair % 3));
    };
    for (std::uint64_t n = 0; n < places; ++n) {
      for (unsigned i = 0; i < states(n).first; ++i) one.add(n);
      for (unsigned i = 0; i < states(n).second; ++i) other.add(n);
    }
    Set<TwoBitMap> common(want);
    common.unite(one);
    common.intersect(other);
    one.unite(other);
    std::uint64_t in_either = 0;
    std::uint64_t in_both = 0;
    for (std::uint64_t n = 0; n < places; ++n) {
      const auto [a, b] = states(n);
      ASSERT_EQ(one.state(n), seen_of(a + b)) << a << " and " << b << " at " << n;
      ASSERT_EQ(common.state(n), seen_of(std::min(a, b))) << a << " and " << b << " at " << n;
      in_either += a + b != 0;
      in_both += a != 0 && b != 0;
    }
    EXPECT_EQ(one.adds(), in_either);
    EXPECT_EQ(common.adds(), in_both);
    EXPECT_TRUE(one.kind().check_bits());
    EXPECT_TRUE(common.kind().check_bits());
  }
}

TEST(TwoBitMap, StateElevenIsRefusedAtEveryPlace) {
  for (std::uint64_t n = 0; n < 40; ++n) {
    auto owned = Owned<TwoBitMap>::make({.range = {0, 39}}).value();
    Part part = owned.part();
    part.memory = Memory::copy_of(part.payload).value();
    part.payload = std::as_const(part.memory).bytes();
    part.memory.bytes()[n / 4] = static_cast<std::byte>(3U << (n % 4 * 2));
    const auto opened = Owned<TwoBitMap>::from_part(std::move(part));
    ASSERT_FALSE(opened) << n;
    EXPECT_EQ(opened.error().code, Code::damaged);
    EXPECT_NE(opened.error().sentence.find("11"), std::string::npos);
  }
}

TEST(TwoBitMap, TwoStatesSideBySideThatLookLikeElevenAreFine) {
  // 01 above 10 is 0110: the two middle ones are not one state.
  Set<TwoBitMap> map({.range = {0, 3}});
  map.add(0);
  map.add(0);
  map.add(1);
  EXPECT_TRUE(map.kind().check_bits());
}

TEST(TwoBitMap, StatesBeyondTheRangeAreRefused) {
  auto owned = Owned<TwoBitMap>::make({.range = {0, 39}}).value();
  Part part = owned.part();
  part.memory = Memory::copy_of(part.payload).value();
  part.payload = std::as_const(part.memory).bytes();
  part.memory.bytes()[10] = std::byte{1};  // state 40
  const auto opened = Owned<TwoBitMap>::from_part(std::move(part));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::damaged);
}

TEST(TwoBitMap, FullMeansEveryIntegerManyTimes) {
  Set<TwoBitMap> map({.range = {3, 70}});
  map.fill();
  EXPECT_EQ(map.count(), 68);
  EXPECT_EQ(map.kind().count_many(), 68);
  EXPECT_EQ(map.kind().count_once(), 0);
  EXPECT_TRUE(map.kind().check_bits());
}

TEST(TwoBitMap, MoreThanTwoToThe32StatesHaveTheirOwnPlaces) {
  Set<TwoBitMap> map({.range = {0, std::uint64_t{1} << 32}});
  const std::uint64_t top = std::uint64_t{1} << 32;
  map.add(top);
  map.add(top);
  map.add(0);
  EXPECT_EQ(map.state(top), Seen::many);
  EXPECT_EQ(map.state(std::uint64_t{0}), Seen::once);
  EXPECT_EQ(map.state(top / 2), Seen::never);
}

}  // namespace
}  // namespace bloomery::detail
