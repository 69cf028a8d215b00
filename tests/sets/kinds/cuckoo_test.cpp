// What is peculiar to fingerprints in buckets: copies, removal, moving, and being full.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/laws/positions.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(Addable<Cuckoo> && Removable<Cuckoo> && Bounded<Cuckoo> && Estimable<Cuckoo> &&
              Prefetchable<Cuckoo>);

// A kind with memory of its own, of any shape.
class Made {
 public:
  explicit Made(const Cuckoo::Shape& shape)
      : memory_(Memory::make(Cuckoo::bytes(shape)).value()), kind(shape, memory_.bytes()) {}
  std::vector<std::byte> bytes() const {
    const std::span<const std::byte> all = memory_.bytes();
    return {all.begin(), all.end()};
  }
  bool is_empty() const {
    return std::ranges::all_of(memory_.bytes(),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }
  Added add(std::uint64_t key) { return kind.add(slot(key)); }
  Cuckoo::Slot slot(std::uint64_t key) const { return kind.locate(Hasher()(key)); }

 private:
  Memory memory_;

 public:
  Cuckoo kind;
};

TEST(Cuckoo, TheTwoBucketsOfAKeyAreNeverTheSameAndEachKnowsTheOther) {
  for (const std::uint64_t buckets : {2, 4, 6, 10, 1'000, 99'998})
    for (const std::uint32_t bits : {4, 11, 16, 17, 32}) {
      Made set({buckets, bits});
      for (std::uint64_t key = 0; key < 2'000; ++key) {
        const Cuckoo::Slot slot = set.slot(key);
        ASSERT_LT(slot.first, buckets);
        ASSERT_LT(slot.second, buckets);
        ASSERT_NE(slot.first % 2, slot.second % 2);
        ASSERT_GE(slot.fingerprint, 1);
        ASSERT_LT(slot.fingerprint, std::uint64_t{1} << bits);
      }
    }
}

TEST(Cuckoo, BucketsAndFingerprintsAreEvenlySpread) {
  constexpr std::uint64_t buckets = 3 << 8;
  Made set({buckets, 8});
  for_each_key_family(200'000, [&](const char* family, const std::vector<Hash>& hashes) {
    SCOPED_TRACE(family);
    std::vector<std::uint64_t> first(buckets), second(buckets), fingerprints(255);
    for (const Hash hash : hashes) {
      const Cuckoo::Slot slot = set.kind.locate(hash);
      ++first[slot.first];
      ++fingerprints[slot.fingerprint - 1];
      ++second[slot.second];
    }
    expect_even(first);
    expect_even(fingerprints);
    expect_even(second);
  });
}

TEST(Cuckoo, EightCopiesOfAKeyFitAndComeOutOneByOne) {
  for (const std::uint32_t bits : {4, 7, 12, 16, 17, 25, 32}) {
    SCOPED_TRACE(bits);
    Made set({30, bits});
    EXPECT_EQ(set.add(7), Added::fresh);
    for (unsigned copies = 1; copies < 8; ++copies) {
      EXPECT_EQ(set.kind.count(set.slot(7)), copies);
      EXPECT_EQ(set.add(7), Added::seen);
    }
    const auto before = set.bytes();
    EXPECT_EQ(set.add(7), Added::full);
    EXPECT_EQ(set.bytes(), before);
    EXPECT_EQ(set.kind.held(), 8);
    for (unsigned copies = 8; copies > 0; --copies) {
      EXPECT_TRUE(set.kind.may_contain(set.slot(7)));
      EXPECT_TRUE(set.kind.remove(set.slot(7)));
    }
    EXPECT_FALSE(set.kind.may_contain(set.slot(7)));
    EXPECT_FALSE(set.kind.remove(set.slot(7)));
    EXPECT_TRUE(set.is_empty());
  }
}

