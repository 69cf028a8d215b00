// The ribbon: every number of keys, every rate, what copies and hostile bytes do to it.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/kinds/ribbon.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/sets/build/ribbon_shard.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(Buildable<Ribbon> && !Addable<Ribbon> && Estimable<Ribbon> && Prefetchable<Ribbon> &&
              SlotKeeping<Ribbon>);

using Hashes = std::vector<Hash>;

Hashes hashes_of(std::uint64_t first, std::uint64_t count) {
  const Hasher hasher;
  Hashes hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) hashes[i] = hasher(first + i);
  return hashes;
}

Ribbon view(Built<Ribbon>& built) { return {built.shape, built.memory.bytes()}; }

Result<Built<Ribbon>> build(const Hashes& hashes, const Want& want) {
  return Ribbon::build(hashes, want);
}

std::size_t passing(const Ribbon& ribbon, const Hashes& hashes) {
  const auto answers = std::make_unique<bool[]>(hashes.size());
  pipeline(ribbon, ReadyInputs<Hash>(hashes), lookahead_for(ribbon), asking(ribbon),
           ToBools(answers.get()));
  return static_cast<std::size_t>(std::count(answers.get(), answers.get() + hashes.size(), true));
}

void expect_all_there(const Hashes& keys, double rate) {
  auto built = build(keys, {.rate = rate});
  ASSERT_TRUE(built) << built.error().sentence;
  EXPECT_TRUE(Ribbon::check(built->shape, built->memory.size()));
  const Ribbon ribbon = view(*built);
  EXPECT_TRUE(ribbon.check_bits());
  EXPECT_EQ(passing(ribbon, keys), keys.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(keys.size(), 100); ++i)
    EXPECT_TRUE(ribbon.may_contain(ribbon.locate(keys[i])));
}

