// The fuse kind: no key is lost whatever the number, width, order or repetition of the keys; the
// rate is 2^-width; foreign bytes are never read out of bounds.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/kinds/binary_fuse.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <tests/laws/chances.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(Buildable<BinaryFuse> && Estimable<BinaryFuse> && Prefetchable<BinaryFuse> &&
              SlotKeeping<BinaryFuse> && !Addable<BinaryFuse>);

using Hashes = std::vector<Hash>;
using Fuse = Built<BinaryFuse>;

Hashes hashes_of(std::size_t count, std::uint64_t from = 0) {
  const Hasher hasher;
  Hashes hashes(count);
  for (std::size_t i = 0; i < count; ++i) hashes[i] = hasher(from + i);
  return hashes;
}

Result<Fuse> built(const Hashes& hashes, Want want) {
  want.keys = std::max<std::uint64_t>(1, hashes.size());
  return BinaryFuse::build(hashes, want);
}

constexpr std::uint64_t strangers_from = std::uint64_t{1} << 40;

std::size_t count_passing(const Fuse& fuse, const Hashes& hashes) {
  const BinaryFuse set(fuse.shape, const_cast<Memory&>(fuse.memory).bytes());
  const auto answers = std::make_unique<bool[]>(hashes.size());
  pipeline(set, ReadyInputs<Hash>(hashes), step_keys, asking(set), ToBools(answers.get()));
  return static_cast<std::size_t>(std::count(answers.get(), answers.get() + hashes.size(), true));
}

bool same_bytes(const Fuse& one, const Fuse& other) {
  return one.shape == other.shape && std::ranges::equal(one.memory.bytes(), other.memory.bytes());
}

std::uint64_t checksum(const Fuse& fuse) {
  return XXH3_64bits(fuse.memory.bytes().data(), fuse.memory.size());
}

TEST(BinaryFuse, EverySmallNumberOfKeysIsFound) {
  const Hashes all = hashes_of(2'000);
  for (const unsigned arity : {3U, 4U})
    for (std::size_t keys = 0; keys <= all.size(); ++keys) {
      const Hashes hashes(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keys));
      const auto fuse = BinaryFuse::build_as(hashes, {arity, 8}).value();
      ASSERT_EQ(fuse.shape.keys, keys);
      ASSERT_EQ(count_passing(fuse, hashes), keys) << keys << " keys, arity " << arity;
      ASSERT_TRUE(BinaryFuse::check(fuse.shape, fuse.memory.size()));
    }
}

// 11,500 keys: a public implementation fails a third of the time near there.
TEST(BinaryFuse, LargerNumbersOfKeysAreFound) {
  constexpr std::uint64_t seed = 20'261'115;
  std::mt19937_64 random(seed);
  std::vector<std::size_t> sizes{10'000, 100'000, 1'000'000, (1 << 20) + 1};
  for (std::size_t i = 0; i < 40; ++i) sizes.push_back(11'000 + random() % 1'000);
  for (std::size_t i = 0; i < 40; ++i) sizes.push_back(2'000 + random() % 200'000);
  for (const unsigned arity : {3U, 4U})
    for (const std::size_t keys : sizes) {
      const Hashes hashes = hashes_of(keys, random());
      const auto fuse = BinaryFuse::build_as(hashes, {arity, 9}).value();
      ASSERT_EQ(count_passing(fuse, hashes), keys) << "seed " << seed << ", arity " << arity;
      ASSERT_EQ(fuse.shape.seed, 0) << "the first seed of a set is enough, at " << keys;
    }
}

