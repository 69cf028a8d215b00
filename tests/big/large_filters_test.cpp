// Filters that are larger than 32 bits can count, and a hundred million keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t group = 1 << 16;

template <class K>
void add_numbered(Set<K>& set, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t done = 0; done < count; done += keys.size()) {
    keys.resize(std::min(group, count - done));
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = first + done + i;
    set.add_all(keys);
  }
}

template <class K>
std::uint64_t count_members(const Set<K>& set, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> keys;
  const auto answers = std::make_unique<bool[]>(group);
  std::uint64_t members = 0;
  for (std::uint64_t done = 0; done < count; done += keys.size()) {
    keys.resize(std::min(group, count - done));
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = first + done + i;
    set.may_contain_all(keys, {answers.get(), keys.size()});
    members +=
        static_cast<std::uint64_t>(std::count(answers.get(), answers.get() + keys.size(), true));
  }
  return members;
}

constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;

// 600 MiB: positions above 2^32 must be hit as often as those below.
template <class K>
void expect_evenly_filled_above_32_bits() {
  SCOPED_TRACE(std::string(K::id.name));
  constexpr std::uint64_t memory_bytes = std::uint64_t{600} << 20;
  constexpr std::uint64_t keys = 300 * group;
  auto owned = Owned<K>::make({.rate = 0.01, .memory_bytes = memory_bytes}).value();
  ASSERT_GT(owned.bytes() * 8, std::uint64_t{1} << 32);
  std::vector<Hash> hashes(group);
  for (std::uint64_t done = 0; done < keys; done += group) {
    for (std::size_t i = 0; i < group; ++i) hashes[i] = Hasher()(done + i);
    owned.add_all(hashes, nullptr).value();
  }
  const auto answers = std::make_unique<bool[]>(group);
  for (std::uint64_t done = 0; done < keys; done += group) {
    for (std::size_t i = 0; i < group; ++i) hashes[i] = Hasher()(done + i);
    owned.may_contain_all(hashes, answers.get());
    ASSERT_TRUE(std::all_of(answers.get(), answers.get() + group, [](bool yes) { return yes; }));
  }
  // Sixteen equal pieces hold nearly equal numbers of ones; the last lies above 2^32 bits.
  const Part part = owned.part();
  const ConstWords words(reinterpret_cast<const std::uint64_t*>(part.payload.data()),
                         part.payload.size() / 8);
  const std::size_t piece = words.size() / 16;
  const double mean = static_cast<double>(count_ones(words)) / 16;
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(static_cast<double>(count_ones(words.subspan(i * piece, piece))) / mean, 1, 0.005)
        << "piece " << i;
  EXPECT_NEAR(owned.estimate() / static_cast<double>(keys), 1, 0.002);
}

TEST(BigFilters, TheTopOfSixHundredMegabytesIsUsedAndNoKeyIsLost) {
  expect_evenly_filled_above_32_bits<ClassicBloom>();
  expect_evenly_filled_above_32_bits<BlockedBloom>();
  expect_evenly_filled_above_32_bits<SplitBlock>();
}

TEST(BigFilters, AHundredMillionKeysPassStrangersAtTheRateThatWasAsked) {
  constexpr std::uint64_t keys = 100'000'000;
  for (const double rate : {0.05, 0.01, 0.001}) {
    SCOPED_TRACE(rate);
    Set<BlockedBloom> set({.keys = keys, .rate = rate});
    add_numbered(set, 0, keys);
    EXPECT_EQ(count_members(set, keys - 1'000'000, 1'000'000), 1'000'000);
    constexpr std::uint64_t strangers = 20'000'000;
    const std::uint64_t passed = count_members(set, first_stranger, strangers);
    const double measured = static_cast<double>(passed) / strangers;
    EXPECT_LE(measured, rate * 1.02);
    EXPECT_GE(measured, rate * 0.98);
    EXPECT_TRUE(is_likely(passed, strangers, set.rate_now()))
        << passed << " of " << strangers << " at " << set.rate_now();
    EXPECT_NEAR(set.estimate() / static_cast<double>(keys), 1, 0.001);
  }
}

TEST(BigFilters, AChainThatGrowsToTenMillionKeysStaysBelowItsRate) {
  constexpr std::uint64_t keys = 10'000'000;
  Set<BloomChain> set({.rate = 0.01});
  add_numbered(set, 0, keys);
  EXPECT_LE(set.rate_now(), 0.01);
  EXPECT_EQ(count_members(set, 0, keys), keys);
  const std::uint64_t passed = count_members(set, first_stranger, 1'000'000);
  EXPECT_LE(passed, 10'500);
}

TEST(BigFilters, AnExactSetOfTenMillionKeysIsExact) {
  constexpr std::uint64_t keys = 10'000'000;
  Set<HashSet> set({});
  add_numbered(set, 0, keys);
  EXPECT_EQ(set.count(), keys);
  EXPECT_EQ(count_members(set, 0, keys), keys);
  EXPECT_EQ(count_members(set, keys, keys), 0);
  EXPECT_LE(set.bytes(), keys * 24);
}

}  // namespace
}  // namespace bloomery::detail
