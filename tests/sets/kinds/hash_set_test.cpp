// The exact hash set against a std::unordered_set: growth, order, memory cap, the all-zero hash.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <bloomery/detail/sets/kinds/hash_set.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

std::vector<WideHash> wide_hashes(std::uint64_t first, std::uint64_t count) {
  std::vector<WideHash> hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) hashes[i] = Hasher().wide(first + i);
  return hashes;
}

std::vector<std::byte> payload_of(const HashSet& set) {
  const Parts parts = set.parts().value();
  const auto payload = parts.parts[0].payload;
  return {payload.begin(), payload.end()};
}

std::vector<WideHash> members_of(const HashSet& set) {
  std::vector<WideHash> members;
  set.for_each([&](const WideHash& hash) { members.push_back(hash); });
  return members;
}

TEST(HashSet, DrivenAtRandomAgreesWithStdUnorderedSet) {
  for (const std::uint64_t guess : {0, 1, 1'000, 100'000}) {
    Set<HashSet> set({.keys = guess});
    std::unordered_set<std::uint64_t> truth;
    std::mt19937_64 random(4);
    for (int i = 0; i < 60'000; ++i) {
      const std::uint64_t key = random() % 40'000;
      ASSERT_EQ(set.add(key), truth.insert(key).second) << key;
      const std::uint64_t asked = random() % 80'000;
      ASSERT_EQ(set.contains(asked), truth.contains(asked)) << asked;
    }
    EXPECT_EQ(set.count(), truth.size());
    EXPECT_EQ(set.adds(), truth.size());
    EXPECT_EQ(set.estimate(), truth.size());
  }
}

