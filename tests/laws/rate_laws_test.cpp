// The false-positive rate is the one that was asked for, and the one that a set reads off its bits.
//
// Fixed seeds, so a run is deterministic. Two tiers: no single seed beyond five spreads (with few
// hits: beyond the exact binomial line of the same chance), and of twenty seeds few beyond two.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

// Strangers begin far above all members.
constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;

template <class K>
constexpr bool is_chain = std::same_as<K, BloomChain>;

template <class K>
void add_numbered(Set<K>& set, std::uint64_t count) {
  constexpr std::uint64_t group = 1 << 16;
  for (std::uint64_t done = 0; done < count; done += group)
    set.add_all(numbered_keys<K>({}, done, std::min(group, count - done)));
}

template <class K>
std::uint64_t strangers_passing(const Set<K>& set, std::uint64_t count) {
  constexpr std::uint64_t group = 1 << 16;
  std::uint64_t passed = 0;
  for (std::uint64_t done = 0; done < count; done += group)
    passed += count_members(
        set, numbered_keys<K>({}, first_stranger + done, std::min(group, count - done)));
  return passed;
}

template <class Each>
void for_bloom_kinds(Each&& each) {
  for_all_kinds([&]<class K>() {
    if constexpr (!Exact<K> && !WholeHashes<K>) each.template operator()<K>();
  });
}

