#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>

#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::detail {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t edges[] = {0,
                                   1,
                                   2,
                                   3,
                                   0xffff'ffff,
                                   0x1'0000'0000,
                                   0x7fff'ffff'ffff'ffff,
                                   0x8000'0000'0000'0000,
                                   ~std::uint64_t{0}};

TEST(Budget, MulhiIsTheHighWordOfTheProduct) {
  for (const std::uint64_t a : edges)
    for (const std::uint64_t b : edges)
      EXPECT_EQ(mulhi(a, b), static_cast<std::uint64_t>(Wide{a} * b >> 64)) << a << " * " << b;
  // By halves, without a 128-bit product.
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t a = random();
    const std::uint64_t b = random() >> (i % 64);
    const std::uint64_t low = (a & 0xffff'ffff) * (b & 0xffff'ffff);
    const std::uint64_t one = (a >> 32) * (b & 0xffff'ffff) + (low >> 32);
    const std::uint64_t two = (a & 0xffff'ffff) * (b >> 32) + (one & 0xffff'ffff);
    ASSERT_EQ(mulhi(a, b), (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32));
  }
}

TEST(Budget, MulhiStaysBelowTheCountAndReachesBothEnds) {
  for (const std::uint64_t count : {1ULL, 2ULL, 3ULL, 255ULL, 1000ULL, (1ULL << 48) + 7}) {
    EXPECT_EQ(mulhi(0, count), 0U);
    EXPECT_EQ(mulhi(~std::uint64_t{0}, count), count - 1);
  }
}

TEST(Budget, MulhiFoldsNeighboursTogether) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t hash = random();
    const std::uint64_t count = (random() >> (16 + i % 40)) / 16 * 16 + 16;
    ASSERT_EQ(mulhi(hash, count / 2), mulhi(hash, count) / 2) << hash << " of " << count;
    ASSERT_EQ(mulhi(hash, count / 16), mulhi(hash, count) / 16) << hash << " of " << count;
  }
}

TEST(Budget, MulhiGivesEveryBlockItsShare) {
  constexpr std::uint64_t count = 1000;
  std::array<int, count> visits{};
  std::mt19937_64 random(3);
  for (int i = 0; i < 1'000'000; ++i) ++visits[mulhi(random(), count)];
  const auto [least, most] = std::ranges::minmax(visits);
  EXPECT_GT(least, 1000 - 6 * 32);
  EXPECT_LT(most, 1000 + 6 * 32);
}

// Red means: sets no longer find the bits that they set before.
TEST(Budget, GoldenRemixConstantsAreAsPinnedAndOdd) {
  constexpr std::uint64_t pinned[] = {
      0x9e37'79b9'7f4a'7c15, 0x6a09'e667'f3bc'c909, 0xbb67'ae85'84ca'a73b,
      0x3c6e'f372'fe94'f82b, 0xa54f'f53a'5f1d'36f1, 0x510e'527f'ade6'82d1,
      0x9b05'688c'2b3e'6c1f, 0x1f83'd9ab'fb41'bd6b, 0x5be0'cd19'137e'2179};
  EXPECT_TRUE(std::ranges::equal(remix_constants, pinned));
  for (const std::uint64_t constant : remix_constants) EXPECT_EQ(constant % 2, 1U);
  EXPECT_EQ(std::set(std::begin(remix_constants), std::end(remix_constants)).size(),
            std::size(remix_constants));
}

// Red means: split blocks differ from those of Parquet.
TEST(Budget, GoldenSplitSaltsAreThoseOfParquetAndOdd) {
  constexpr std::uint32_t pinned[] = {0x47b6'137b, 0x4497'4d91, 0x8824'ad5b, 0xa2b7'289d,
                                      0x7054'95c7, 0x2df1'424b, 0x9efc'4947, 0x5c6b'fb31};
  EXPECT_TRUE(std::ranges::equal(split_salts, pinned));
  for (const std::uint32_t salt : split_salts) EXPECT_EQ(salt % 2, 1U);
}

// The comment beside the constants tells where they come from; 2^-50 is what a double can check.
TEST(Budget, RemixConstantsAreTheFractionsTheyClaimToBe) {
  const double golden_ratio = (1 + std::sqrt(5.0)) / 2;
  const double claimed[] = {1 / golden_ratio, std::sqrt(2.0),  std::sqrt(3.0),
                            std::sqrt(5.0),   std::sqrt(7.0),  std::sqrt(11.0),
                            std::sqrt(13.0),  std::sqrt(17.0), std::sqrt(19.0)};
  ASSERT_EQ(std::size(claimed), std::size(remix_constants));
  for (std::size_t i = 0; i < std::size(remix_constants); ++i)
    EXPECT_NEAR(static_cast<double>(remix_constants[i]) * 0x1p-64,
                claimed[i] - std::floor(claimed[i]), 0x1p-50)
        << i;
}

TEST(Budget, RemixMultipliesModuloTwoToThe64) {
  for (std::size_t use = 0; use < std::size(remix_constants); ++use)
    for (const std::uint64_t bits : edges)
      EXPECT_EQ(remix(Hash{bits}, use),
                static_cast<std::uint64_t>(Wide{bits} * remix_constants[use]));
}

TEST(Budget, EnoughBitsKeepsSevenInReserve) {
  // 2^40 blocks leave 24 bits; a rate of 2^-10 with one key a block spends 10 + 1 + 7.
  EXPECT_TRUE(enough_bits(std::uint64_t{1} << 40, 1, 0x1p-10));
  EXPECT_TRUE(enough_bits(std::uint64_t{1} << 46, 1, 0x1p-10));
  EXPECT_FALSE(enough_bits(std::uint64_t{1} << 47, 1, 0x1p-10));
  EXPECT_FALSE(enough_bits(std::uint64_t{1} << 46, 1, 0x1p-11));
  EXPECT_FALSE(enough_bits(std::uint64_t{1} << 46, 3, 0x1p-10));
}

}  // namespace
}  // namespace bloomery::detail