TEST(BinaryFuse, EveryWidthHoldsItsRate) {
  const Hashes hashes = hashes_of(20'000);
  const Hashes strangers = hashes_of(1'000'000, strangers_from);
  for (const unsigned arity : {3U, 4U})
    for (unsigned width = 1; width <= 32; ++width) {
      const auto fuse = BinaryFuse::build_as(hashes, {arity, width}).value();
      const BinaryFuse set(fuse.shape, const_cast<Memory&>(fuse.memory).bytes());
      EXPECT_EQ(count_passing(fuse, hashes), hashes.size()) << width;
      EXPECT_EQ(set.rate_now(), std::pow(2.0, -double(width)));
      const std::size_t passed = count_passing(fuse, strangers);
      EXPECT_TRUE(is_likely(passed, strangers.size(), set.rate_now()))
          << passed << " passed at width " << width << ", arity " << arity;
    }
}

TEST(BinaryFuse, TheEmptySetSaysNo) {
  const auto fuse = built({}, {.rate = 0.5}).value();
  const Hashes strangers = hashes_of(1'000);
  EXPECT_EQ(count_passing(fuse, strangers), 0);
  const BinaryFuse set(fuse.shape, const_cast<Memory&>(fuse.memory).bytes());
  for (const Hash hash : strangers) EXPECT_FALSE(set.may_contain(set.locate(hash)));
  EXPECT_EQ(set.estimate(), 0);
  EXPECT_EQ(set.rate_now(), 0);
}

TEST(BinaryFuse, BatchEqualsOneByOne) {
  const Hashes hashes = hashes_of(30'000);
  const Hashes asked = hashes_of(10'000, 25'000);
  for (const unsigned arity : {3U, 4U})
    for (const unsigned width : {3U, 8U, 16U, 32U}) {
      const auto fuse = BinaryFuse::build_as(hashes, {arity, width}).value();
      const BinaryFuse set(fuse.shape, const_cast<Memory&>(fuse.memory).bytes());
      for (const std::size_t length : {0, 1, 31, 32, 33, 10'000}) {
        const auto answers = std::make_unique<bool[]>(length + 1);
        pipeline(set, ReadyInputs<Hash>(std::span(asked).first(length)), step_keys, asking(set),
                 ToBools(answers.get()));
        for (std::size_t i = 0; i < length; ++i)
          ASSERT_EQ(answers[i], set.may_contain(set.locate(asked[i]))) << width << " " << i;
      }
    }
}

// The bytes depend on the set of keys alone. 1,100,000 different ones are two shards.
TEST(BinaryFuse, OrderAndRepeatsDoNotChangeTheBytes) {
  constexpr std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  for (const std::size_t keys : {1UL, 2UL, 100UL, 50'000UL, 1'100'000UL}) {
    Hashes hashes = hashes_of(keys);
    const auto fuse = built(hashes, {.rate = 0.01}).value();
    std::ranges::shuffle(hashes, random);
    EXPECT_TRUE(same_bytes(fuse, built(hashes, {.rate = 0.01}).value())) << keys;
    hashes.push_back(hashes.front());
    EXPECT_TRUE(same_bytes(fuse, built(hashes, {.rate = 0.01}).value())) << keys;
    for (std::size_t i = 0; i < keys; ++i) hashes.push_back(hashes[random() % keys]);
    std::ranges::shuffle(hashes, random);
    EXPECT_TRUE(same_bytes(fuse, built(hashes, {.rate = 0.01}).value())) << keys;
  }
}

// Around the 32 keys a field may be owned by, and the 64 and 128 at which its count would carry.
TEST(BinaryFuse, OneKeyMayBeRepeatedAnyNumberOfTimes) {
  for (const std::size_t times : {2, 3, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 5'000}) {
    Hashes hashes = hashes_of(10);
    hashes.insert(hashes.end(), times, hashes.front());
    const auto fuse = BinaryFuse::build_as(hashes, {3, 8}).value();
    EXPECT_EQ(fuse.shape.keys, 10) << times;
    EXPECT_EQ(count_passing(fuse, hashes), hashes.size()) << times;
  }
}

// The inverse of the first odd constant, by Newton's method: what mix() takes to a given number.
std::uint64_t hash_mixed_to(std::uint64_t mixed) {
  std::uint64_t inverse = fuse_constants[0];
  for (int i = 0; i < 6; ++i) inverse *= 2 - fuse_constants[0] * inverse;
  return mixed * inverse;
}

// Two hashes that differ only in the bits where a builder counts own the same fields under every
// seed of the shard; the next seed of the set tells them apart.
TEST(BinaryFuse, HashesThatNoSeedOfAShardTellsApartTakeTheNextSeedOfTheSet) {
  Hashes hashes = hashes_of(1'000);
  hashes.push_back({hash_mixed_to(0x1234'5678'9abc'de00)});
  hashes.push_back({hash_mixed_to(0x1234'5678'9abc'de01)});
  ASSERT_EQ(fuse::mix(hashes.back(), 0), 0x1234'5678'9abc'de01);
  const auto fuse = BinaryFuse::build_as(hashes, {3, 8}).value();
  EXPECT_NE(fuse.shape.seed, 0);
  EXPECT_EQ(count_passing(fuse, hashes), hashes.size());
}

// Numbers instead of well-mixed hashes: either every key is found, or build returns an Error.
TEST(BinaryFuse, NumbersThatAreNoHashesLoseNoKey) {
  for (const unsigned arity : {3U, 4U})
    for (const unsigned shift : {0, 8, 32, 44}) {
      Hashes hashes(50'000);
      for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = {std::uint64_t{i} << shift};
      const auto fuse = BinaryFuse::build_as(hashes, {arity, 8});
      if (fuse)
        EXPECT_EQ(count_passing(*fuse, hashes), hashes.size()) << shift;
      else
        EXPECT_EQ(fuse.error().code, Code::impossible);
    }
}

TEST(BinaryFuse, ScratchIsBounded) {
  for (const std::size_t keys : {10'000UL, 1'000'000UL, 1'100'000UL, 2'200'000UL}) {
    Hashes hashes = hashes_of(keys);
    for (int repeated = 0; repeated < 2; ++repeated) {
      FuseBuild build(std::span<const Hash>(hashes), {.arity = 3, .width = 8});
      build.build_all().value();
      EXPECT_LE(build.peak_scratch_bytes(), 24 * hashes.size()) << keys;
      hashes.push_back(hashes.front());
    }
  }
}

// All three shards at once would take more: they are gathered one by one.
TEST(BinaryFuse, ScratchIsKeptBelowACap) {
  const Hashes hashes = hashes_of(3'000'000);
  constexpr std::uint64_t cap = std::uint64_t{34} << 20;
  FuseBuild build(hashes, {.arity = 3, .width = 8, .scratch_bytes = cap});
  build.build_all().value();
  EXPECT_LE(build.peak_scratch_bytes(), cap);
  FuseBuild free(hashes, {.arity = 3, .width = 8});
  free.build_all().value();
  EXPECT_GT(free.peak_scratch_bytes(), cap);
  EXPECT_TRUE(
      same_bytes({build.shape(), build.take_payload()}, {free.shape(), free.take_payload()}));
  FuseBuild refused(hashes, {.arity = 3, .width = 8, .scratch_bytes = 1 << 20});
  EXPECT_EQ(refused.build_all().error().code, Code::impossible);
}

TEST(BinaryFuse, SpaceIsNearTheFloor) {
  for (const std::uint64_t keys :
       {std::uint64_t{1} << 20, std::uint64_t{10'000'000}, std::uint64_t{1'000'000'000}}) {
    const Want want{.keys = keys, .rate = 1.0 / 256};
    const double floor_bytes = static_cast<double>(keys);
    const auto three = BinaryFuse::plan(want, 3).value();
    const auto four = BinaryFuse::plan(want, 4).value();
    EXPECT_LE(static_cast<double>(BinaryFuse::bytes(three)), 1.14 * floor_bytes) << keys;
    EXPECT_LE(static_cast<double>(BinaryFuse::bytes(four)), 1.09 * floor_bytes) << keys;
  }
}

TEST(BinaryFuse, PlansAreWhatIsBuilt) {
  const Hashes hashes = hashes_of(300'000);
  const Want want{.keys = hashes.size(), .rate = 0.001};
  const auto planned = BinaryFuse::plan(want).value();
  EXPECT_EQ(planned.width, 10);
  EXPECT_EQ(built(hashes, want).value().shape, planned);
  EXPECT_EQ(BinaryFuse::plan({.keys = 10, .rate = 1.0 / 256}).value().width, 8);
  // A cap that only four fields a key can keep.
  const auto four = BinaryFuse::plan(want, 4).value();
  ASSERT_LT(BinaryFuse::bytes(four), BinaryFuse::bytes(planned));
  const Want capped{.rate = 0.001, .memory_bytes = BinaryFuse::bytes(four)};
  EXPECT_EQ(build_owned<BinaryFuse>(hashes, capped).value().kind().shape(), four);
  const auto refused = build_owned<BinaryFuse>(hashes, {.rate = 0.001, .memory_bytes = 1'000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
  EXPECT_FALSE(built(hashes, {.rate = 1e-10}));
  EXPECT_FALSE(built(hashes, {}));
}

TEST(BinaryFuse, HostileShapesAreRefused) {
  const auto good = BinaryFuse::plan({.keys = 5'000'000, .rate = 0.01}).value();
  ASSERT_TRUE(BinaryFuse::check(good, BinaryFuse::bytes(good)));
  EXPECT_FALSE(BinaryFuse::check(good, BinaryFuse::bytes(good) - 1));
  EXPECT_FALSE(BinaryFuse::check(good, BinaryFuse::bytes(good) + 8));
  const auto expect_refused = [&](auto&& change) {
    auto bad = good;
    change(bad);
    EXPECT_FALSE(BinaryFuse::check(bad, BinaryFuse::bytes(good)));
    for (const std::uint64_t bytes : {0ULL, 8ULL, 16ULL, 24ULL})
      EXPECT_FALSE(BinaryFuse::check(bad, bytes));
  };
  for (const std::uint32_t arity : {0U, 2U, 5U, ~0U})
    expect_refused([&](FuseShape& shape) { shape.arity = arity; });
  for (const std::uint32_t width : {0U, 33U, 64U, ~0U})
    expect_refused([&](FuseShape& shape) { shape.width = width; });
  for (const std::uint32_t bits : {19U, 32U, 63U, 64U, ~0U})
    expect_refused([&](FuseShape& shape) { shape.segment_bits = bits; });
  for (const std::uint32_t segments : {0U, 1U << 20, 1U << 31, ~0U})
    expect_refused([&](FuseShape& shape) { shape.segments = segments; });
  for (const std::uint64_t shards : {std::uint64_t{0}, std::uint64_t{1} << 50, ~std::uint64_t{0}})
    expect_refused([&](FuseShape& shape) { shape.shards = shards; });
  for (const std::uint64_t keys : {good.fields() + 1, ~std::uint64_t{0}})
    expect_refused([&](FuseShape& shape) { shape.keys = keys; });
}

// Run under the address sanitizer this shows that no bytes lead out of bounds.
TEST(BinaryFuse, AnyBytesOfAnySoundShapeCanBeAsked) {
  constexpr std::uint64_t seed = 99;
  std::mt19937_64 random(seed);
  const Hashes asked = hashes_of(2'000);
  for (int round = 0; round < 400; ++round) {
    const FuseShape shape{.keys = 1,
                          .shards = 1 + random() % 5,
                          .seed = random(),
                          .segments = static_cast<std::uint32_t>(1 + random() % 9),
                          .segment_bits = static_cast<std::uint32_t>(random() % 8),
                          .arity = static_cast<std::uint32_t>(3 + random() % 2),
                          .width = static_cast<std::uint32_t>(1 + random() % 32)};
    // On the heap by itself, just as long as the shape says.
    std::vector<std::uint64_t> words(BinaryFuse::bytes(shape) / 8);
    for (std::uint64_t& word : words) word = random();
    const auto bytes = std::as_writable_bytes(std::span(words));
    ASSERT_TRUE(BinaryFuse::check(shape, bytes.size())) << "seed " << seed << " round " << round;
    const BinaryFuse set(shape, bytes);
    const auto answers = std::make_unique<bool[]>(asked.size());
    pipeline(set, ReadyInputs<Hash>(asked), step_keys, asking(set), ToBools(answers.get()));
    for (std::size_t i = 0; i < asked.size(); ++i)
      ASSERT_EQ(answers[i], set.may_contain(set.locate(asked[i])));
    for (const std::uint64_t extreme : {std::uint64_t{0}, ~std::uint64_t{0}})
      set.may_contain(set.locate({hash_mixed_to(extreme) ^ shape.seed}));
  }
}

TEST(BinaryFuse, OpensFromItsParts) {
  const Hashes hashes = hashes_of(5'000);
  const auto fuse = built(hashes, {.rate = 0.01}).value();
  Part part{.kind = BinaryFuse::id.number,
            .shape = encode_shape<BinaryFuse>(fuse.shape),
            .capacity = 5'000,
            .rate_asked = 0.01,
            .adds = 5'000};
  part.payload = fuse.memory.bytes();
  const auto owned = Owned<BinaryFuse>::from_part(std::move(part)).value();
  for (const Hash hash : hashes) EXPECT_TRUE(owned.may_contain(hash));
  EXPECT_EQ(owned.estimate(), 5'000);
}

// Red means: sets that were saved are read as noise. Never change the law, only add another kind.
TEST(BinaryFuse, GoldenBytes) {
  const Hashes hashes = hashes_of(1'000);
  EXPECT_EQ(checksum(BinaryFuse::build_as(hashes, {3, 8}).value()), 0x0dac'b9fc'1b3e'd5b1);
  EXPECT_EQ(checksum(BinaryFuse::build_as(hashes, {4, 8}).value()), 0x99cd'd818'65ae'bcfc);
  EXPECT_EQ(checksum(BinaryFuse::build_as(hashes, {3, 7}).value()), 0x56ba'1cc9'2683'ab71);
  EXPECT_EQ(checksum(BinaryFuse::build_as(hashes, {4, 21}).value()), 0x8918'becf'4d42'c142);
}

}  // namespace
}  // namespace bloomery::detail
