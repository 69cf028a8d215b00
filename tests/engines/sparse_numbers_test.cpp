#include <gtest/gtest.h>
#include <malloc.h>

#include <cstddef>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOOMERY_TEST_SANITIZED_HEAP 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BLOOMERY_TEST_SANITIZED_HEAP 1
#endif
#ifdef BLOOMERY_TEST_SANITIZED_HEAP
// Of sanitizer/allocator_interface.h, which GCC does not install everywhere.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <bloomery/engines/integers/sparse_numbers.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t plenty = std::uint64_t{1} << 30;

std::vector<std::uint64_t> all_of(const SparseNumbers& numbers) {
  std::vector<std::uint64_t> found;
  SparseNumbers::Walk walk(numbers);
  for (auto block = walk.next(); !block.empty(); block = walk.next())
    found.insert(found.end(), block.begin(), block.end());
  return found;
}

// Dense runs, single numbers far apart, the ends of 64 bits, and neighbours of word borders.
std::uint64_t some_number(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0: return random();
    case 1: return random() % 5000;
    case 2: return (random() % 3 << 32) + random() % 100'000;
    case 3: return largest - random() % 3;
    case 4: return (random() % 1000 << 32) - 2 + random() % 4;
    default: return (std::uint64_t{7} << 40) + random() % (1 << 20);
  }
}

TEST(SparseNumbers, EmptySetHasNothing) {
  SparseNumbers numbers(plenty);
  EXPECT_TRUE(numbers.settle());
  EXPECT_EQ(numbers.count(), 0u);
  EXPECT_TRUE(all_of(numbers).empty());
}

TEST(SparseNumbers, AgreesWithASetAndTellsEveryRepeat) {
  for (const std::uint64_t most_bytes : {std::uint64_t{1}, std::uint64_t{1} << 18, plenty}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      std::mt19937_64 random(seed);
      SparseNumbers numbers(most_bytes);
      std::map<std::uint64_t, std::uint64_t> model;
      std::map<std::uint64_t, std::uint64_t> repeats;
      const auto repeated = [&](std::uint64_t number) { ++repeats[number]; };
      for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t number = some_number(random);
        ++model[number];
        ASSERT_TRUE(!numbers.add(number) || numbers.settle(repeated));
      }
      ASSERT_TRUE(numbers.settle(repeated));
      ASSERT_EQ(numbers.count(), model.size());
      const auto found = all_of(numbers);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), model.begin(), model.end(),
                             [](std::uint64_t a, const auto& b) { return a == b.first; }));
      for (const auto& [number, times] : model) {
        const auto told = repeats.find(number);
        ASSERT_EQ(told == repeats.end() ? 0 : told->second, times - 1)
            << number << " seed " << seed;
      }
    }
  }
}

TEST(SparseNumbers, HalvesByTheMiddleUntilOneIsLeft) {
  for (const std::uint64_t seed : {4, 5, 6}) {
    std::mt19937_64 random(seed);
    SparseNumbers numbers(plenty);
    std::set<std::uint64_t> model;
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t number = some_number(random);
      model.insert(number);
      ASSERT_TRUE(!numbers.add(number) || numbers.settle());
    }
    ASSERT_TRUE(numbers.settle());
    while (numbers.count() > 1) {
      const std::uint64_t middle = numbers.middle();
      ASSERT_GT(middle, *model.begin()) << seed;
      ASSERT_LE(middle, *model.rbegin()) << seed;
      model.erase(model.lower_bound(middle), model.end());
      numbers.drop_from(middle);
      ASSERT_EQ(numbers.count(), model.size());
      const auto found = all_of(numbers);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), model.begin(), model.end()));
    }
    numbers.drop_from(0);
    EXPECT_EQ(numbers.count(), 0u);
  }
}

// A sanitizer has a heap of its own, which mallinfo2 does not know.
double heap_bytes() {
#ifdef BLOOMERY_TEST_SANITIZED_HEAP
  return static_cast<double>(__sanitizer_get_current_allocated_bytes());
#else
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd);
#endif
}

// What bytes() says against what the heap says.
TEST(SparseNumbers, BytesAreAboutThoseOfTheHeap) {
  const auto spread = [](std::uint64_t range) {
    return [range](std::mt19937_64& random) { return random() % range; };
  };
  const std::vector<std::function<std::uint64_t(std::mt19937_64&)>> sources = {
      spread(largest), spread(std::uint64_t{1} << 32), spread(std::uint64_t{1} << 24),
      spread(std::uint64_t{1} << 36), some_number};
  for (std::size_t source = 0; source < sources.size(); ++source) {
    std::mt19937_64 random(7);
    const double before = heap_bytes();
    SparseNumbers numbers(plenty);
    for (int i = 0; i < 2'000'000; ++i)
      ASSERT_TRUE(!numbers.add(sources[source](random)) || numbers.settle());
    ASSERT_TRUE(numbers.settle());
    const double real = heap_bytes() - before;
    const auto told = static_cast<double>(numbers.bytes());
    EXPECT_GT(told, 0.9 * real) << "source " << source;
    EXPECT_LT(told, 1.4 * real) << "source " << source;
  }
}

TEST(SparseNumbers, NumbersFarApartTakeLittleMoreThanEightBytes) {
  std::mt19937_64 random(8);
  SparseNumbers numbers(plenty);
  for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(!numbers.add(random()) || numbers.settle());
  ASSERT_TRUE(numbers.settle());
  EXPECT_LT(numbers.bytes(), 16'000'000u);
}

TEST(SparseNumbers, NeighboursTakeAFewBits) {
  SparseNumbers numbers(plenty);
  for (std::uint64_t i = 0; i < 10'000'000; ++i)
    ASSERT_TRUE(!numbers.add((std::uint64_t{5} << 50) + i) || numbers.settle());
  ASSERT_TRUE(numbers.settle());
  EXPECT_EQ(numbers.count(), 10'000'000u);
  EXPECT_LT(numbers.bytes(), 4'000'000u);
}

}  // namespace
}  // namespace bloomery::detail
