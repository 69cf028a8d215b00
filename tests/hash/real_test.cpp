// Logarithms and exponentials of our own: nearly always the nearest double, the same everywhere.
#include <bloomery/detail/hash/real.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace bloomery {
namespace {

namespace real = detail::real;

constexpr int tries = 20'000;
constexpr double infinity = std::numeric_limits<double>::infinity();

// How far from the truth, in units of its last place.
double off_by(double found, long double truth) {
  const auto nearest = static_cast<double>(truth);
  const long double unit = std::nextafter(std::fabs(nearest), infinity) - std::fabs(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - truth) / unit);
}

// From 1e-300 to 1e300, in equal shares of each power.
double any_size(std::mt19937_64& random) {
  return std::pow(10.0, std::uniform_real_distribution<double>(-300, 300)(random));
}

// The truth has 64 bits of mantissa, where there are such: it is off by 2^-12 itself.
constexpr double allowed = 0.51;

class Real : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(std::numeric_limits<long double>::digits, 64) << "no longer doubles to compare with";
  }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  std::mt19937_64 random_{1};
};

TEST_F(Real, logarithms_are_the_nearest_double) {
  for (int i = 0; i < tries; ++i) {
    const double wide = any_size(random_);
    const double near = between(0.5, 2);
    for (const double x : {wide, near}) {
      ASSERT_LE(off_by(real::log(x), std::log(static_cast<long double>(x))), allowed) << x;
      ASSERT_LE(off_by(real::log2(x), std::log2(static_cast<long double>(x))), allowed) << x;
    }
    const double part = between(-0.999, 1);
    const double small = part * std::pow(10.0, between(-20, 0));
    for (const double x : {part, small, wide})
      ASSERT_LE(off_by(real::log1p(x), std::log1p(static_cast<long double>(x))), allowed) << x;
  }
}

TEST_F(Real, exponentials_are_the_nearest_double) {
  for (int i = 0; i < tries; ++i) {
    const double wide = between(-700, 700);
    const double near = between(-1, 1);
    const double small = near * std::pow(10.0, between(-20, 0));
    for (const double x : {wide, near, small}) {
      ASSERT_LE(off_by(real::exp(x), std::exp(static_cast<long double>(x))), allowed) << x;
      ASSERT_LE(off_by(real::expm1(x), std::expm1(static_cast<long double>(x))), allowed) << x;
    }
    const double base = std::pow(10.0, between(-12, 3));
    const double power = between(-20, 25);
    ASSERT_LE(off_by(real::pow(base, power),
                     std::pow(static_cast<long double>(base), static_cast<long double>(power))),
              allowed)
        << base << " ^ " << power;
  }
}

TEST_F(Real, powers_of_two_are_exact) {
  for (int exponent = -1000; exponent <= 1000; ++exponent)
    ASSERT_EQ(real::log2(std::ldexp(1.0, exponent)), exponent);
}

TEST_F(Real, the_ends_are_those_of_the_standard) {
  EXPECT_EQ(real::log(0), -infinity);
  EXPECT_TRUE(std::isnan(real::log(-1)));
  EXPECT_EQ(real::log(1), 0);
  EXPECT_EQ(real::log2(0), -infinity);
  EXPECT_EQ(real::log1p(-1), -infinity);
  EXPECT_EQ(real::exp(-infinity), 0);
  EXPECT_EQ(real::exp(710), infinity);
  EXPECT_EQ(real::exp(0), 1);
  EXPECT_EQ(real::expm1(-100), -1);
  EXPECT_EQ(real::expm1(-infinity), -1);
  EXPECT_EQ(real::expm1(infinity), infinity);
  EXPECT_EQ(real::pow(0, 3), 0);
  EXPECT_EQ(real::pow(5, 0), 1);
  EXPECT_EQ(real::pow(0.5, infinity), 0);
  EXPECT_GT(real::exp(-745), 0) << "the smallest doubles are reached";
}

// Any build, any CPU, also WebAssembly: the same bits.
TEST_F(Real, bits_are_pinned) {
  std::uint64_t sum = 0;
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    for (const double value :
         {real::log(share), real::log2(share), real::log1p(-share), real::exp(-100 * share),
          real::expm1(-share), real::pow(share, 20 * share)})
      sum = std::rotl(sum, 7) ^ std::bit_cast<std::uint64_t>(value);
  }
  EXPECT_EQ(sum, 668'993'491'827'378'658U);
}

}  // namespace
}  // namespace bloomery
