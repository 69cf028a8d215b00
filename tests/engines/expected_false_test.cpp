#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/expected_false.hpp>

namespace bloomery::detail {
namespace {

TEST(ExpectedFalse, IsWhatTheAbsentLinesTell) {
  // 1000 strangers at 10 %: 900 absent, 100 false, beside 50 members.
  EXPECT_NEAR(expected_false({1050, 150}, 0.1), 100, 1e-9);
  EXPECT_NEAR(expected_false({1'000'000, 10'000}, 0.01), 10'000, 1e-6);
}

TEST(ExpectedFalse, IsNoneWithoutMatchesOrStrangersOrRate) {
  EXPECT_EQ(expected_false({0, 0}, 0.1), 0);
  EXPECT_EQ(expected_false({1000, 0}, 0.4), 0);
  EXPECT_EQ(expected_false({1000, 1000}, 0.4), 0);
  EXPECT_EQ(expected_false({1000, 10}, 0), 0);
}

TEST(ExpectedFalse, IsNeverMoreThanTheMatches) {
  EXPECT_EQ(expected_false({1000, 3}, 0.4), 3);
  for (const double rate : {0.5, 0.99, 1.0, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(expected_false({1, 1}, rate), 1) << rate;
}

TEST(ExpectedFalse, TrustsNoFullHouseOfACrowdedSet) {
  // All matched, which at these rates says little.
  EXPECT_EQ(expected_false({100, 100}, 0.999), 100);
  EXPECT_NEAR(expected_false({100, 100}, 0.9), 9, 1e-9);
}

TEST(ExpectedFalse, SeveralSetsPassWhatOneOfThemPasses) {
  JointRate joint;
  EXPECT_EQ(joint.rate(), 0);
  joint.join(0.5);
  joint.join(0.5);
  EXPECT_NEAR(joint.rate(), 0.75, 1e-12);
  joint.join(0);
  EXPECT_NEAR(joint.rate(), 0.75, 1e-12);
  joint.join(1);
  EXPECT_EQ(joint.rate(), 1);
  JointRate small;
  small.join(1e-15);
  small.join(1e-15);
  EXPECT_NEAR(small.rate(), 2e-15, 1e-20);
}

// Against the truth, from a good set to one that holds eight times its keys.
TEST(ExpectedFalse, AgreesWithSetsThatAreAsked) {
  constexpr std::uint64_t capacity = 20'000;
  constexpr std::uint64_t strangers = 100'000;
  constexpr std::uint64_t members = 5'000;
  for (const std::uint64_t times : {1u, 3u, 8u}) {
    AnySet set = AnySet::make("blocked", {.keys = capacity, .rate = 0.01}).value();
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < times * capacity; ++i) texts.push_back(std::to_string(i));
    std::vector<std::string_view> keys(texts.begin(), texts.end());
    set.add_all(std::span<const std::string_view>(keys)).value();
    keys.resize(members);
    std::vector<std::string> others;
    for (std::uint64_t i = 0; i < strangers; ++i) others.push_back(std::to_string(i) + "s");
    keys.insert(keys.end(), others.begin(), others.end());
    const auto answers = std::make_unique<bool[]>(keys.size());
    set.may_contain_all(std::span<const std::string_view>(keys), {answers.get(), keys.size()})
        .value();
    AskedLines asked{keys.size(), 0};
    for (std::size_t i = 0; i < keys.size(); ++i) asked.matched += answers[i];
    const auto truth = static_cast<double>(asked.matched - members);
    const double told = expected_false(asked, set.rate_now());
    // Five deviations of the number of false ones, and 1 % for what the bits tell of the rate.
    EXPECT_NEAR(told, truth, 5 * std::sqrt(truth) / (1 - set.rate_now()) + 0.01 * truth) << times;
    EXPECT_GT(truth, 500) << times;
  }
}

}  // namespace
}  // namespace bloomery::detail
