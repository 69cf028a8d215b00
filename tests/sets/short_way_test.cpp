// The short way of single keys (key_gate.hpp) against bulk, which does not take it: same
// bytes, same answers, same notes, for every shape and every hash. Compiled for any CPU, in
// v3_tests for AVX2, and in native_tests for this CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

using Blocked = Set<BlockedBloom>;

// One line with one round of probes, with two, and two lines.
constexpr double rates[] = {0.3, 0.01, 1e-3, 2e-4, 1e-6};

std::vector<Hasher> hashers() {
  return {Hasher{}, Hasher{77}, Hasher::hardened({.low = 3, .high = 4})};
}

template <class K, class Key>
void expect_kind_like_bulk(const std::vector<Key>& keys, const std::vector<Key>& strangers) {
  for (const double rate : rates)
    for (const Hasher& hasher : hashers()) {
      Set<K> single({.keys = keys.size(), .rate = rate}, hasher);
      Set<K> bulk({.keys = keys.size(), .rate = rate}, hasher);
      std::size_t fresh = 0;
      for (const Key& key : keys) fresh += single.add(key);
      EXPECT_EQ(bulk.add_all(keys), fresh) << rate;
      EXPECT_EQ(single.adds(), fresh);
      EXPECT_TRUE(std::ranges::equal(single.kind().bytes_lent(), bulk.kind().bytes_lent())) << rate;
      EXPECT_EQ(single.rules(), bulk.rules());
      for (const Key& key : keys) ASSERT_TRUE(bulk.may_contain(key)) << rate;
      std::size_t passed = 0;
      for (const Key& stranger : strangers) passed += bulk.may_contain(stranger);
      EXPECT_EQ(single.count_may_contain(strangers), passed) << rate;
    }
}

template <class Key>
void expect_like_bulk(const std::vector<Key>& keys, const std::vector<Key>& strangers) {
  expect_kind_like_bulk<BlockedBloom>(keys, strangers);
  expect_kind_like_bulk<SplitBlock>(keys, strangers);
}

TEST(ShortWay, IntegersGoWhereBulkPutsThem) {
  std::mt19937_64 random(31);
  std::vector<std::uint64_t> keys(3'000);
  std::vector<std::uint64_t> strangers(3'000);
  std::ranges::generate(keys, random);
  std::ranges::generate(strangers, random);
  expect_like_bulk(keys, strangers);
}

TEST(ShortWay, TextsGoWhereBulkPutsThem) {
  std::vector<std::string> keys;
  std::vector<std::string> strangers;
  for (std::size_t i = 0; i < 1'500; ++i) {
    keys.emplace_back(i % 300, 'a').append(std::to_string(i));
    strangers.emplace_back(i % 300, 'b').append(std::to_string(i));
  }
  expect_like_bulk(keys, strangers);
}

TEST(ShortWay, HashesGoWhereBulkPutsThem) {
  std::mt19937_64 random(32);
  std::vector<Hash> keys(3'000);
  std::vector<Hash> strangers(3'000);
  for (Hash& key : keys) key.bits = random();
  for (Hash& stranger : strangers) stranger.bits = random();
  expect_like_bulk(keys, strangers);
}

// Once the gate is open for one form, another form must still be noted, or refused.
TEST(ShortWay, EveryFormIsNoted) {
  Blocked set({.keys = 100, .rate = 0.01});
  set.add(1);
  set.add(2);
  EXPECT_EQ(set.rules().form, KeyForm::u64);
  EXPECT_THROW(set.add("three"), Failure);
  EXPECT_THROW((void)set.may_contain("three"), Failure);
  EXPECT_EQ(set.rules().form, KeyForm::u64);
  set.add(set.hasher()("three"));
  EXPECT_EQ(set.rules().form, KeyForm::mixed);
  set.add(4);
  EXPECT_EQ(set.rules().form, KeyForm::mixed);
  EXPECT_TRUE(set.may_contain("three") && set.may_contain(4));

  Blocked more({.keys = 100, .rate = 0.01});
  more.add(Hash{5});
  more.add(Hash{6});
  EXPECT_EQ(more.rules().form, KeyForm::hash);
  ASSERT_FALSE(more.try_unite(set));
  EXPECT_EQ(more.rules().form, KeyForm::hash);
  EXPECT_TRUE(more.may_contain(Hash{5}) && more.may_contain(Hash{6}));
}

}  // namespace
}  // namespace bloomery::detail
