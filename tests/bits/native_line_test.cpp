// The inlined line for one key against the law. Compiled twice: for any CPU, and in native_tests
// for this CPU, where it takes the wide path.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/native_line.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::detail {
namespace {

using Line = std::array<std::uint64_t, lanes_per_line>;

TEST(NativeLine, MarksTheBitsOfTheLaw) {
  std::mt19937_64 random(21);
  for (unsigned probes = 1; probes <= 8; ++probes) {
    const Round round = round_of(probes);
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t hash = random();
      const std::uint64_t constant = random() | 1;
      alignas(64) Line line{};
      ASSERT_TRUE(LineOps<ThisCpu>::round_mark(
          line.data(), LineOps<ThisCpu>::round_bits(hash, constant, round)));
      ASSERT_EQ(line, line_mask(hash * constant, 0, probes).lanes) << probes << " probes";
      ASSERT_TRUE(LineOps<ThisCpu>::round_has(line.data(),
                                              LineOps<ThisCpu>::round_bits(hash, constant, round)));
      ASSERT_FALSE(LineOps<ThisCpu>::round_mark(
          line.data(), LineOps<ThisCpu>::round_bits(hash, constant, round)));
      ASSERT_EQ(line, line_mask(hash * constant, 0, probes).lanes);
    }
  }
}

TEST(NativeLine, KeepsWhatWasThere) {
  std::mt19937_64 random(22);
  for (unsigned probes = 1; probes <= 8; ++probes) {
    const Round round = round_of(probes);
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t hash = random();
      const std::uint64_t constant = random() | 1;
      alignas(64) Line line;
      for (std::uint64_t& word : line) word = random() & random();
      const LineMask mask = line_mask(hash * constant, 0, probes);
      Line expected = line;
      const bool before = line_has(expected.data(), mask);
      line_mark(expected.data(), mask);
      ASSERT_EQ(LineOps<ThisCpu>::round_has(line.data(),
                                            LineOps<ThisCpu>::round_bits(hash, constant, round)),
                before);
      ASSERT_EQ(LineOps<ThisCpu>::round_mark(line.data(),
                                             LineOps<ThisCpu>::round_bits(hash, constant, round)),
                !before);
      ASSERT_EQ(line, expected);
    }
  }
}

TEST(NativeLine, NoticesEachMissingBit) {
  std::mt19937_64 random(23);
  for (unsigned probes = 1; probes <= 8; ++probes) {
    const Round round = round_of(probes);
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t hash = random();
      const std::uint64_t constant = random() | 1;
      const LineMask mask = line_mask(hash * constant, 0, probes);
      for_each_one(mask.lanes, [&](std::uint64_t bit) {
        alignas(64) Line line;
        std::ranges::fill(line, ~std::uint64_t{0});
        clear_bit(line, bit);
        ASSERT_FALSE(LineOps<ThisCpu>::round_has(
            line.data(), LineOps<ThisCpu>::round_bits(hash, constant, round)))
            << bit;
        ASSERT_TRUE(LineOps<ThisCpu>::round_mark(
            line.data(), LineOps<ThisCpu>::round_bits(hash, constant, round)))
            << bit;
        ASSERT_TRUE(LineOps<ThisCpu>::round_has(
            line.data(), LineOps<ThisCpu>::round_bits(hash, constant, round)));
      });
    }
  }
}

// As above, for whole keys: those of one set, in a loop that may keep its constants in registers.
TEST(NativeLine, LoneKeysAreTheLawInTheChosenLine) {
  constexpr std::uint64_t blocks = 37;
  for (unsigned probes = 1; probes <= 8; ++probes) {
    std::mt19937_64 random(24);
    alignas(64) std::array<std::uint64_t, blocks * lanes_per_line> words{};
    const LoneView set{round_of(probes), blocks, words.data()};
    std::array<std::uint64_t, blocks * lanes_per_line> law{};
    std::size_t fresh = 0;
    std::size_t law_fresh = 0;
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t hash = random();
      const LineMask mask = line_mask(remix(Hash{hash}, 0), 0, probes);
      std::uint64_t* line = law.data() + mulhi(hash, blocks) * lanes_per_line;
      ASSERT_EQ(lone_has(set, hash), line_has(line, mask));
      law_fresh += !line_has(line, mask);
      line_mark(line, mask);
      fresh += lone_mark(set, hash);
      ASSERT_TRUE(lone_has(set, hash));
    }
    EXPECT_EQ(words, law) << probes << " probes";
    EXPECT_EQ(fresh, law_fresh);
  }
}

}  // namespace
}  // namespace bloomery::detail
