#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::detail {
namespace {

using Lanes = std::array<std::uint64_t, lanes_per_line>;

// The picture in block.hpp, read field by field from a string of bits.
class Drawn {
 public:
  explicit Drawn(std::uint64_t remixed) : remixed_(remixed) {}

  unsigned place_in(unsigned lane) const { return bits(16 + 6 * lane, 6); }
  unsigned start() const { return bits(13, 3); }

 private:
  unsigned bits(unsigned from, unsigned width) const {
    unsigned value = 0;
    for (unsigned i = 0; i < width; ++i)
      value += static_cast<unsigned>((remixed_ >> (from + i)) & 1) << i;
    return value;
  }
  std::uint64_t remixed_;
};

void draw_round(Lanes& lanes, const Drawn& drawn, unsigned probes) {
  std::set<unsigned> taken;
  for (unsigned lane = 0; lane < 8; ++lane)
    if (probes == 8) taken.insert(lane);
  for (unsigned i = 0; i < probes && probes < 8; ++i) taken.insert((drawn.start() + i) % 8);
  for (const unsigned lane : taken) lanes[lane] |= std::uint64_t{1} << drawn.place_in(lane);
}

TEST(LineLaw, MaskIsAsDrawn) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t first = random();
    const std::uint64_t second = random();
    for (unsigned probes = 1; probes <= max_line_probes; ++probes) {
      Lanes expected{};
      draw_round(expected, Drawn(first), std::min(probes, 8U));
      if (probes > 8) draw_round(expected, Drawn(second), probes - 8);
      ASSERT_EQ(line_mask(first, second, probes).lanes, expected) << probes << " probes";
    }
  }
}

TEST(LineLaw, ExamplesByHand) {
  // All fields zero: bit 0 of each lane, from lane 0 on.
  EXPECT_EQ(line_mask(0, 0, 3).lanes, (Lanes{1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(line_mask(0, 0, 8).lanes, (Lanes{1, 1, 1, 1, 1, 1, 1, 1}));
  // Start 6 runs over the end.
  EXPECT_EQ(line_mask(std::uint64_t{6} << 13, 0, 4).lanes, (Lanes{1, 1, 0, 0, 0, 0, 1, 1}));
  // Lane 2 is given place 63, lane 7 place 32.
  const std::uint64_t places = std::uint64_t{63} << 28 | std::uint64_t{32} << 58;
  EXPECT_EQ(line_mask(places, 0, 8).lanes,
            (Lanes{1, 1, std::uint64_t{1} << 63, 1, 1, 1, 1, std::uint64_t{1} << 32}));
  // A second round of two, from lane 5, each at place 1.
  const std::uint64_t second =
      std::uint64_t{5} << 13 | std::uint64_t{1} << 46 | std::uint64_t{1} << 52;
  EXPECT_EQ(line_mask(0, second, 10).lanes, (Lanes{1, 1, 1, 1, 1, 3, 3, 1}));
}

TEST(LineLaw, UpToEightProbesAreThatManyDifferentBitsInDifferentLanes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t remixed = random();
    for (unsigned probes = 1; probes <= 8; ++probes) {
      const LineMask mask = line_mask(remixed, random(), probes);
      ASSERT_EQ(count_ones(mask.lanes), probes);
      for (const std::uint64_t lane : mask.lanes) ASSERT_LE(std::popcount(lane), 1);
    }
  }
}

TEST(LineLaw, TheThirteenLowestBitsAreUnspent) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t remixed = random();
    const std::uint64_t other = remixed ^ (random() & 0x1fff);
    for (unsigned probes = 1; probes <= 16; ++probes)
      ASSERT_EQ(line_mask(remixed, remixed, probes).lanes, line_mask(other, other, probes).lanes);
  }
}

TEST(LineLaw, AFullRoundDoesNotReadItsStart) {
  for (std::uint64_t start = 0; start < 8; ++start) {
    const std::uint64_t remixed = 0x0123'4567'89ab'0000 | start << 13;
    EXPECT_EQ(line_mask(remixed, 0, 8).lanes, line_mask(0x0123'4567'89ab'0000, 0, 8).lanes);
    EXPECT_EQ(line_mask(remixed, remixed, 16).lanes, line_mask(remixed, remixed, 8).lanes);
  }
}

TEST(LineLaw, AboveEightProbesTheSecondRemixPaysForTheRest) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t first = random();
    const std::uint64_t second = random();
    for (unsigned probes = 9; probes <= 16; ++probes) {
      const Lanes all = line_mask(first, second, probes).lanes;
      const Lanes one = line_mask(first, 0, 8).lanes;
      const Lanes two = line_mask(second, 0, probes - 8).lanes;
      for (std::size_t lane = 0; lane < 8; ++lane) ASSERT_EQ(all[lane], one[lane] | two[lane]);
    }
  }
}