// The rate that the bits predict is the rate that is measured, over a ladder of sizes.
TEST(RateLaw, RateNowIsTheMeasuredRateFromOneKeyToAMillion) {
  for_bloom_kinds([]<class K>() {
    for (const std::uint64_t keys : {1, 2, 10, 31, 100, 1'000, 10'000, 100'000, 1'000'000}) {
      SCOPED_TRACE(keys);
      Set<K> set({.keys = keys, .rate = 0.01});
      add_numbered(set, keys);
      const std::uint64_t asked = 200'000;
      const std::uint64_t passed = strangers_passing(set, asked);
      EXPECT_TRUE(is_likely(passed, asked, set.rate_now()))
          << passed << " of " << asked << " at " << set.rate_now();
    }
  });
}

TEST(RateLaw, RateNowHoldsForFewAndManyProbesAndWhenOverfull) {
  for_bloom_kinds([]<class K>() {
    for (const double rate : {0.5, 0.2, 0.05, 1e-3, 3e-4, 5e-5, 1e-6})
      for (const std::uint64_t keys : {5'000, 10'000, 20'000}) {
        SCOPED_TRACE(testing::Message() << keys << " keys at " << rate);
        if (!takes_any_number<K> && keys > 10'000) continue;
        Set<K> set({.keys = 10'000, .rate = rate});
        add_numbered(set, keys);
        const std::uint64_t asked = 100'000;
        const std::uint64_t passed = strangers_passing(set, asked);
        EXPECT_TRUE(is_likely(passed, asked, set.rate_now()))
            << passed << " of " << asked << " at " << set.rate_now();
      }
  });
}

TEST(RateLaw, TwentySeedsAreSpreadAsChanceWouldHaveIt) {
  for_bloom_kinds([]<class K>() {
    for (const double rate : {0.05, 0.01, 0.001}) {
      SCOPED_TRACE(rate);
      int beyond_two_spreads = 0;
      double passed_of_all = 0;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Set<K> set({.keys = 10'000, .rate = rate}, Hasher(seed));
        add_numbered(set, 10'000);
        const std::uint64_t asked = 100'000;
        const std::uint64_t passed = strangers_passing(set, asked);
        passed_of_all += static_cast<double>(passed) / asked;
        EXPECT_TRUE(is_likely(passed, asked, set.rate_now())) << "seed " << seed;
        beyond_two_spreads += std::abs(spreads_from(passed, asked, set.rate_now())) > 1.96;
      }
      EXPECT_LE(beyond_two_spreads, 4);
      EXPECT_LE(passed_of_all / 20, rate * 1.05);
    }
  });
}

template <class K>
void expect_rate(std::uint64_t keys, double rate, std::uint64_t strangers) {
  SCOPED_TRACE(testing::Message() << K::id.name << " of " << keys << " keys at " << rate);
  Set<K> set({.keys = keys, .rate = rate});
  add_numbered(set, keys);
  const std::uint64_t passed = strangers_passing(set, strangers);
  const double measured = static_cast<double>(passed) / static_cast<double>(strangers);
  EXPECT_LE(measured, rate * 1.05);
  EXPECT_GE(measured, rate * 0.9);
  EXPECT_LE(set.rate_now(), rate * 1.05);
  EXPECT_GE(set.rate_now(), rate * 0.9);
}

TEST(RateLaw, AMillionKeysPassStrangersAtTheRateThatWasAsked) {
  const auto all_rates = []<class K>() {
    expect_rate<K>(1'000'000, 0.05, 500'000);
    expect_rate<K>(1'000'000, 0.01, 1'000'000);
    expect_rate<K>(1'000'000, 0.001, 4'000'000);
  };
  all_rates.operator()<ClassicBloom>();
  all_rates.operator()<BlockedBloom>();
  all_rates.operator()<SplitBlock>();
  expect_rate<CountingBloom>(1'000'000, 0.01, 1'000'000);
  expect_rate<SpectralBloom>(1'000'000, 0.01, 1'000'000);
}

template <class K>
double bits_per_key(std::uint64_t keys, double rate) {
  return static_cast<double>(Set<K>({.keys = keys, .rate = rate}).bytes()) * 8 /
         static_cast<double>(keys);
}

TEST(RateLaw, BitsPerKeyAreWhatTheDocsPromise) {
  EXPECT_LE(bits_per_key<ClassicBloom>(1'000'000, 0.01), 9.6);
  EXPECT_LE(bits_per_key<BlockedBloom>(1'000'000, 0.01), 10.15);
  EXPECT_LE(bits_per_key<BlockedBloom>(1'000'000, 0.001), 15.8);
  EXPECT_LE(bits_per_key<SplitBlock>(1'000'000, 0.01), 10.6);
  EXPECT_LE(bits_per_key<SplitBlock>(1'000'000, 0.001), 17.0);
  EXPECT_LE(bits_per_key<BlockedBloom>(1'000'000, 1e-6), 31.5);
  EXPECT_LE(bits_per_key<ClassicBloom>(1'000'000, 1e-6), 28.8);
  EXPECT_LE(bits_per_key<CountingBloom>(1'000'000, 0.01), 38.4);
  EXPECT_LE(bits_per_key<SpectralBloom>(1'000'000, 0.01), 153.5);
}

TEST(RateLaw, PlanIsHonest) {
  for_bloom_kinds([]<class K>() {
    if constexpr (Kind<K>)
      for (const std::uint64_t keys : {1, 10, 100, 1'000, 10'000, 1'000'000, 100'000'000})
        for (const double rate : {0.5, 0.3, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6}) {
          const auto shape = K::plan({.keys = keys, .rate = rate});
          ASSERT_TRUE(shape) << shape.error().sentence;
          EXPECT_LE(K::expected_rate(*shape, keys), rate * 1.05) << keys << " keys at " << rate;
          EXPECT_TRUE(K::check(*shape, K::bytes(*shape)));
          EXPECT_EQ(K::expected_rate(*shape, 0), 0);
          // No smaller than the floor that no set can go below.
          EXPECT_GE(static_cast<double>(K::bytes(*shape)) * 8,
                    static_cast<double>(keys) * -std::log2(rate));
        }
  });
}

TEST(RateLaw, ExpectedRateIsWhatTheBitsSayOnceTheyAreSet) {
  for_bloom_kinds([]<class K>() {
    for (const double rate : {0.2, 0.01, 1e-3, 1e-5}) {
      constexpr std::uint64_t keys = 200'000;
      Set<K> set({.keys = keys, .rate = rate});
      add_numbered(set, keys);
      if constexpr (Kind<K>)
        EXPECT_NEAR(set.rate_now() / K::expected_rate(set.kind().shape(), keys), 1, 0.06) << rate;
      else
        EXPECT_LE(set.rate_now(), rate);
    }
  });
}

TEST(RateLaw, EstimateIsCloseToTheTruth) {
  for_bloom_kinds([]<class K>() {
    for (const double rate : {0.1, 0.01, 1e-3, 1e-5}) {
      // Half full, full, and twice overfull.
      for (const std::uint64_t keys : {50'000, 100'000, 200'000}) {
        if (!takes_any_number<K> && keys > 100'000) continue;
        Set<K> set({.keys = 100'000, .rate = rate});
        add_numbered(set, keys);
        // A key that looked as if seen is not added to a chain; the others set a few more bits.
        const double truth =
            is_chain<K> ? static_cast<double>(set.adds()) : static_cast<double>(keys);
        EXPECT_NEAR(set.estimate() / truth, 1, is_chain<K> ? 0.03 : 0.01)
            << keys << " keys at " << rate;
      }
      Set<K> few({.keys = 1'000, .rate = rate});
      add_numbered(few, 1'000);
      EXPECT_NEAR(few.estimate(), 1'000, 60) << rate;
    }
  });
}

// Memory and one of keys and rate give the other, and the set then holds what it says.
TEST(RateLaw, MemoryGivesTheMissingNumber) {
  for_bloom_kinds([]<class K>() {
    // Counters of 16 bits take that many times the memory of bits.
    const std::uint64_t memory = std::same_as<K, SpectralBloom> ? 16 << 20 : 1 << 20;
    Set<K> by_rate({.rate = 0.01, .memory_bytes = memory});
    EXPECT_LE(by_rate.bytes(), memory);
    // What grows leaves room to grow into.
    const std::uint64_t least = !Kind<K> ? memory / 32 : memory * 9 / 10;
    EXPECT_GT(by_rate.bytes(), least);
    add_numbered(by_rate, by_rate.capacity());
    EXPECT_LE(by_rate.rate_now(), 0.01 * 1.05);

    Set<K> by_keys({.keys = 500'000, .memory_bytes = memory});
    EXPECT_LE(by_keys.bytes(), memory);
    // Fields have whole bits, and blocks whole words.
    EXPECT_GT(by_keys.bytes(), memory * (std::same_as<K, Scalable> ? 7 : 9) / 10);
    add_numbered(by_keys, 500'000);
    EXPECT_LE(by_keys.rate_now(), by_keys.rate_asked() * 1.05);
  });
}

}  // namespace
}  // namespace bloomery::detail
