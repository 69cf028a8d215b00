// The bitmap against a std::set, and at the edges of its range.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<Bitmap> && Removable<Bitmap> && Mergeable<Bitmap> &&
              Estimable<Bitmap> && Ranged<Bitmap> && Exact<Bitmap> && Prefetchable<Bitmap> &&
              OneLined<Bitmap>);

using Members = std::set<std::uint64_t>;

Members members_of(const Set<Bitmap>& map) {
  Members members;
  map.for_each([&](std::uint64_t n) { members.insert(n); });
  return members;
}

// Ranges whose last word is full, has one bit, lacks one bit; one integer; the top of 64 bits.
std::vector<Range> odd_ranges() {
  constexpr auto top = std::numeric_limits<std::uint64_t>::max();
  return {{0, 63}, {0, 64}, {1, 63}, {7, 7}, {1'000, 1'190}, {top - 130, top}, {top, top}};
}

TEST(Bitmap, DrivenAtRandomAgreesWithStdSet) {
  for (const Range range : odd_ranges()) {
    SCOPED_TRACE(testing::Message() << range.low << ".." << range.high);
    Set<Bitmap> map({.range = range});
    Members truth;
    std::mt19937_64 random(1);
    const std::uint64_t integers = range.high - range.low + 1;
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t n = range.low + random() % integers;
      if (random() % 3 != 0) {
        ASSERT_EQ(map.add(n), truth.insert(n).second) << n;
      } else {
        ASSERT_EQ(map.remove(n), truth.erase(n) == 1) << n;
      }
      const std::uint64_t asked = range.low + random() % integers;
      ASSERT_EQ(map.contains(asked), truth.contains(asked)) << asked;
    }
    EXPECT_EQ(map.count(), truth.size());
    EXPECT_EQ(map.adds(), truth.size());
    EXPECT_EQ(map.estimate(), truth.size());
    EXPECT_EQ(members_of(map), truth);
    EXPECT_EQ(map.capacity(), integers);
  }
}

TEST(Bitmap, WalksItsMembersAndItsGapsInRisingOrder) {
  for (const Range range : odd_ranges()) {
    Set<Bitmap> map({.range = range});
    for (std::uint64_t n = range.low;; n += 3) {
      map.add(n);
      if (range.high - n < 3) break;
    }
    std::vector<std::uint64_t> seen;
    std::vector<std::uint64_t> missing;
    map.for_each([&](std::uint64_t n) { seen.push_back(n); });
    map.kind().for_each_missing([&](std::uint64_t n) { missing.push_back(n); });
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_TRUE(std::ranges::is_sorted(missing));
    EXPECT_EQ(seen.size() + missing.size(), range.high - range.low + 1);
    for (const std::uint64_t n : seen) ASSERT_EQ((n - range.low) % 3, 0);
    for (const std::uint64_t n : missing) ASSERT_NE((n - range.low) % 3, 0);
  }
}

