// The mathematics behind plans, against sums and numbers worked out another way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/detail/sets/plan.hpp>

namespace bloomery::detail {
namespace {

TEST(Plan, ClassicFormulasAgreeWithEachOther) {
  EXPECT_NEAR(plan::classic_bits(1, 0.01), 9.585, 0.001);
  EXPECT_NEAR(plan::classic_bits(1'000, 1e-6), 28'755, 1);
  EXPECT_NEAR(plan::classic_rate(1'000, plan::classic_bits(1'000, 1.0 / 128), 7), 1.0 / 128, 1e-6);
  EXPECT_EQ(plan::classic_rate(0, 512, 7), 0);
}

TEST(Plan, PoissonMeanIsTheMeanOverThePoissonChances) {
  for (const double mean : {0.0, 0.01, 1.0, 7.5, 51.0, 1'000.0, 2e6}) {
    EXPECT_NEAR(plan::poisson_mean(mean, [](double) { return 1.0; }), 1, 1e-9) << mean;
    EXPECT_NEAR(plan::poisson_mean(mean, [](double j) { return j; }), mean, 1e-6 * (1 + mean));
    // e^(-j) has the mean e^(mean (1/e - 1)).
    if (mean < 100) {
      const double expected = std::exp(mean * (std::exp(-1.0) - 1));
      EXPECT_NEAR(plan::poisson_mean(mean, [](double j) { return std::exp(-j); }), expected,
                  1e-9 * expected + 1e-15)
          << mean;
    }
  }
}

TEST(Plan, RatesOfBlocksRiseWithTheirKeysAndAreAboveTheClassicOnes) {
  for (const unsigned probes : {1U, 4U, 6U, 8U, 11U, 16U}) {
    double before = 0;
    for (const double mean : {1.0, 5.0, 20.0, 51.0, 100.0, 400.0}) {
      const double rate = plan::line_rate(mean, probes);
      EXPECT_GT(rate, before) << probes << " probes, " << mean << " keys";
      EXPECT_LE(rate, 1);
      if (probes > 1) {
        EXPECT_GT(rate, plan::classic_rate(mean, 512, probes) * 0.99) << probes << " " << mean;
      }
      before = rate;
    }
  }
  // From Parquet's specification: 1.26 % at 10 bits a key.
  EXPECT_NEAR(plan::split_rate(25.6), 0.01265, 0.0001);
}

// The law: bisection of the lines a key needs, for every number of probes, each term of each sum
// from the formula. Sets that were planned alike by any version have equal shapes, so what is
// planned faster is the same to the last digit.
double searched_rate(double mean, unsigned probes) {
  const double log_spared = std::log(plan::line_bit_spared(probes));
  return plan::poisson_mean(mean, [&](double keys) {
    const double set = -std::expm1(keys * log_spared);
    double all = 1;
    for (unsigned i = 0; i < probes; ++i) all *= set;
    return all;
  });
}
plan::FullestLine searched_line(double rate) {
  plan::FullestLine best{1, 0};
  for (unsigned probes = 1; probes <= max_line_probes; ++probes) {
    const double lines = plan::smallest(
        1e-4, 4, [&](double tried) { return searched_rate(1 / tried, probes) <= rate; });
    if (1 / lines > best.mean) best = {probes, 1 / lines};
  }
  return best;
}

TEST(Plan, TheFullestLineIsTheOneThatASearchFinds) {
  std::vector<double> rates = {0.5, 0.3, 0.05, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-9, 1e-12};
  // Where one probe more begins to pay, and beside it.
  for (const double border : {0.38092098238101207, 0.0091464838091772586, 2.2068790274881216e-06})
    for (const double beside : {0.0, 1e-12, 1e-9, 1e-5, -1e-12, -1e-9, -1e-5})
      rates.push_back(border * (1 + beside));
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> logs(std::log(1e-12), std::log(0.5));
  for (int i = 0; i < 200; ++i) rates.push_back(std::exp(logs(random)));
  for (const double rate : rates) {
    const plan::FullestLine found = plan::fullest_line(rate, max_line_probes);
    const plan::FullestLine searched = searched_line(rate);
    EXPECT_EQ(found.probes, searched.probes) << rate;
    EXPECT_DOUBLE_EQ(found.mean, searched.mean) << rate;
  }
}

TEST(Plan, RatesOfLinesAreTheMeansThatTheFormulaGives) {
  for (const unsigned probes : {1U, 2U, 6U, 8U, 9U, 16U})
    for (const double mean : {0.0, 1e-3, 0.9, 1.0, 7.0, 19.99, 20.0, 51.2, 400.0, 1e5, 2e6}) {
      const double searched = searched_rate(mean, probes);
      EXPECT_NEAR(plan::line_rate(mean, probes), searched, 1e-12 * searched) << mean;
    }
}

TEST(Plan, ASparedBitIsOneThatNoProbeTakes) {
  EXPECT_DOUBLE_EQ(plan::line_bit_spared(1), 1 - 1.0 / 512);
  EXPECT_DOUBLE_EQ(plan::line_bit_spared(8), 63.0 / 64);
  EXPECT_DOUBLE_EQ(plan::line_bit_spared(16), 63.0 / 64 * 63.0 / 64);
  EXPECT_DOUBLE_EQ(plan::line_bit_spared(12), 63.0 / 64 * (1 - 4.0 / 512));
}

TEST(Plan, SmallestFindsWhereAConditionBegins) {
  EXPECT_NEAR(plan::smallest(0, 10, [](double x) { return x * x >= 2; }), std::sqrt(2), 1e-7);
  EXPECT_NEAR(plan::smallest(-30, -1, [](double x) { return x >= -7; }), -7, 1e-6);
}

TEST(Plan, RangesAreCheckedToTheirEnds) {
  EXPECT_TRUE(check_range({0, 0}, 48));
  EXPECT_TRUE(check_range({0, (std::uint64_t{1} << 48) - 1}, 48));
  EXPECT_FALSE(check_range({0, std::uint64_t{1} << 48}, 48));
  EXPECT_FALSE(check_range({2, 1}, 48));
  EXPECT_FALSE(Range{}.given());
  EXPECT_TRUE((Range{0, 0}.given()));
  EXPECT_TRUE((Range{5, 2}.given()));
}

TEST(Plan, RatesAreCheckedToTheirEnds) {
  EXPECT_TRUE(check_keys_and_rate({.keys = 1, .rate = 0.5}));
  EXPECT_TRUE(check_keys_and_rate({.keys = std::uint64_t{1} << 50, .rate = 1e-12}));
  EXPECT_FALSE(check_keys_and_rate({.keys = 1, .rate = 0.5000001}));
  EXPECT_FALSE(check_keys_and_rate({.keys = 1, .rate = 0.99e-12}));
  EXPECT_FALSE(check_keys_and_rate({.keys = 1, .rate = std::nan("")}));
}

TEST(Plan, LengthsMustFitExactly) {
  EXPECT_TRUE(check_length("classic", 64, 64));
  auto refused = check_length("classic", 64, 63);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::damaged);
  EXPECT_NE(refused.error().sentence.find("classic"), std::string::npos);
  EXPECT_NE(refused.error().sentence.find("63"), std::string::npos);
}

template <class K>
void expect_tight(std::uint64_t memory) {
  const Want by_rate = complete<K>({.rate = 0.01, .memory_bytes = memory}).value();
  EXPECT_LE(K::bytes(K::plan(by_rate).value()), memory);
  Want one_more = by_rate;
  ++one_more.keys;
  EXPECT_GT(K::bytes(K::plan(one_more).value()), memory);

  const Want by_keys = complete<K>({.keys = 1'000, .memory_bytes = memory}).value();
  EXPECT_LE(K::bytes(K::plan(by_keys).value()), memory);
  Want stricter = by_keys;
  stricter.rate = std::max(by_keys.rate * 0.8, 1e-12);
  if (by_keys.rate > 1.1e-12) {
    EXPECT_GT(K::bytes(K::plan(stricter).value()), memory);
  }
}

TEST(Plan, MemoryGivesTheMostKeysOrTheLowestRate) {
  for (const std::uint64_t memory : {2'048, 65'536, 1'000'000}) {
    expect_tight<ClassicBloom>(memory);
    expect_tight<BlockedBloom>(memory);
  }
}

TEST(Plan, EnormousMemoryIsNoReasonToRefuse) {
  for (const std::uint64_t memory :
       {std::uint64_t{1} << 61, (std::uint64_t{1} << 62) + 5, ~std::uint64_t{0}}) {
    const auto want = complete<ClassicBloom>({.rate = 0.01, .memory_bytes = memory});
    ASSERT_TRUE(want) << want.error().sentence;
    EXPECT_EQ(want->keys, std::uint64_t{1} << 50);
  }
}

TEST(Plan, AllThreeGivenMakesMemoryACap) {
  const Want want{.keys = 1'000, .rate = 0.01, .memory_bytes = 1 << 20};
  EXPECT_EQ(complete<ClassicBloom>(want).value().keys, 1'000);
  EXPECT_EQ(complete<ClassicBloom>(want).value().rate, 0.01);
  EXPECT_FALSE(complete<ClassicBloom>({.keys = 1'000, .rate = 0.01, .memory_bytes = 1'000}));
  EXPECT_FALSE(complete<ClassicBloom>({.memory_bytes = 1'000}));
}

// Below 1e-4 blocked takes two lines and suddenly fewer bytes: the search must not stop above.
TEST(Plan, TheLowestRateThatFitsIsFoundBeyondTheStepFromOneLineToTwo) {
  const auto want = complete<BlockedBloom>({.keys = 1'000'000, .memory_bytes = 2650 * 1024});
  ASSERT_TRUE(want);
  EXPECT_LT(want->rate, 6.1e-5);
}

TEST(Plan, LogFactorialIsThatOfTheProducts) {
  double product = 1;
  for (int n = 1; n <= 60; ++n) {
    product *= n;
    EXPECT_NEAR(plan::log_factorial(n), std::log(product), 1e-8) << n;
  }
}

}  // namespace
}  // namespace bloomery::detail