TEST(HashSet, MembersComeInRisingOrderAtEverySizeWhileItGrows) {
  auto set = HashSet::make({}).value();
  const auto hashes = wide_hashes(0, 20'000);
  std::set<WideHash> truth;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    ASSERT_EQ(set.add(hashes[i]), Added::fresh);
    truth.insert(hashes[i]);
    if (i % 977 != 0) continue;
    const auto members = members_of(set);
    ASSERT_TRUE(std::ranges::equal(members, truth)) << "after " << i + 1;
  }
  for (const WideHash hash : hashes) ASSERT_TRUE(set.contains(hash));
  EXPECT_LE(set.bytes(), 20'000 * 26);
}

TEST(HashSet, SavedBytesDoNotDependOnTheOrderOfAdding) {
  auto hashes = wide_hashes(0, 5'000);
  auto rising = HashSet::make({}).value();
  ASSERT_TRUE(rising.add_all(hashes, nullptr));
  std::mt19937_64 random(5);
  for (int round = 0; round < 3; ++round) {
    std::ranges::shuffle(hashes, random);
    auto shuffled = HashSet::make({.keys = round == 0 ? 9'999U : 0U}).value();
    ASSERT_TRUE(shuffled.add_all(hashes, nullptr));
    EXPECT_EQ(payload_of(shuffled), payload_of(rising));
    if (round != 0) {
      EXPECT_EQ(shuffled.bytes(), rising.bytes());
    }
  }
}

// Hashes that agree in their first 64 bits differ in the others; neighbours crowd one home.
TEST(HashSet, CrowdedHomesAndEqualHalvesAreToldApart) {
  auto set = HashSet::make({}).value();
  std::vector<WideHash> crowd;
  for (std::uint64_t i = 0; i < 300; ++i) crowd.push_back({0x1234'5678'0000'0000, i * i + 1});
  for (std::uint64_t i = 0; i < 300; ++i) crowd.push_back({0x1234'5678'0000'0000 + i, 7});
  // The last homes of the last shard, pushed beyond its end.
  for (std::uint64_t i = 0; i < 300; ++i) crowd.push_back({~std::uint64_t{0}, i + 1});
  std::mt19937_64 random(6);
  std::ranges::shuffle(crowd, random);
  std::set<WideHash> truth;
  for (const WideHash hash : crowd)
    ASSERT_EQ(set.add(hash), truth.insert(hash).second ? Added::fresh : Added::seen);
  for (const WideHash hash : crowd) ASSERT_TRUE(set.contains(hash));
  EXPECT_FALSE(set.contains({0x1234'5678'0000'0000, 3}));
  EXPECT_FALSE(set.contains({~std::uint64_t{0}, 0}));
  EXPECT_TRUE(std::ranges::equal(members_of(set), truth));
}

TEST(HashSet, TheAllZeroHashIsAKeyLikeAnyOther) {
  auto set = HashSet::make({}).value();
  EXPECT_FALSE(set.contains({0, 0}));
  EXPECT_EQ(set.add({0, 0}), Added::fresh);
  EXPECT_EQ(set.add({0, 0}), Added::seen);
  EXPECT_TRUE(set.contains({0, 0}));
  EXPECT_TRUE(set.may_contain_shared({0, 0}));
  EXPECT_EQ(set.count(), 1);
  auto opened = HashSet::from_parts(set.parts().value());
  ASSERT_TRUE(opened) << opened.error().sentence;
  EXPECT_TRUE(opened->contains({0, 0}));
}

TEST(HashSet, AtItsMemoryCapItIsFullAndLosesNothing) {
  constexpr std::uint64_t cap = 200'000;
  Set<HashSet> set({.memory_bytes = cap});
  std::uint64_t added = 0;
  for (; added < cap; ++added) {
    const Added answer = set.try_add(added);
    if (answer == Added::full) break;
    ASSERT_EQ(answer, Added::fresh);
  }
  ASSERT_LT(added, cap / 16) << "more keys than bytes for them";
  EXPECT_GT(added, 2'000);
  EXPECT_LE(set.bytes(), cap);
  EXPECT_EQ(set.count(), added);
  for (std::uint64_t key = 0; key < added; ++key) ASSERT_TRUE(set.contains(key));
  EXPECT_FALSE(set.contains(added));
  // What is there is still seen; what is not there is refused, loudly.
  EXPECT_FALSE(set.add(std::uint64_t{0}));
  EXPECT_THROW(set.add(added), Failure);
  try {
    set.add_all(std::vector<std::uint64_t>{0, added});
    ADD_FAILURE() << "a full set took a key";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Code::full);
  }
  EXPECT_EQ(set.count(), added);
  Set<HashSet> other({});
  other.add(added);
  const auto united = set.try_unite(other);
  ASSERT_FALSE(united);
  EXPECT_EQ(united.error().code, Code::full);
}

TEST(HashSet, CombinesAsSetsDo) {
  const auto a = wide_hashes(0, 3'000);
  const auto b = wide_hashes(2'000, 3'000);
  const auto made = [](const std::vector<WideHash>& hashes) {
    auto set = HashSet::make({}).value();
    set.add_all(hashes, nullptr).value();
    return set;
  };
  const auto expect = [&](const HashSet& set, std::uint64_t first, std::uint64_t count) {
    EXPECT_EQ(payload_of(set), payload_of(made(wide_hashes(first, count))));
    EXPECT_EQ(set.count(), count);
    for (const WideHash hash : wide_hashes(first, count)) ASSERT_TRUE(set.contains(hash));
    std::uint64_t found = 0;
    for (const WideHash hash : wide_hashes(0, 5'000)) found += set.contains(hash);
    EXPECT_EQ(found, count);
  };
  auto united = made(a);
  united.unite(made(b)).value();
  expect(united, 0, 5'000);
  auto common = made(a);
  common.intersect(made(b)).value();
  expect(common, 2'000, 1'000);
  auto difference = made(a);
  difference.subtract(made(b)).value();
  expect(difference, 0, 2'000);
  // Room that was freed is used again.
  ASSERT_TRUE(difference.add_all(b, nullptr));
  expect(difference, 0, 5'000);
}

TEST(HashSet, EntriesOutOfOrderAreRefused) {
  auto set = HashSet::make({}).value();
  ASSERT_TRUE(set.add_all(wide_hashes(0, 10), nullptr));
  for (const bool doubled : {false, true}) {
    Parts parts = set.parts().value();
    auto* entries = reinterpret_cast<WideHash*>(parts.parts[0].memory.bytes().data());
    if (doubled)
      entries[4] = entries[5];
    else
      std::swap(entries[4], entries[5]);
    const auto opened = HashSet::from_parts(std::move(parts));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::damaged);
  }
}

TEST(HashSet, ACallerOfAddAllHearsWhichKeysWereNew) {
  auto set = HashSet::make({}).value();
  const auto hashes = wide_hashes(0, 100);
  set.add_all(std::span(hashes).first(50), nullptr).value();
  const auto fresh = std::make_unique<bool[]>(100);
  EXPECT_EQ(set.add_all(hashes, fresh.get()).value(), 50);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(fresh[i], i >= 50) << i;
}

}  // namespace
}  // namespace bloomery::detail
