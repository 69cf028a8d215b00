// The set that grows without end: its rate and size at every step, voids, caps, crowds, merging.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <bloomery/detail/sets/kinds/scalable.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

std::vector<Hash> hashes_of(std::uint64_t first, std::uint64_t count) {
  std::vector<Hash> hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) hashes[i] = Hasher()(first + i);
  return hashes;
}

double bits_a_key(const Scalable& set, std::uint64_t keys) {
  return 8.0 * static_cast<double>(set.bytes()) / static_cast<double>(keys);
}

std::uint64_t strangers_of(const Scalable& set, std::uint64_t count) {
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    passed += set.may_contain(Hasher()((std::uint64_t{1} << 40) + i));
  return passed;
}

TEST(Scalable, GrownFromAThousandToAMillionItKeepsRateAndSize) {
  auto set = Scalable::make({.keys = 1'000, .rate = 0.01}).value();
  double just_filled = 0;  // the most that any table took when it was full
  double loosest = 0;
  std::uint64_t next = 1'000;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const std::uint64_t bytes = set.bytes();
    ASSERT_NE(set.add(Hasher()(i)), Added::full);
    if (i >= 10'000 && set.bytes() != bytes) {
      just_filled =
          std::max(just_filled, 8.0 * static_cast<double>(bytes) / static_cast<double>(i));
      loosest = std::max(loosest, bits_a_key(set, i + 1));
    }
    if (i + 1 != next) continue;
    next *= 10;
    for (std::uint64_t key = 0; key <= i; ++key) ASSERT_TRUE(set.may_contain(Hasher()(key)));
    const double rate = static_cast<double>(strangers_of(set, 200'000)) / 200'000;
    EXPECT_LE(rate, 0.01) << i + 1;
    EXPECT_NEAR(rate, set.rate_now(), 5 * std::sqrt(set.rate_now() / 200'000)) << i + 1;
    EXPECT_NEAR(set.estimate(), static_cast<double>(i + 1), 0.01 * static_cast<double>(i + 1) + 5);
  }
  EXPECT_LE(just_filled, 17);
  EXPECT_LE(loosest, 24);
}

// By the plans alone: many doublings, each step filled to its room. Each entry that has lost its
// fingerprint is counted as often as it is written. A low rate ends where 64-bit hashes do.
TEST(Scalable, ThroughFortyDoublingsThePlansKeepTheRate) {
  for (const auto& [rate, doublings] :
       std::vector<std::pair<double, unsigned>>{{0.1, 40}, {0.01, 40}, {1e-3, 36}, {1e-6, 27}}) {
    SCOPED_TRACE(rate);
    Scalable::Shape shape = Scalable::plan({.keys = 1'000, .rate = rate}).value();
    const unsigned first_quotient_bits = shape.quotient_bits;
    const double floor = -std::log2(rate);
    Scalable::Lengths held{};
    while (shape.quotient_bits < first_quotient_bits + doublings) {
      double entries = 0;
      for (unsigned bits = 0; bits <= 64; ++bits)
        entries += std::ldexp(static_cast<double>(held[bits]),
                              std::max(0, static_cast<int>(shape.quotient_bits - bits)));
      const std::uint64_t room = Scalable::room(shape);
      ASSERT_LT(entries, static_cast<double>(room));
      held[shape.quotient_bits + shape.field_bits - 1] +=
          room - static_cast<std::uint64_t>(entries);
      ASSERT_LE(QuotientTable::covered(held), rate) << shape.quotient_bits;
      ASSERT_LE(shape.field_bits, floor + 13) << shape.quotient_bits;
      const auto next =
          Scalable::plan_next(held, rate, room + room * 3 / 20 + 1, shape.quotient_bits);
      ASSERT_TRUE(next) << next.error().sentence;
      shape = *next;
    }
  }
}

TEST(Scalable, EveryKeyIsThereBeforeAndAfterEveryGrowth) {
  for (const double rate : {0.5, 0.3, 0.01, 1e-6}) {
    auto set = Scalable::make({.keys = 1, .rate = rate}).value();
    int growths = 0;
    const auto hashes = hashes_of(0, 30'000);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const auto shape = set.shape();
      ASSERT_NE(set.add(hashes[i]), Added::full);
      ASSERT_EQ(set.add(hashes[i]), Added::seen);
      if (set.shape() == shape) continue;
      ++growths;
      for (std::size_t k = 0; k <= i; ++k) ASSERT_TRUE(set.may_contain(hashes[k])) << k << " " << i;
      ASSERT_LE(set.rate_now(), rate);
      ASSERT_FALSE(set.overfull());
    }
    EXPECT_GT(growths, 20);
    // At these rates fingerprints are used up on the way: some entries cover all of a quotient.
    const bool voids = set.table().held()[set.shape().quotient_bits] != 0;
    EXPECT_EQ(voids, rate >= 0.01) << rate;
  }
}

TEST(Scalable, AGrownSetIsSavedAndOpened) {
  auto set = Scalable::make({.keys = 10, .rate = 0.05}).value();
  ASSERT_TRUE(set.add_all(hashes_of(0, 20'000), nullptr));
  auto opened = Scalable::from_parts(set.parts());
  ASSERT_TRUE(opened) << opened.error().sentence;
  EXPECT_EQ(opened->adds(), set.adds());
  EXPECT_EQ(opened->rate_now(), set.rate_now());
  EXPECT_EQ(opened->shape(), set.shape());
  // It goes on growing as the first would.
  ASSERT_TRUE(set.add_all(hashes_of(20'000, 20'000), nullptr));
  ASSERT_TRUE(opened->add_all(hashes_of(20'000, 20'000), nullptr));
  EXPECT_EQ(opened->shape(), set.shape());
  EXPECT_TRUE(std::ranges::equal(opened->table().memory().bytes(), set.table().memory().bytes()));
}

TEST(Scalable, ShapesAndLedgersThatDoNotFitAreRefused) {
  auto set = Scalable::make({.keys = 100, .rate = 0.05}).value();
  set.add({1});
  const auto refused = [&](auto&& change, Code code) {
    Parts parts = set.parts();
    change(parts.parts[0]);
    const auto opened = Scalable::from_parts(std::move(parts));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code) << opened.error().sentence;
  };
  for (std::size_t byte = 0; byte < 12; ++byte)
    refused([&](Part& part) { part.shape[byte] ^= std::byte{0x80}; }, Code::damaged);
  refused([&](Part& part) { part.shape.pop_back(); }, Code::damaged);
  refused([&](Part& part) { part.payload = part.payload.first(8); }, Code::damaged);
  refused([&](Part& part) { part.rate_asked = 2; }, Code::impossible);
  refused([&](Part& part) { part.kind = 12; }, Code::mismatch);
}

// A cap holds also for the moment when both tables are there.
TEST(Scalable, AtItsMemoryCapItIsFullAndLosesNothing) {
  constexpr std::uint64_t cap = 60'000;
  auto set = Scalable::make({.keys = 100, .rate = 0.01, .memory_bytes = cap}).value();
  std::uint64_t added = 0;
  while (set.add(Hasher()(added)) != Added::full) ASSERT_LT(++added, 100'000U);
  EXPECT_GT(added, 10'000);
  EXPECT_LE(set.bytes(), cap);
  for (std::uint64_t key = 0; key < added; ++key) ASSERT_TRUE(set.may_contain(Hasher()(key)));
  EXPECT_EQ(set.add(Hasher()(0)), Added::seen);
  const auto refused = set.add_all(hashes_of(0, added + 1), nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  const auto opened = Scalable::make({.keys = 1'000'000, .rate = 0.01, .memory_bytes = cap});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::impossible);
}

// Numbers instead of well-mixed hashes: 1, 2, 3... all have the same quotient. Refused, and the set
// does not grow for ever.
TEST(Scalable, CrowdedHashesAreRefusedWithASentence) {
  auto set = Scalable::make({.keys = 10'000, .rate = 1e-9}).value();
  std::vector<Hash> crowd;
  for (std::uint64_t i = 0; i < 10'000; ++i) crowd.push_back({i << 25});
  const auto added = set.add_all(crowd, nullptr);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::full);
  EXPECT_NE(added.error().sentence.find("crowd"), std::string::npos);
  EXPECT_LT(set.bytes(), 200'000);
  const std::uint64_t taken = set.adds();
  EXPECT_GT(taken, 500);
  for (std::uint64_t i = 0; i < taken; ++i) ASSERT_TRUE(set.may_contain(crowd[i]));
}

TEST(Scalable, SetsOfAnySizesUniteAndIntersect) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 12; ++round) {
    const std::uint64_t a = random() % 3'000;
    const std::uint64_t b = random() % 3'000;
    const double rates[] = {0.3, 0.01, 1e-4};
    auto one = Scalable::make({.keys = 1 + random() % 500, .rate = rates[round % 3]}).value();
    auto other = Scalable::make({.keys = 1 + random() % 500, .rate = rates[random() % 3]}).value();
    one.add_all(hashes_of(0, a), nullptr).value();
    other.add_all(hashes_of(a / 2, b), nullptr).value();
    auto united = Scalable::from_parts(one.parts()).value();
    united.unite(other).value();
    auto common = Scalable::from_parts(one.parts()).value();
    common.intersect(other).value();
    for (std::uint64_t i = 0; i < 8'000; ++i) {
      const Hash hash = Hasher()(i);
      const bool in_one = one.may_contain(hash);
      const bool in_other = other.may_contain(hash);
      ASSERT_EQ(united.may_contain(hash), in_one || in_other) << i;
      ASSERT_EQ(common.may_contain(hash), in_one && in_other) << i;
    }
    // Uniting adds what covers more; both hold what a stranger would accept.
    EXPECT_LE(united.rate_now(), one.rate_now() + other.rate_now() + 1e-12);
    EXPECT_NEAR(one.rate_now() + other.rate_now(), united.rate_now() + common.rate_now(), 1e-9);
    EXPECT_EQ(united.overfull(), united.rate_now() > united.rate_asked());
    ASSERT_TRUE(Scalable::from_parts(united.parts()));
    ASSERT_TRUE(Scalable::from_parts(common.parts()));
    ASSERT_TRUE(united.add_all(hashes_of(10'000, 5'000), nullptr));
    for (const Hash hash : hashes_of(10'000, 5'000)) ASSERT_TRUE(united.may_contain(hash));
  }
}

// What they have in common may be prefixes that are longer than a field is wide in a small table.
TEST(Scalable, AFewLongPrefixesInCommonAreKeptAndSavedAsTheyAre) {
  auto large = Scalable::make({.keys = 16'000'000, .rate = 1e-9}).value();
  auto small = Scalable::make({.keys = 20, .rate = 1e-9}).value();
  for (const Hash hash : hashes_of(0, 3'000)) ASSERT_NE(large.add(hash), Added::full);
  const auto common = hashes_of(100, 20);
  for (const Hash hash : common) ASSERT_NE(small.add(hash), Added::full);
  ASSERT_TRUE(small.intersect(large));
  for (const Hash hash : common) EXPECT_TRUE(small.may_contain(hash));
  const auto opened = Scalable::from_parts(small.parts());
  ASSERT_TRUE(opened) << opened.error().sentence;
  EXPECT_EQ(opened->rate_now(), small.rate_now());
  for (const Hash hash : common) EXPECT_TRUE(opened->may_contain(hash));
}

// Many quotients and few keys: the table that is planned first may be too tight at its end.
TEST(Scalable, ASmallSetUnitesWithALargeOneThatIsNearlyEmpty) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto large = Scalable::make({.keys = 1'000'000, .rate = 1e-8}).value();
    auto small = Scalable::make({.keys = 10, .rate = 1e-8}).value();
    std::vector<Hash> keys(30'000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = Hasher(seed)(i);
    for (const Hash hash : keys) ASSERT_NE(large.add(hash), Added::full);
    keys.push_back(Hasher(seed)(std::uint64_t{1} << 50));
    ASSERT_NE(small.add(keys.back()), Added::full);
    const auto united = small.unite(large);
    ASSERT_TRUE(united) << "seed " << seed << ": " << united.error().sentence;
    for (const Hash hash : keys) ASSERT_TRUE(small.may_contain(hash)) << "seed " << seed;
  }
}

TEST(Scalable, RefusesRatesThatStepsCanNotShareAndKeysThatHashesCanNotTellApart) {
  for (const Want& want :
       {Want{.keys = 1'000, .rate = 1e-10}, Want{.keys = std::uint64_t{1} << 44, .rate = 1e-9}}) {
    const auto made = Scalable::make(want);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::impossible);
  }
}

TEST(Scalable, StartsSmallWhenNobodyGuesses) {
  auto set = Scalable::make({.rate = 0.01}).value();
  EXPECT_LT(set.bytes(), 64 << 10);
  EXPECT_TRUE(set.add_all(hashes_of(0, 100'000), nullptr));
  EXPECT_LE(set.rate_now(), 0.01);
}

}  // namespace
}  // namespace bloomery::detail
