// The set of whole 64-bit hashes: exactness, growth, bytes a key, memory cap, saved order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

#include <bloomery/detail/sets/kinds/compact.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

std::vector<Hash> hashes_from(std::uint64_t first, std::uint64_t count) {
  std::vector<Hash> hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) hashes[i] = Hasher()(first + i);
  return hashes;
}

Compact set_of(const std::vector<Hash>& hashes) {
  auto set = Compact::make({}).value();
  set.add_all(hashes, nullptr).value();
  return set;
}

std::vector<std::byte> payload_of(const Compact& set) {
  const Parts parts = set.parts().value();
  const auto payload = parts.parts[0].payload;
  return {payload.begin(), payload.end()};
}

TEST(Compact, DrivenAtRandomAgreesWithStdUnorderedSet) {
  for (const std::uint64_t guess : {0, 1, 1'000, 1'000'000}) {
    Set<Compact> set({.keys = guess});
    std::unordered_set<std::uint64_t> truth;
    std::mt19937_64 random(4);
    for (int i = 0; i < 60'000; ++i) {
      const std::uint64_t key = random() % 40'000;
      ASSERT_EQ(set.add(key), truth.insert(key).second) << key;
      const std::uint64_t asked = random() % 80'000;
      ASSERT_EQ(set.may_contain(asked), truth.contains(asked)) << asked;
    }
    EXPECT_EQ(set.adds(), truth.size());
    EXPECT_EQ(set.estimate(), truth.size());
    EXPECT_EQ(set.rate_now(), std::ldexp(static_cast<double>(truth.size()), -64));
    EXPECT_FALSE(set.overfull());
  }
}

// The promise of dedup's default: no plan, at most 12 bytes a key at any moment, 9.5 in the mean.
// The mean over the logarithm of n, from 1M to 4M: more than two steps of growing.
TEST(Compact, TakesNinePointFiveBytesAKeyInTheMeanWithoutAPlan) {
  auto set = Compact::make({}).value();
  double sum = 0;
  int points = 0;
  double next = 1e6;
  for (std::uint64_t n = 0; n < 4'000'000; ++n) {
    ASSERT_EQ(set.add(Hasher()(n)), Added::fresh) << n;
    const double bytes_a_key = static_cast<double>(set.bytes()) / static_cast<double>(n + 1);
    if (n >= 1'000'000) {
      ASSERT_LE(bytes_a_key, 12) << n;
    }
    if (static_cast<double>(n + 1) < next) continue;
    next *= 1.01;
    sum += bytes_a_key;
    ++points;
  }
  EXPECT_LE(sum / points, 9.5);
  EXPECT_GT(points, 100);
}

TEST(Compact, SavedBytesDoNotDependOnTheOrderOfAdding) {
  auto hashes = hashes_from(0, 5'000);
  const auto rising = payload_of(set_of(hashes));
  std::mt19937_64 random(5);
  for (const std::uint64_t keys : {0, 9'999, 1'000'000}) {
    std::ranges::shuffle(hashes, random);
    auto shuffled = Compact::make({.keys = keys}).value();
    ASSERT_TRUE(shuffled.add_all(hashes, nullptr));
    EXPECT_EQ(payload_of(shuffled), rising);
  }
  std::ranges::sort(hashes);
  ASSERT_EQ(rising.size(), hashes.size() * 8);
  EXPECT_EQ(std::memcmp(rising.data(), hashes.data(), rising.size()), 0);
}

TEST(Compact, OpensWhatItSavedAtAnySize) {
  for (const std::uint64_t count : {0U, 1U, 100U, 300'000U, 700'000U}) {
    const auto hashes = hashes_from(0, count);
    auto opened = Compact::from_parts(set_of(hashes).parts().value());
    ASSERT_TRUE(opened) << opened.error().sentence;
    EXPECT_EQ(opened->count(), count);
    for (const Hash hash : hashes) ASSERT_TRUE(opened->may_contain(hash));
    EXPECT_EQ(opened->add(Hasher()(count)), Added::fresh);
  }
}

TEST(Compact, HashesOutOfOrderAreRefused) {
  const auto set = set_of(hashes_from(0, 10));
  for (const bool doubled : {false, true}) {
    Parts parts = set.parts().value();
    auto* hashes = reinterpret_cast<Hash*>(parts.parts[0].memory.bytes().data());
    if (doubled)
      hashes[4] = hashes[5];
    else
      std::swap(hashes[4], hashes[5]);
    const auto opened = Compact::from_parts(std::move(parts));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::damaged);
  }
}

// A size in a file is not believed: memory is taken for the hashes that are there.
TEST(Compact, ACapacityFromAFileAllocatesNothing) {
  Parts parts = set_of(hashes_from(0, 10)).parts().value();
  parts.parts[0].capacity = std::uint64_t{1} << 49;
  auto opened = Compact::from_parts(std::move(parts));
  ASSERT_TRUE(opened);
  EXPECT_LT(opened->bytes(), 10'000U);
  EXPECT_EQ(opened->capacity(), std::uint64_t{1} << 49);
}

TEST(Compact, ZeroAndAllOnesAreHashesLikeAnyOther) {
  for (const std::uint64_t keys : {0, 1'000'000}) {
    auto set = Compact::make({.keys = keys}).value();
    for (const Hash hash : {Hash{0}, Hash{1}, Hash{~std::uint64_t{0}}}) {
      EXPECT_FALSE(set.may_contain(hash));
      EXPECT_EQ(set.add(hash), Added::fresh);
      EXPECT_EQ(set.add(hash), Added::seen);
      EXPECT_TRUE(set.may_contain(hash));
    }
    EXPECT_EQ(set.count(), 3U);
  }
}

TEST(Compact, AtItsMemoryCapItIsFullAndLosesNothing) {
  for (const std::uint64_t cap : {1U, 200'000U, 9'000'000U}) {
    Set<Compact> set({.memory_bytes = cap});
    std::uint64_t added = 0;
    while (set.try_add(added) == Added::fresh) ++added;
    ASSERT_EQ(set.try_add(added), Added::full);
    EXPECT_LE(set.bytes(), cap);
    // The last step goes as far as the cap allows: no more than a quarter of it is left.
    if (cap > 1) {
      EXPECT_GT(set.bytes(), cap * 3 / 4);
    }
    EXPECT_EQ(set.adds(), added);
    for (std::uint64_t key = 0; key < added; ++key) ASSERT_TRUE(set.may_contain(key));
    for (std::uint64_t key = 0; key < added; ++key) ASSERT_FALSE(set.add(key));
    EXPECT_THROW(set.add(added), Failure);
    EXPECT_EQ(set.adds(), added);
  }
  EXPECT_EQ(Compact::make({.keys = 1'000'000, .memory_bytes = 1'000'000}).error().code,
            Code::impossible);
}

// Hashes that crowd into one line fill no lines, but the memory.
TEST(Compact, CrowdedHashesKeepTheCapToo) {
  auto set = Compact::make({.memory_bytes = 100'000}).value();
  std::uint64_t added = 0;
  while (set.add({added}) == Added::fresh) ++added;
  EXPECT_EQ(set.add({added}), Added::full);
  EXPECT_EQ(set.add({0}), Added::seen);
  EXPECT_LE(set.bytes(), 100'000U);
  EXPECT_GT(added, 1'000U);
  for (std::uint64_t hash = 0; hash < added; ++hash) ASSERT_TRUE(set.may_contain({hash}));
  set.cap_memory(0);
  EXPECT_EQ(set.add({added}), Added::fresh);
}

TEST(Compact, AnEmptySetIsAskedInBulk) {
  const auto set = Compact::make({}).value();
  const auto hashes = hashes_from(0, 100);
  const auto answers = std::make_unique<bool[]>(100);
  set.may_contain_all(hashes, answers.get());
  EXPECT_EQ(std::count(answers.get(), answers.get() + 100, true), 0);
}

TEST(Compact, ARateThatWholeHashesDoNotReachIsImpossible) {
  EXPECT_TRUE(Compact::plan({.keys = 1'000'000'000, .rate = 1e-10}));
  EXPECT_EQ(Compact::plan({.keys = 1'000'000'000, .rate = 1e-11}).error().code, Code::impossible);
}

TEST(Compact, CombinesAsSetsDo) {
  const auto a = hashes_from(0, 3'000);
  const auto b = hashes_from(2'000, 3'000);
  const auto expect = [&](const Compact& set, std::uint64_t first, std::uint64_t count) {
    EXPECT_EQ(payload_of(set), payload_of(set_of(hashes_from(first, count))));
    std::uint64_t found = 0;
    for (const Hash hash : hashes_from(0, 5'000)) found += set.may_contain(hash);
    EXPECT_EQ(found, count);
  };
  auto united = set_of(a);
  united.unite(set_of(b)).value();
  expect(united, 0, 5'000);
  auto common = set_of(a);
  common.intersect(set_of(b)).value();
  expect(common, 2'000, 1'000);
  auto difference = set_of(a);
  difference.subtract(set_of(b)).value();
  expect(difference, 0, 2'000);
  ASSERT_TRUE(difference.add_all(b, nullptr));
  expect(difference, 0, 5'000);
  auto itself = set_of(a);
  itself.unite(itself).value();
  itself.intersect(itself).value();
  expect(itself, 0, 3'000);
  itself.subtract(itself).value();
  EXPECT_EQ(itself.count(), 0U);
}

TEST(CompactThreads, AddWithoutLosingAKeyAndSayFreshOnce) {
  Set<Compact> set({});
  std::atomic<std::uint64_t> fresh = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::uint64_t key = 0; key < 20'000; ++key) {
        fresh += set.add_shared(key);
        EXPECT_TRUE(set.may_contain_shared(key));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fresh, 20'000U);
  EXPECT_EQ(set.adds(), 20'000U);
}

}  // namespace
}  // namespace bloomery::detail