TEST(Bitmap, RankAndSelectAreEachOthersInverse) {
  const Range range{100, 100 + 700};
  Set<Bitmap> map({.range = range});
  std::mt19937_64 random(2);
  Members truth;
  for (int i = 0; i < 200; ++i) truth.insert(range.low + random() % 701);
  for (const std::uint64_t n : truth) map.add(n);
  for (std::uint64_t n = 0; n < 1'000; ++n)
    ASSERT_EQ(map.kind().rank({n}), std::distance(truth.begin(), truth.lower_bound(n))) << n;
  std::uint64_t smaller = 0;
  for (const std::uint64_t n : truth) {
    ASSERT_EQ(map.kind().select(smaller), Ordinal{n});
    ASSERT_EQ(map.kind().rank({n}), smaller);
    ++smaller;
  }
  EXPECT_FALSE(map.kind().select(truth.size()));
  EXPECT_FALSE(Set<Bitmap>({.range = range}).kind().select(0));
}

TEST(Bitmap, CombinesAsSetsDo) {
  const Want want{.range = {50, 50 + 300}};
  Members a;
  Members b;
  for (std::uint64_t n = 50; n <= 350; ++n) {
    if (n % 2 == 0) a.insert(n);
    if (n % 3 == 0) b.insert(n);
  }
  const auto made = [&](const Members& members) {
    Set<Bitmap> map(want);
    for (const std::uint64_t n : members) map.add(n);
    return map;
  };
  const auto expect = [](const Set<Bitmap>& map, auto combine, const Members& a, const Members& b) {
    Members truth;
    combine(a.begin(), a.end(), b.begin(), b.end(), std::inserter(truth, truth.end()));
    EXPECT_EQ(members_of(map), truth);
    EXPECT_EQ(map.count(), truth.size());
    EXPECT_EQ(map.adds(), truth.size());
  };
  const auto other = made(b);
  auto united = made(a);
  united.unite(other);
  expect(
      united, [](auto... x) { std::set_union(x...); }, a, b);
  auto common = made(a);
  common.intersect(other);
  expect(
      common, [](auto... x) { std::set_intersection(x...); }, a, b);
  auto difference = made(a);
  difference.subtract(other);
  expect(
      difference, [](auto... x) { std::set_difference(x...); }, a, b);
  auto exclusive = made(a);
  exclusive.exclusive(other);
  expect(
      exclusive, [](auto... x) { std::set_symmetric_difference(x...); }, a, b);
}

TEST(Bitmap, FullHoldsItsRangeAndNotOneMore) {
  for (const Range range : odd_ranges()) {
    Set<Bitmap> map({.range = range});
    map.fill();
    EXPECT_EQ(map.count(), range.high - range.low + 1);
    std::uint64_t missing = 0;
    map.kind().for_each_missing([&](std::uint64_t) { ++missing; });
    EXPECT_EQ(missing, 0);
    EXPECT_TRUE(map.kind().check_bits());
  }
}

TEST(Bitmap, IntegersOutsideTheRangeAreAbsentAndCanNotBeAdded) {
  Set<Bitmap> map({.range = {10, 20}});
  map.fill();
  for (const std::int64_t n : {std::int64_t{9}, std::int64_t{21}, std::int64_t{-1}, std::int64_t{0},
                               std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_FALSE(map.contains(n)) << n;
    EXPECT_FALSE(map.may_contain_shared(n)) << n;
    EXPECT_FALSE(map.remove(n)) << n;
    EXPECT_THROW(map.add(n), std::out_of_range) << n;
    EXPECT_THROW(map.add_shared(n), std::out_of_range) << n;
  }
  EXPECT_THROW(map.add_all(std::vector<int>{12, 21}), std::out_of_range);
  EXPECT_EQ(map.count(), 11);
  EXPECT_TRUE(map.contains(10));
  EXPECT_TRUE(map.contains(20));
}

// Untouched pages of a mapping cost nothing.
TEST(Bitmap, MoreThanTwoToThe32BitsHaveTheirOwnPlaces) {
  constexpr std::uint64_t low = 5;
  Set<Bitmap> map({.range = {low, low + (std::uint64_t{1} << 33)}});
  EXPECT_EQ(map.bytes(), (std::uint64_t{1} << 30) + 8);
  const std::vector<std::uint64_t> far = {low, low + (std::uint64_t{1} << 32),
                                          low + (std::uint64_t{1} << 33)};
  for (const std::uint64_t n : far) EXPECT_TRUE(map.add(n));
  for (const std::uint64_t n : far) {
    EXPECT_TRUE(map.contains(n));
    EXPECT_FALSE(map.contains(n - 1));
    EXPECT_FALSE(map.contains(n + 1));
  }
  EXPECT_TRUE(map.remove(far[1]));
  EXPECT_TRUE(map.contains(far[0]));
  EXPECT_TRUE(map.contains(far[2]));
}

TEST(Bitmap, BitsBeyondTheRangeAreRefused) {
  auto owned = Owned<Bitmap>::make({.range = {0, 99}}).value();
  Part part = owned.part();
  part.memory = Memory::copy_of(part.payload).value();
  part.payload = std::as_const(part.memory).bytes();
  part.memory.bytes()[12] = std::byte{0x10};  // bit 100
  const auto opened = Owned<Bitmap>::from_part(std::move(part));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::damaged);
}

}  // namespace
}  // namespace bloomery::detail
