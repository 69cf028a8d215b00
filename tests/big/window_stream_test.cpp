// A window of a million over a stream of a hundred million.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace bloomery::detail {
namespace {

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = first + i;
  return keys;
}

TEST(BigWindow, TheLastMillionOfAHundredMillionAreAlwaysFoundInConstantMemory) {
  constexpr std::uint64_t window = 1'000'000;
  constexpr std::uint64_t stream = 100'000'000;
  constexpr std::uint64_t group = 50'000;
  constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;
  constexpr double rate = 0.01;
  Set<WindowBloom> set({.keys = window, .rate = rate});
  const std::uint64_t bytes = set.bytes();
  double worst = 0;
  std::uint64_t asked = 0, passed = 0;
  for (std::uint64_t end = group; end <= stream; end += group) {
    set.add_all(numbers(end - group, group));
    if (end < window) continue;
    // The oldest that must be there would be the first to go.
    ASSERT_EQ(set.count_may_contain(numbers(end - window, group)), group) << "at " << end;
    if (end % 1'000'000 == 0) {
      ASSERT_EQ(set.count_may_contain(numbers(end - window, window)), window) << "at " << end;
    }
    passed += set.count_may_contain(numbers(first_stranger + asked, 10'000));
    asked += 10'000;
    worst = std::max(worst, set.rate_now());
  }
  EXPECT_EQ(set.bytes(), bytes);
  EXPECT_FALSE(set.overfull());
  EXPECT_LE(worst, rate * 1.02);
  EXPECT_LE(static_cast<double>(passed) / static_cast<double>(asked), rate);
  RecordProperty("bits_per_key", std::to_string(static_cast<double>(bytes) * 8 / window));
  RecordProperty("rate", std::to_string(static_cast<double>(passed) / static_cast<double>(asked)));
}

}  // namespace
}  // namespace bloomery::detail
