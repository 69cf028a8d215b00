// Folding is exact: what it gives is a set of the smaller shape that was given the same keys.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/detail/sets/kinds/counting_bloom.hpp>
#include <bloomery/detail/sets/kinds/cuckoo.hpp>
#include <bloomery/detail/sets/kinds/split_block.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/sets/fold.hpp>

namespace bloomery::detail {
namespace {

static_assert(Foldable<ClassicBloom> && Foldable<BlockedBloom> && Foldable<SplitBlock>);
static_assert(!Foldable<CountingBloom> && !Foldable<Cuckoo>);

template <class K>
Owned<K> of_shape(const typename K::Shape& shape, std::uint64_t keys) {
  auto memory = Memory::make(K::bytes(shape));
  Part part{.kind = K::id.number, .shape = encode_shape<K>(shape), .capacity = keys};
  part.rate_asked = 0.01;
  part.payload = memory->bytes();
  part.memory = std::move(*memory);
  Owned<K> set = Owned<K>::from_part(std::move(part)).value();
  for (std::uint64_t i = 0; i < keys; ++i) set.add(Hasher(5)(i));
  return set;
}

template <class K>
void expect_exact(const typename K::Shape& shape, std::uint64_t factor, std::uint64_t keys) {
  SCOPED_TRACE(std::string(K::id.name) + " by " + std::to_string(factor));
  const Owned<K> large = of_shape<K>(shape, keys);
  const auto small = folded(large, factor, 0.01);
  ASSERT_TRUE(small) << small.error().sentence;
  const Owned<K> built = of_shape<K>(K::folded(shape, factor), keys);
  const auto bytes = small->part().payload;
  const auto expected = built.part().payload;
  ASSERT_EQ(bytes.size(), large.bytes() / factor);
  ASSERT_EQ(bytes.size(), expected.size());
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
  EXPECT_EQ(small->adds(), large.adds());
}

TEST(Fold, GivesTheBytesOfASetMadeSmall) {
  for (const std::uint64_t factor : {1, 2, 3, 4, 6, 12}) {
    expect_exact<ClassicBloom>({.bits = 12 * 512, .probes = 5}, factor, 300);
    expect_exact<BlockedBloom>({.blocks = 24, .probes = 6, .lines = 1}, factor, 300);
    expect_exact<BlockedBloom>({.blocks = 24, .probes = 12, .lines = 2}, factor, 300);
    expect_exact<SplitBlock>({.blocks = 36}, factor, 300);
  }
}

TEST(Fold, AFactorThatDoesNotDivideIsRefused) {
  const auto set = of_shape<BlockedBloom>({.blocks = 24, .probes = 6, .lines = 1}, 10);
  for (const std::uint64_t factor : {0, 5, 7, 25, 48}) {
    const auto small = folded(set, factor, 0.01);
    ASSERT_FALSE(small) << factor;
    EXPECT_EQ(small.error().code, Code::impossible);
    EXPECT_NE(small.error().sentence.find("24 blocks"), std::string::npos);
  }
}

template <class K>
void expect_kept_rate(std::uint64_t planned, std::uint64_t came) {
  SCOPED_TRACE(std::string(K::id.name));
  auto large = Owned<K>::make({.keys = planned, .rate = 0.01}).value();
  for (std::uint64_t i = 0; i < came; ++i) large.add(Hasher(5)(i));
  const std::uint64_t factor = best_fold(large, 0.01);
  EXPECT_GE(factor, 8);  // planned 20 times too large, and 16 divides
  const auto small = folded(large, factor, 0.01).value();
  EXPECT_LE(small.rate_now(), 0.0102);
  EXPECT_FALSE(small.overfull());
  EXPECT_GE(small.capacity(), came);
  EXPECT_LE(K::expected_rate(small.kind().shape(), small.capacity()), 0.01);
  EXPECT_GT(K::expected_rate(small.kind().shape(), small.capacity() + came / 100), 0.01);
  for (std::uint64_t i = 0; i < came; ++i) ASSERT_TRUE(small.may_contain(Hasher(5)(i))) << i;
  std::uint64_t strangers = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) strangers += small.may_contain(Hasher(5)(came + i));
  EXPECT_LE(strangers, 2'250);  // 2,000 expected at most, five spreads
  // The next factor would lose the rate.
  const std::uint64_t units = K::fold_units(large.kind().shape());
  for (std::uint64_t next = factor + 1; next <= 64; ++next)
    if (units % next == 0) {
      EXPECT_GT(K::expected_rate(K::folded(large.kind().shape(), next), came), 0.01);
      break;
    }
}

TEST(Fold, TheBestFactorKeepsTheRateAndEveryKey) {
  expect_kept_rate<ClassicBloom>(8'000'000, 400'000);
  expect_kept_rate<BlockedBloom>(2'000'000, 100'000);
  expect_kept_rate<SplitBlock>(2'000'000, 100'000);
}

TEST(Fold, ASetThatIsFullIsNotFolded) {
  auto set = Owned<BlockedBloom>::make({.keys = 50'000, .rate = 0.01}).value();
  for (std::uint64_t i = 0; i < 50'000; ++i) set.add(Hasher(5)(i));
  EXPECT_EQ(best_fold(set, 0.01), 1);
  EXPECT_GT(best_fold(set, 0.3), 1);
  set.fill();
  EXPECT_EQ(best_fold(set, 0.3), 1);
}

TEST(Fold, KindsWithoutNeighboursSayWhy) {
  for (const char* kind : {"counting", "spectral", "cuckoo", "window", "hash-set", "chain"}) {
    const auto set = AnySet::make(kind, {.keys = 100, .rate = 0.01}).value();
    const auto best = set.best_fold(0.01);
    ASSERT_FALSE(best) << kind;
    EXPECT_EQ(best.error().code, Code::unsound);
    const auto small = set.folded(2, 0.01);
    ASSERT_FALSE(small) << kind;
    EXPECT_NE(small.error().sentence.find(kind), std::string::npos);
  }
}

}  // namespace
}  // namespace bloomery::detail