// Every width, over the edges of words, to the brim: nothing is lost, a refusal changes nothing.
TEST(Cuckoo, EveryWidthFillsToTheBrimAndEmptiesAgain) {
  for (std::uint32_t bits = 4; bits <= 32; ++bits) {
    SCOPED_TRACE(bits);
    Made set({250, bits});
    std::uint64_t held = 0;
    for (; set.add(held) != Added::full; ++held) {
    }
    EXPECT_GT(held, 250 * 4 * (bits < 6 ? 0.9 : 0.94));
    EXPECT_EQ(set.kind.held(), held);
    for (std::uint64_t key = held; key < held + 50; ++key) {
      const auto before = set.bytes();
      if (set.kind.add(set.slot(key)) == Added::full) {
        ASSERT_EQ(set.bytes(), before);
      } else {
        ASSERT_TRUE(set.kind.remove(set.slot(key)));
      }
      ASSERT_EQ(set.kind.held(), held);
    }
    EXPECT_TRUE(set.kind.check_bits());
    for (std::uint64_t key = 0; key < held; ++key)
      ASSERT_TRUE(set.kind.may_contain(set.slot(key))) << key;
    for (std::uint64_t key = 0; key < held; ++key)
      ASSERT_TRUE(set.kind.remove(set.slot(key))) << key;
    EXPECT_TRUE(set.is_empty());
  }
}