TEST(LineLaw, UpToEightProbesReadOnlyTheFirstRemix) {
  for (unsigned probes = 1; probes <= 8; ++probes)
    EXPECT_EQ(line_mask(0xdead'beef'dead'beef, 1, probes).lanes,
              line_mask(0xdead'beef'dead'beef, ~std::uint64_t{0}, probes).lanes);
}

TEST(LineLaw, HasAsksForEveryBitOfTheMask) {
  std::mt19937_64 random(5);
  for (unsigned probes = 1; probes <= 16; ++probes) {
    const LineMask mask = line_mask(random(), random(), probes);
    Lanes line{};
    EXPECT_FALSE(line_has(line.data(), mask));
    line_mark(line.data(), mask);
    EXPECT_EQ(line, mask.lanes);
    EXPECT_TRUE(line_has(line.data(), mask));
    for_each_one(mask.lanes, [&](std::uint64_t bit) {
      Lanes nearly;
      nearly.fill(~std::uint64_t{0});
      clear_bit(nearly, bit);
      EXPECT_FALSE(line_has(nearly.data(), mask)) << "bit " << bit;
    });
    Lanes others;
    for (std::size_t i = 0; i < 8; ++i) others[i] = ~mask.lanes[i];
    EXPECT_FALSE(line_has(others.data(), mask));
    line_mark(others.data(), mask);
    EXPECT_EQ(count_ones(others), line_bits);
  }
}

// How far the visits of the 512 bits are from equal; about 511, give or take 32, if they are equal
// up to chance.
template <class DrawHash>
double unevenness(unsigned probes, std::size_t first_use, DrawHash&& draw) {
  constexpr int keys = 100'000;
  std::vector<int> visits(line_bits);
  for (int i = 0; i < keys; ++i) {
    const Hash hash{draw()};
    const LineMask mask = line_mask(remix(hash, first_use), remix(hash, first_use + 1), probes);
    for_each_one(mask.lanes, [&](std::uint64_t bit) { ++visits[bit]; });
  }
  // A full round visits a bit with chance 1/64; r probes of a last round with r/512.
  const double spared =
      probes <= 8 ? 1 - probes / 512.0 : (1 - 1 / 64.0) * (1 - (probes - 8) / 512.0);
  const double expected = keys * (1 - spared);
  double sum = 0;
  for (const int count : visits) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(LineLaw, EveryBitIsEquallyLikelyForEveryNumberOfProbes) {
  for (unsigned probes = 1; probes <= 16; ++probes) {
    std::mt19937_64 random(probes);
    const double sum = unevenness(probes, 0, random);
    EXPECT_GT(sum, 511 - 6 * 32) << probes << " probes";
    EXPECT_LT(sum, 511 + 6 * 32) << probes << " probes";
  }
}

// The keys of one block share their top bits; what is left must still reach every bit.
TEST(LineLaw, EveryBitIsEquallyLikelyAmongTheKeysOfOneBlock) {
  for (const unsigned shared_bits : {8U, 20U, 30U})
    for (const unsigned probes : {1U, 6U, 8U, 13U})
      for (const std::size_t first_use : {std::size_t{0}, std::size_t{3}}) {
        std::mt19937_64 random(shared_bits + probes);
        const std::uint64_t block = random() << (64 - shared_bits);
        const double sum =
            unevenness(probes, first_use, [&] { return block | random() >> shared_bits; });
        EXPECT_LT(sum, 511 + 6 * 32) << shared_bits << " bits, " << probes << " probes";
      }
}

TEST(SplitLaw, BitIsChosenByTheTopFiveBitsOfTheProduct) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 2000; ++i) {
    const auto half = static_cast<std::uint32_t>(random());
    for (std::size_t word = 0; word < split_words; ++word) {
      const std::uint64_t product = std::uint64_t{half} * split_salts[word] % (1ULL << 32);
      ASSERT_EQ(split_bit(half, word), std::uint32_t{1} << (product / (1ULL << 27)));
    }
  }
}

TEST(SplitLaw, EveryBitIsEquallyLikely) {
  constexpr int keys = 100'000;
  std::vector<int> visits(split_words * 32);
  std::mt19937_64 random(7);
  for (int i = 0; i < keys; ++i) {
    const auto half = static_cast<std::uint32_t>(random());
    for (std::size_t word = 0; word < split_words; ++word)
      ++visits[word * 32 + static_cast<unsigned>(std::countr_zero(split_bit(half, word)))];
  }
  double sum = 0;
  for (const int count : visits) sum += (count - keys / 32.0) * (count - keys / 32.0) * 32 / keys;
  EXPECT_GT(sum, 248 - 6 * 22.3);
  EXPECT_LT(sum, 248 + 6 * 22.3);
}

// The same number to the last bit: reports print it.
TEST(LineLaw, TheChanceToPassIsMultipliedAndSummedInOneOrder) {
  std::mt19937_64 random(17);
  for (int n = 0; n < 200; ++n) {
    std::array<std::uint64_t, lanes_per_line> line;
    for (std::uint64_t& lane : line) lane = n == 0 ? 0 : n == 1 ? ~0ull : random() | random();
    for (unsigned probes = 1; probes <= max_line_probes; ++probes) {
      double whole = 1;
      for (const std::uint64_t lane : line) whole *= std::popcount(lane) / 64.0;
      double runs = 0;
      for (unsigned start = 0; start < lanes_per_line; ++start) {
        double run = 1;
        for (unsigned i = 0; i < probes % 8; ++i)
          run *= std::popcount(line[(start + i) % lanes_per_line]) / 64.0;
        runs += run;
      }
      const double rounds = probes < 8 ? 1 : probes < 16 ? whole : whole * whole;
      ASSERT_EQ(line_passing(line.data(), probes), rounds * runs / lanes_per_line) << probes;
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
