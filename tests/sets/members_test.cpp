// Going through the members of exact sets: iterators, and walks that stop early.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ranges>
#include <set>
#include <stdexcept>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace bloomery {
namespace {

using Integers = std::vector<std::uint64_t>;

static_assert(std::ranges::forward_range<const Set<Bitmap>>);
static_assert(std::ranges::forward_range<const Set<TwoBitMap>>);

// Ranges whose last word is full, has one member, lacks one; one integer; the top of 64 bits.
std::vector<Range> odd_ranges() {
  constexpr auto top = std::numeric_limits<std::uint64_t>::max();
  return {{0, 63}, {0, 64}, {1, 63}, {7, 7}, {1'000, 1'190}, {top - 130, top}, {top, top}};
}

template <class Map>
Integers walked(const Map& map) {
  Integers all;
  map.for_each([&](std::uint64_t n) { all.push_back(n); });
  return all;
}

template <class K>
void iterate_like_for_each() {
  for (const Range range : odd_ranges())
    for (const std::uint64_t step : {1, 3, 64, 100'000}) {
      Set<K> map({.range = range});
      for (std::uint64_t n = range.low;; n += step) {
        map.add(n);
        if (n % 2 == 0) map.add(n);
        if (range.high - n < step) break;
      }
      EXPECT_TRUE(std::ranges::equal(map, walked(map))) << range.low << " " << step;
    }
  const Set<K> none({.range = {5, 500}});
  EXPECT_EQ(none.begin(), none.end());
}

TEST(Members, OfABitmapAreARange) { iterate_like_for_each<Bitmap>(); }
TEST(Members, OfATwoBitMapAreARange) { iterate_like_for_each<TwoBitMap>(); }

TEST(Members, CanBeGoneThroughTwice) {
  Set<Bitmap> map({.range = {100, 1'000}});
  for (const int n : {100, 163, 164, 999}) map.add(n);
  auto at = map.begin();
  const auto first = at++;
  EXPECT_EQ(*first, 100);
  EXPECT_EQ(*at, 163);
  EXPECT_EQ(std::ranges::distance(first, map.end()), 4);
  EXPECT_EQ(std::ranges::distance(at, map.end()), 3);
  EXPECT_EQ(*std::ranges::max_element(map), 999);
}

TEST(Members, AWalkEndsWhenItsFunctionReturnsFalse) {
  Set<Bitmap> map({.range = {0, 999}});
  Set<TwoBitMap> twice({.range = {0, 999}});
  for (int n = 0; n < 1'000; n += 2) {
    map.add(n);
    twice.add(n);
    twice.add(n);
    twice.add(n + 1);
  }
  Integers seen;
  const auto first_three = [&](std::uint64_t n) {
    seen.push_back(n);
    return seen.size() < 3;
  };
  map.for_each(first_three);
  EXPECT_EQ(std::exchange(seen, {}), (Integers{0, 2, 4}));
  map.kind().for_each_missing(first_three);
  EXPECT_EQ(std::exchange(seen, {}), (Integers{1, 3, 5}));
  twice.for_each(first_three);
  EXPECT_EQ(std::exchange(seen, {}), (Integers{0, 1, 2}));
  twice.kind().for_each_once(first_three);
  EXPECT_EQ(std::exchange(seen, {}), (Integers{1, 3, 5}));
  twice.kind().for_each_many(first_three);
  EXPECT_EQ(std::exchange(seen, {}), (Integers{0, 2, 4}));

  Set<HashSet> names(Want{});
  for (int n = 0; n < 100; ++n) names.add(n);
  int visits = 0;
  names.for_each([&](WideHash) { return ++visits < 7; });
  EXPECT_EQ(visits, 7);
}

TEST(Members, OfABitmapAreCopiedFromAnywhereAsManyAsFit) {
  for (const Range range : odd_ranges())
    for (const std::uint64_t step : {1, 3, 64}) {
      Set<Bitmap> map({.range = range});
      for (std::uint64_t n = range.low;; n += step) {
        map.add(n);
        if (range.high - n < step) break;
      }
      const Integers all = walked(map);
      Integers copied(all.size() + 10);
      ASSERT_EQ(map.copy_members(copied), all.size());
      EXPECT_TRUE(std::equal(all.begin(), all.end(), copied.begin()));
      // In pieces, each from behind the last.
      Integers pieces;
      Integers piece(7);
      for (std::uint64_t from = 0;;) {
        const std::size_t n = map.copy_members(piece, from);
        pieces.insert(pieces.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
        if (n < piece.size() || piece[n - 1] == range.high) break;
        from = piece[n - 1] + 1;
      }
      EXPECT_EQ(pieces, all) << range.low << " " << step;
    }
}

TEST(Members, OfABitmapAreCopiedAsThirtyTwoBitsIfTheirRangeFits) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint32_t>::max();
  Set<Bitmap> map({.range = {top - 9'999, top}});
  map.fill();
  std::vector<std::uint32_t> copied(10'001);
  ASSERT_EQ(map.copy_members(copied), 10'000U);
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(copied[i], top - 9'999 + i);
  EXPECT_EQ(map.copy_members(copied, top), 1U);
  EXPECT_EQ(map.copy_members(copied, top + 1), 0U);
  const Set<Bitmap> wide({.range = {0, top + 1}});
  EXPECT_THROW(wide.copy_members(copied), std::out_of_range);
  EXPECT_EQ(Set<Bitmap>({.range = {3, 70}}).copy_members(copied), 0U);
}

}  // namespace
}  // namespace bloomery
