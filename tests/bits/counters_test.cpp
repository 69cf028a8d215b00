// Counters in words beside an array of plain integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/detail/bits/counters.hpp>

namespace bloomery::detail {
namespace {

struct Pair {
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> plain;
};

// Words of values that are often zero or at their end.
Pair drawn(unsigned bits, std::mt19937_64& random) {
  Pair pair{std::vector<std::uint64_t>(8), std::vector<std::uint64_t>(8 * 64 / bits)};
  const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
  for (std::size_t i = 0; i < pair.plain.size(); ++i) {
    const std::uint64_t die = random() % 4;
    pair.plain[i] = die == 0 ? 0 : die == 1 ? most - random() % 2 : random() & most;
    pair.words[i * bits / 64] |= pair.plain[i] << (i * bits % 64);
  }
  return pair;
}

void expect_equal(const Counters& counters, const std::vector<std::uint64_t>& plain) {
  ASSERT_EQ(counters.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(counters.get(i), plain[i]) << i;
    ASSERT_EQ(counters.get_shared(i), plain[i]) << i;
  }
  EXPECT_EQ(counters.count_nonzero(),
            plain.size() - static_cast<std::size_t>(std::ranges::count(plain, 0)));
  EXPECT_EQ(counters.count_stuck(),
            static_cast<std::size_t>(std::ranges::count(plain, counters.most())));
}

TEST(Counters, AgreeWithPlainIntegers) {
  for (const unsigned bits : {4, 8, 16, 32}) {
    SCOPED_TRACE(bits);
    std::mt19937_64 random(bits);
    for (int round = 0; round < 200; ++round) {
      Pair one = drawn(bits, random);
      Pair other = drawn(bits, random);
      Counters counters(one.words, bits);
      Counters others(other.words, bits);
      expect_equal(counters, one.plain);
      const std::uint64_t most = counters.most();

      for (int i = 0; i < 50; ++i) {
        const std::size_t at = random() % one.plain.size();
        const std::uint64_t before = one.plain[at];
        const std::uint64_t die = random() % 3;
        if (die == 0) {
          EXPECT_EQ(counters.raise(at), before);
          one.plain[at] += before != most;
        } else if (die == 1) {
          EXPECT_EQ(counters.raise_shared(at), before);
          one.plain[at] += before != most;
        } else if (before != 0) {
          counters.lower(at);
          one.plain[at] -= before != most;
        }
      }
      expect_equal(counters, one.plain);

      if (round % 2 == 0) {
        counters.add(others);
        for (std::size_t i = 0; i < one.plain.size(); ++i)
          one.plain[i] = std::min(one.plain[i] + other.plain[i], most);
      } else {
        counters.keep_smaller(others);
        for (std::size_t i = 0; i < one.plain.size(); ++i)
          one.plain[i] = std::min(one.plain[i], other.plain[i]);
      }
      expect_equal(counters, one.plain);
      expect_equal(others, other.plain);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