TEST(Cuckoo, SameAddsGiveTheSameBytes) {
  Made one({1'000, 11});
  Made other({1'000, 11});
  for (std::uint64_t key = 0; key < 3'800; ++key) {
    ASSERT_NE(one.add(key), Added::full);
    other.add(key);
  }
  EXPECT_EQ(one.bytes(), other.bytes());
}

TEST(Cuckoo, ANumberOfBucketsNeedNotBeAPowerOfTwo) {
  for (const std::uint64_t keys : {10'000, 70'000, 150'000}) {
    const Set<Cuckoo> set({.keys = keys, .rate = 1.0 / 256});
    EXPECT_LT(static_cast<double>(set.bytes()) * 8 / static_cast<double>(keys), 1.46 * 8) << keys;
  }
}

// Space, rate and load together, at the rate that fits fingerprints of 11 bits.
TEST(Cuckoo, HoldsItsRateAtNinetyFivePercentAndOneAndAHalfTimesTheFloor) {
  constexpr std::uint64_t keys = 500'000;
  Set<Cuckoo> set({.keys = keys, .rate = 1.0 / 256});
  std::vector<std::uint64_t> members(keys);
  for (std::uint64_t i = 0; i < keys; ++i) members[i] = i;
  set.add_all(members);
  EXPECT_EQ(set.count_may_contain(members), keys);
  EXPECT_NEAR(set.fill_ratio(), 0.95, 0.001);
  EXPECT_EQ(set.estimate(), keys);
  EXPECT_LE(static_cast<double>(set.bytes()) * 8 / keys, 1.46 * 8);
  constexpr std::uint64_t strangers = 1'000'000;
  std::vector<std::uint64_t> others(strangers);
  for (std::uint64_t i = 0; i < strangers; ++i) others[i] = (std::uint64_t{1} << 40) + i;
  const std::uint64_t passed = set.count_may_contain(others);
  EXPECT_LE(static_cast<double>(passed) / strangers, 1.0 / 256);
  EXPECT_TRUE(is_likely(passed, strangers, set.rate_now())) << passed << " at " << set.rate_now();
}

// Copies take places but add no false positives.
TEST(Cuckoo, RateNowCountsCopiesOnce) {
  Set<Cuckoo> set({.keys = 10'000, .rate = 0.01});
  for (std::uint64_t key = 0; key < 2'000; ++key) set.add(key);
  const double once = set.rate_now();
  for (int copies = 1; copies < 3; ++copies)
    for (std::uint64_t key = 0; key < 2'000; ++key) set.add(key);
  EXPECT_DOUBLE_EQ(set.rate_now(), once);
  EXPECT_EQ(set.estimate(), 6'000);
}

TEST(Cuckoo, TheLedgerCountsAKeyOnceHoweverManyCopiesItHas) {
  Set<Cuckoo> set({.keys = 100, .rate = 1e-6});
  for (int copies = 0; copies < 3; ++copies)
    for (std::uint64_t key = 0; key < 30; ++key) set.add(key);
  EXPECT_EQ(set.adds(), 30);
  for (std::uint64_t key = 0; key < 30; ++key) EXPECT_TRUE(set.remove(key));
  EXPECT_EQ(set.adds(), 30);
  for (int copies = 0; copies < 2; ++copies)
    for (std::uint64_t key = 0; key < 30; ++key) EXPECT_TRUE(set.remove(key));
  EXPECT_EQ(set.adds(), 0);
  EXPECT_EQ(set.estimate(), 0);
  EXPECT_FALSE(set.remove(std::uint64_t{1}));
}

// A multiset beside the set: random adds, removes of members and asks, a million of them, while the
// load swings between empty and full.
TEST(Cuckoo, AgreesWithAMultisetThroughAMillionSteps) {
  constexpr std::uint64_t seed = 20;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint64_t distinct = 700;
  Made set({250, 12});  // 1,000 places
  std::vector<unsigned> copies(distinct);
  std::vector<std::uint64_t> members;  // a key as often as it is in
  std::uint64_t refused = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    // Mostly adding for 4,000 steps, then mostly removing for as long.
    const std::uint64_t add_below = step / 4'000 % 2 == 0 ? 70 : 20;
    const std::uint64_t die = random() % 100;
    const std::uint64_t key = random() % distinct;
    if (die < add_below) {
      if (copies[key] == 8) continue;
      const Added added = set.add(key);
      if (added == Added::full) {
        ++refused;
        // A key with many copies fills its two buckets alone.
        ASSERT_GT(members.size(), 300) << "full too soon, at step " << step;
      } else {
        ASSERT_FALSE(added == Added::fresh && copies[key] > 0) << "called an old key new";
        ++copies[key];
        members.push_back(key);
      }
    } else if (die < 90) {
      if (members.empty()) continue;
      std::swap(members[random() % members.size()], members.back());
      ASSERT_TRUE(set.kind.remove(set.slot(members.back()))) << "at step " << step;
      --copies[members.back()];
      members.pop_back();
    } else {
      ASSERT_TRUE(copies[key] == 0 || set.kind.may_contain(set.slot(key))) << "at step " << step;
    }
    if (step % 5'000 == 0) {
      ASSERT_EQ(set.kind.held(), members.size());
      for (std::uint64_t each = 0; each < distinct; ++each)
        ASSERT_GE(set.kind.count(set.slot(each)), copies[each]) << "at step " << step;
    }
  }
  EXPECT_GT(refused, 100) << "the set was never full: the test is too easy";
  for (const std::uint64_t key : members) ASSERT_TRUE(set.kind.remove(set.slot(key)));
  EXPECT_TRUE(set.is_empty());
}

TEST(Cuckoo, ShapesAndBitsThatCanNotBeAreRefused) {
  const auto refused = [](const Cuckoo::Shape& shape, std::uint64_t bytes) {
    const auto checked = Cuckoo::check(shape, bytes);
    return !checked && checked.error().code == Code::damaged;
  };
  EXPECT_TRUE(refused({0, 11}, 8));
  EXPECT_TRUE(refused({3, 11}, Cuckoo::bytes({3, 11})));
  EXPECT_TRUE(refused({2, 3}, Cuckoo::bytes({2, 3})));
  EXPECT_TRUE(refused({2, 33}, 40));
  EXPECT_TRUE(refused({~std::uint64_t{1}, 32}, 64));
  EXPECT_TRUE(refused({2, 11}, Cuckoo::bytes({2, 11}) + 8));
  EXPECT_TRUE(Cuckoo::check({2, 11}, Cuckoo::bytes({2, 11})));

  // Bits beyond the last bucket, and in the spare word.
  for (const std::size_t byte : {11, 15, 16, 23}) {
    std::vector<std::byte> payload(Cuckoo::bytes({2, 11}));  // of 88 bits
    payload[byte] = std::byte{0x80};
    const auto opened = Owned<Cuckoo>::from_part({.kind = Cuckoo::id.number,
                                                  .shape = encode_shape<Cuckoo>({2, 11}),
                                                  .capacity = 1,
                                                  .rate_asked = 0.01,
                                                  .payload = payload});
    ASSERT_FALSE(opened) << byte;
    EXPECT_EQ(opened.error().code, Code::damaged);
  }
}

TEST(Cuckoo, RatesThatNeedWiderFingerprintsAreRefused) {
  EXPECT_TRUE(Cuckoo::plan({.keys = 1'000, .rate = 2e-9}));
  const auto refused = Cuckoo::plan({.keys = 1'000, .rate = 1e-9});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
}

}  // namespace
}  // namespace bloomery::detail
