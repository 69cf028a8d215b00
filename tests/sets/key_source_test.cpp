// In bulk a key has the same hash as by itself, whatever its type and the hasher.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

const Hasher hashers[] = {Hasher(), Hasher(0x1234'5678'9abc'def0), Hasher::hardened({1, 2})};

template <class T>
std::vector<T> some() {
  std::vector<T> keys{0, 1, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  for (int i = 0; i < 200; ++i) keys.push_back(static_cast<T>(i * 2'654'435'761U));
  if constexpr (std::is_signed_v<T>) keys.push_back(T{-5});
  return keys;
}

template <class Source, class T>
void expect_hashed_alike(const Source& source, const std::vector<T>& keys, const Hasher& hasher) {
  ASSERT_EQ(source.size(), keys.size());
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}}) {
    std::vector<Hash> hashes(keys.size() - first);
    source.make(first, hashes.size(), hashes.data());
    for (std::size_t i = 0; i < hashes.size(); ++i)
      ASSERT_EQ(hashes[i], hasher(keys[first + i])) << i;
  }
}

template <class T>
class IntegerSource : public testing::Test {};
using IntegerTypes =
    testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::int32_t, std::uint32_t,
                   std::int64_t, std::uint64_t, long long, unsigned long long>;
TYPED_TEST_SUITE(IntegerSource, IntegerTypes);

TYPED_TEST(IntegerSource, HashesLikeTheHasher) {
  const auto keys = some<TypeParam>();
  for (const Hasher& hasher : hashers)
    expect_hashed_alike(Integers<TypeParam>(keys, hasher), keys, hasher);
}

TYPED_TEST(IntegerSource, WhatIsAddedInBulkIsFoundOneByOne) {
  const auto keys = some<TypeParam>();
  for (const Hasher& hasher : hashers) {
    Set<BlockedBloom> set({.keys = 1'000, .rate = 1e-6}, hasher);
    set.add_all(keys);
    for (const TypeParam key : keys) ASSERT_TRUE(set.may_contain(key));
  }
}

TEST(TextSource, HashesLikeTheHasher) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 300; ++i) keys.push_back(std::string(i, 'x') + std::to_string(i));
  for (const Hasher& hasher : hashers)
    expect_hashed_alike(Texts<std::string, Hash>(keys, hasher), keys, hasher);
}

TEST(OrdinalSource, KeysOutsideTheRangeHaveNoPlace) {
  const std::vector<std::int64_t> keys{-1, 10, 11, 20, 21, 9, std::numeric_limits<int>::min()};
  const Ordinals<std::int64_t> source(keys, 10, 20);
  EXPECT_EQ(source.have_place(0, keys.size()), 0b1110U);
  std::vector<Ordinal> made(keys.size());
  source.make(0, made.size(), made.data());
  for (const Ordinal ordinal : made) EXPECT_TRUE(ordinal.value >= 10 && ordinal.value <= 20);
  EXPECT_EQ(made[2], Ordinal{11});
}

// One key outside at every place of a block and of the rest; ranges at both ends of 64 bits.
template <class T>
void finds_the_one_outside(std::uint64_t low, std::uint64_t high, std::vector<T> strangers) {
  for (const std::size_t n : {1, 31, 32, 33, 70}) {
    std::vector<T> keys(n, static_cast<T>(low));
    keys.back() = static_cast<T>(high);
    EXPECT_TRUE(all_between(std::span<const T>(keys), low, high));
    for (std::size_t i = 0; i < n; ++i)
      for (const T stranger : strangers) {
        const T before = std::exchange(keys[i], stranger);
        EXPECT_FALSE(all_between(std::span<const T>(keys), low, high)) << i << " " << stranger;
        keys[i] = before;
      }
  }
  EXPECT_TRUE(all_between(std::span<const T>(), low, high));
}

TEST(OrdinalSource, SeesASingleKeyOutside) {
  constexpr auto top = std::numeric_limits<std::uint64_t>::max();
  constexpr auto half = std::uint64_t{1} << 63;
  finds_the_one_outside<std::uint64_t>(10, 20, {0, 9, 21, half - 1, half, half + 15, top});
  finds_the_one_outside<std::uint64_t>(0, 0, {1, half, top});
  finds_the_one_outside<std::uint64_t>(top - 5, top, {0, 1, half - 1, half, top - 6});
  finds_the_one_outside<std::uint64_t>(half - 3, half + 3, {0, half - 4, half + 4, top});
  finds_the_one_outside<std::int64_t>(0, 99, {-1, 100, INT64_MIN, INT64_MAX});
  finds_the_one_outside<std::int32_t>(7, 99, {-1, 6, 100, INT32_MIN, INT32_MAX});
  // A negative key is not the unsigned number with its bits.
  const std::vector<std::int64_t> negative(40, -1);
  EXPECT_FALSE(all_between(std::span<const std::int64_t>(negative), top - 5, top));
}

TEST(SetInBulk, RefusesTooLittleRoomForAnswers) {
  Set<BlockedBloom> set({.keys = 1'000, .rate = 0.01});
  const std::vector<std::uint64_t> keys(100, 7);
  bool bools[99];
  std::uint64_t mask[1];
  EXPECT_THROW(set.add_all(keys, std::span<bool>(bools)), std::invalid_argument);
  EXPECT_THROW(set.add_all(keys, std::span<std::uint64_t>(mask)), std::invalid_argument);
  EXPECT_EQ(set.adds(), 0U);
  EXPECT_THROW(set.may_contain_all(keys, std::span<bool>(bools)), std::invalid_argument);
  EXPECT_THROW(set.may_contain_all(keys, std::span<std::uint64_t>(mask)), std::invalid_argument);
  EXPECT_THROW(set.may_contain_all(keys, std::span<std::uint64_t>()), std::invalid_argument);
  EXPECT_EQ(set.add_all(keys, std::span<std::uint64_t>()), 1U);
}

// Larger than the caches.
TEST(SetInBulk, LargeSetsCountAndKeepTheSameKeys) {
  const std::size_t n = 2'300'000;
  std::vector<std::uint64_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i / 2 * 0x9e37'79b9 % (std::uint64_t{1} << 30);
  const Want want{.keys = 109'000'000, .rate = 0.01};
  Set<BlockedBloom> one(want);
  Set<BlockedBloom> bulk(want);
  std::size_t fresh = 0;
  for (const std::uint64_t key : keys) fresh += one.add(key);
  EXPECT_EQ(bulk.add_all(keys), fresh);
  EXPECT_EQ(bulk.adds(), fresh);
  EXPECT_EQ(bulk.count_may_contain(keys), n);
  EXPECT_EQ(bulk.fill_ratio(), one.fill_ratio());
  one.unite(bulk);
  EXPECT_EQ(bulk.fill_ratio(), one.fill_ratio()) << "not the same bits";
}

}  // namespace
}  // namespace bloomery::detail