TEST(Ribbon, HoldsEveryKeyOfEverySmallSet) {
  for (std::uint64_t keys = 0; keys <= 2'000; ++keys) {
    SCOPED_TRACE(testing::Message() << keys << " keys");
    expect_all_there(hashes_of(keys * 10'000, keys), keys % 2 == 0 ? 1.0 / 256 : 0.01);
  }
}

TEST(Ribbon, HoldsEveryKeyOfSetsOfAnySize) {
  constexpr std::uint64_t seed = 20;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr double rates[] = {0.5, 0.3, 0.01, 1e-3, 1e-6, 1e-9};
  for (int i = 0; i < 24; ++i) {
    const double log_keys = 3.3 + 2.7 * static_cast<double>(random() % 1000) / 1000;
    const auto keys = static_cast<std::uint64_t>(std::pow(10, log_keys));
    SCOPED_TRACE(testing::Message() << keys << " keys at " << rates[i % 6]);
    expect_all_there(hashes_of(random(), keys), rates[i % 6]);
  }
}

TEST(Ribbon, AnEmptySetHoldsNothing) {
  auto built = build({}, {.rate = 0.01});
  ASSERT_TRUE(built);
  EXPECT_EQ(built->memory.size(), 0);
  EXPECT_TRUE(Ribbon::check(built->shape, 0));
  EXPECT_EQ(passing(view(*built), hashes_of(0, 1'000)), 0);
  EXPECT_EQ(view(*built).rate_now(), 0);
}

// Within five standard deviations of rate_now(), which is at most the rate asked.
TEST(Ribbon, StrangersPassAtTheRateThatWasAsked) {
  constexpr std::uint64_t keys = 200'000;
  constexpr std::uint64_t strangers = 4'000'000;
  const Hashes members = hashes_of(0, keys);
  const Hashes others = hashes_of(1'000'000'000, strangers);
  for (const double rate : {0.5, 0.3, 0.125, 0.05, 0.01, 1.0 / 256, 1e-3, 1e-4, 1e-6, 1e-9}) {
    SCOPED_TRACE(testing::Message() << "rate " << rate);
    auto built = build(members, {.rate = rate});
    ASSERT_TRUE(built) << built.error().sentence;
    const Ribbon ribbon = view(*built);
    EXPECT_LE(ribbon.rate_now(), rate * 1.00001);
    EXPECT_GE(ribbon.rate_now(), rate * 0.98);
    EXPECT_NEAR(Ribbon::expected_rate(built->shape, keys), ribbon.rate_now(), 0.005 * rate);
    const double expected = ribbon.rate_now() * strangers;
    const auto passed = static_cast<double>(passing(ribbon, others));
    EXPECT_LE(std::abs(passed - expected), 5 * std::sqrt(expected) + 3);
  }
}

// Bits a key against the floor of log2(1 / rate).
TEST(Ribbon, IsCloseToTheFloor) {
  const auto over_floor = [](std::uint64_t keys, double rate) {
    const auto built = build(hashes_of(7, keys), {.rate = rate});
    const double bits = static_cast<double>(built->memory.size()) * 8 / static_cast<double>(keys);
    return bits / -std::log2(rate);
  };
  EXPECT_LE(over_floor(1'000'000, 1.0 / 256), 1.005);
  EXPECT_LE(over_floor(1'000'000, 0.01), 1.018);
  EXPECT_LE(over_floor(1'000'000, 1e-3), 1.006);
  EXPECT_LE(over_floor(100'000, 1.0 / 256), 1.007);
  EXPECT_LE(over_floor(10'000, 1.0 / 256), 1.02);
}

TEST(Ribbon, APlanTellsTheSize) {
  for (const std::uint64_t keys : {1, 5, 100, 5'000, 100'000, 1'000'000})
    for (const double rate : {0.3, 0.01, 1.0 / 256, 1e-9}) {
      SCOPED_TRACE(testing::Message() << keys << " keys at " << rate);
      const auto planned = Ribbon::plan({.keys = keys, .rate = rate}).value();
      EXPECT_TRUE(Ribbon::check(planned, Ribbon::bytes(planned)));
      const auto built = build(hashes_of(3, keys), {.rate = rate}).value();
      const auto expected = static_cast<double>(Ribbon::bytes(planned));
      // A block more or less in each layer.
      EXPECT_NEAR(static_cast<double>(built.memory.size()), expected,
                  0.003 * expected + 3 * 8 * (planned.columns + 2));
      EXPECT_EQ(built.shape.columns, planned.columns);
      EXPECT_EQ(built.shape.wide, planned.wide);
    }
}

TEST(Ribbon, RefusesRatesThatNoSetCanHave) {
  const Hashes keys = hashes_of(0, 10);
  for (const double rate : {0.0, -1.0, 0.6, 1e-13, std::nan("")})
    EXPECT_FALSE(build(keys, {.rate = rate}));
  EXPECT_FALSE(Ribbon::plan({.keys = 0, .rate = 0.01}));
  const auto refused = Ribbon::plan({.keys = 1'000'000, .rate = 1e-12});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
}

TEST(Ribbon, CopiesAreTakenForOneKey) {
  const Hashes once = hashes_of(0, 20'000);
  Hashes often = once;
  for (int i = 0; i < 4; ++i) often.insert(often.end(), once.begin(), once.end());
  auto built = build(often, {.rate = 0.01});
  ASSERT_TRUE(built);
  const auto alone = build(once, {.rate = 0.01}).value();
  EXPECT_EQ(built->shape, alone.shape);
  EXPECT_TRUE(std::ranges::equal(std::as_const(built->memory).bytes(), alone.memory.bytes()));
  // One key a hundred thousand times, and every hash in the same place.
  expect_all_there(Hashes(100'000, Hash{12'345}), 0.01);
  Hashes beside(20'000);
  for (std::uint64_t i = 0; i < beside.size(); ++i) beside[i] = Hash{i};
  expect_all_there(beside, 0.01);
  // A single copy among many keys, and copies that only the list meets.
  Hashes some = once;
  some.push_back(once[77]);
  const auto with_one = build(some, {.rate = 0.01}).value();
  EXPECT_EQ(with_one.shape, alone.shape);
  EXPECT_TRUE(std::ranges::equal(with_one.memory.bytes(), alone.memory.bytes()));
  const Hashes few(once.begin(), once.begin() + 3);
  Hashes twice = few;
  twice.insert(twice.end(), few.begin(), few.end());
  EXPECT_EQ(build(twice, {.rate = 0.01}).value().shape, build(few, {.rate = 0.01}).value().shape);
}

TEST(Ribbon, TheBytesDependOnTheKeysAloneNotOnTheirOrder) {
  std::mt19937_64 random(4);
  const auto expect_same_when_shuffled = [&](Hashes keys, double rate) {
    const auto first = build(keys, {.rate = rate}).value();
    std::shuffle(keys.begin(), keys.end(), random);
    const auto second = build(keys, {.rate = rate}).value();
    EXPECT_EQ(first.shape, second.shape);
    EXPECT_TRUE(std::ranges::equal(first.memory.bytes(), second.memory.bytes()));
  };
  expect_same_when_shuffled(hashes_of(0, 100'000), 0.01);
  // At 0.3 half the keys that lead no row are right by luck, but not in the wide column: which of
  // them it is once hung on the order, in four of ten sets.
  for (std::uint64_t set = 0; set < 20; ++set) {
    SCOPED_TRACE(testing::Message() << "set " << set);
    expect_same_when_shuffled(hashes_of(set * 100'000, 60'000), 0.3);
  }
}

// Goes red when any bit of the law changes: then images written before cannot be read.
TEST(Ribbon, GoldenBytesOfASmallSet) {
  const auto built = build(hashes_of(0, 1'000), {.rate = 0.01}).value();
  const std::span<const std::byte> bytes = built.memory.bytes();
  EXPECT_EQ(bytes.size(), 984);
  EXPECT_EQ(XXH3_64bits(bytes.data(), bytes.size()), 5138948603122847554U);
}

TEST(Ribbon, ASolverWritesOnlyItsShard) {
  const Hashes keys = hashes_of(0, 9'000);
  const RibbonLayer layer(3, 46, 6, RibbonLayer::wide_unit / 2);
  constexpr std::uint64_t untouched = 0x5555'5555'5555'5555;
  std::vector<std::uint64_t> words(layer.words(), untouched);
  Hashes mine;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(mine),
               [&](Hash key) { return layer.place(key).shard == 1; });
  RibbonShardSolver().solve(layer, 1, mine, words);
  const std::uint64_t marks = layer.marks_at(1);
  for (std::uint64_t i = 0; i < words.size(); ++i) {
    const bool in_marks = i >= marks && i < marks + layer.mark_words();
    const bool in_blocks = i >= layer.block_at(1, 0) && i < layer.block_at(2, 0);
    EXPECT_TRUE(in_marks || in_blocks || words[i] == untouched) << i;
  }
}

TEST(Ribbon, ShapesThatCanNotBeAreRefused) {
  const Ribbon::Shape good{.keys = 100, .columns = 8, .shards_1 = 2, .blocks_1 = 3};
  ASSERT_TRUE(Ribbon::check(good, Ribbon::bytes(good)));
  EXPECT_FALSE(Ribbon::check(good, Ribbon::bytes(good) + 8));
  EXPECT_FALSE(Ribbon::check(good, 0));
  const auto refused = [&](auto&& spoil) {
    Ribbon::Shape shape = good;
    spoil(shape);
    auto checked = Ribbon::check(shape, 1'000);
    return !checked && checked.error().code == Code::damaged;
  };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_TRUE(refused([](auto& shape) { shape.columns = 0; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.columns = 49; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.wide = 65'536; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.shards_1 = 0; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.blocks_1 = 0; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.shards_1 = huge; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.blocks_1 = huge / 2 + 1; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.blocks_1 = std::uint64_t{1} << 21; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.shards_3 = shape.blocks_3 = 1; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.listed = huge; }));
  EXPECT_TRUE(refused([](auto& shape) { shape.listed = huge / 8 + 1; }));
}

// Any bytes that pass check() may be asked, with any hash: an address sanitizer watches.
TEST(Ribbon, RandomBytesAreAskedWithoutHarm) {
  constexpr std::uint64_t seed = 21;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::size_t passed = 0;
  for (int round = 0; round < 300; ++round) {
    Ribbon::Shape shape{.keys = random() % 1'000,
                        .columns = static_cast<std::uint32_t>(1 + random() % 48),
                        .wide = static_cast<std::uint32_t>(random() % 65'536)};
    const std::uint64_t layers = random() % 5;
    std::uint64_t Ribbon::Shape::*const sizes[] = {
        &Ribbon::Shape::shards_1, &Ribbon::Shape::blocks_1, &Ribbon::Shape::shards_2,
        &Ribbon::Shape::blocks_2, &Ribbon::Shape::shards_3, &Ribbon::Shape::blocks_3,
        &Ribbon::Shape::shards_4, &Ribbon::Shape::blocks_4};
    for (std::uint64_t i = 0; i < 2 * layers; ++i) shape.*sizes[i] = 1 + random() % 7;
    shape.listed = random() % 4;
    // An allocation of just that size, so that the sanitizer sees one byte beyond.
    std::vector<std::uint64_t> words(Ribbon::bytes(shape) / 8);
    for (std::uint64_t& word : words) word = round % 3 == 0 ? ~std::uint64_t{0} : random();
    const auto bytes = std::as_writable_bytes(std::span(words));
    ASSERT_TRUE(Ribbon::check(shape, bytes.size()));
    const Ribbon ribbon(shape, bytes);
    Hashes asked(500);
    for (Hash& hash : asked) hash.bits = random();
    for (std::uint64_t i = 0; i < 100; ++i) asked[i].bits = i < 50 ? i : ~i;
    passed += passing(ribbon, asked);
    EXPECT_GE(ribbon.rate_now(), 0);
    EXPECT_LE(ribbon.rate_now(), 0.5);
    EXPECT_LE(ribbon.fill_ratio(), 1);
  }
  EXPECT_GT(passed, 0);
}

TEST(Ribbon, AListOutOfOrderIsRefused) {
  auto built = build(hashes_of(0, 5), {.rate = 0.01}).value();
  ASSERT_EQ(built.shape.listed, 5);
  EXPECT_TRUE(view(built).check_bits());
  auto* words = reinterpret_cast<std::uint64_t*>(built.memory.bytes().data());
  std::swap(words[1], words[3]);
  auto checked = view(built).check_bits();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::damaged);
}

TEST(Ribbon, ShapesGoToBytesAndBack) {
  const auto built = build(hashes_of(0, 50'000), {.rate = 0.01}).value();
  const auto encoded = encode_shape<Ribbon>(built.shape);
  EXPECT_EQ(decode_shape<Ribbon>(encoded).value(), built.shape);
}

}  // namespace
}  // namespace bloomery::detail
