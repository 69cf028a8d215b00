// Going through the members of exact sets: iterators, and walks that stop early.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ranges>
#include <set>
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

}  // namespace
}  // namespace bloomery
