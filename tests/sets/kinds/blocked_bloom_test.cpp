// The blocked filter: its plan, where its bits fall, and that halves fold.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/set.hpp>
#include <tests/laws/positions.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<BlockedBloom> && Mergeable<BlockedBloom> && Estimable<BlockedBloom> &&
              Prefetchable<BlockedBloom> && Batched<BlockedBloom> && OneLined<BlockedBloom> &&
              SimplyShaped<BlockedBloom>);

using Shape = BlockedBloom::Shape;

Words words_of(Memory& memory) {
  return {reinterpret_cast<std::uint64_t*>(memory.bytes().data()), memory.size() / 8};
}

TEST(BlockedBloom, TakesTwoLinesBelowOneInTenThousand) {
  EXPECT_EQ(BlockedBloom::plan({.keys = 1'000, .rate = 1e-4}).value().lines, 1);
  EXPECT_EQ(BlockedBloom::plan({.keys = 1'000, .rate = 0.99e-4}).value().lines, 2);
  EXPECT_EQ(BlockedBloom::plan({.keys = 1'000, .rate = 1e-12}).value().lines, 2);
}

TEST(BlockedBloom, BlocksAreAMultipleOfSixteenFrom256On) {
  for (std::uint64_t keys = 1; keys < 2'000'000; keys += keys / 7 + 1)
    for (const double rate : {0.1, 0.01, 1e-3, 1e-6}) {
      const auto shape = BlockedBloom::plan({.keys = keys, .rate = rate}).value();
      if (shape.blocks >= 256) {
        ASSERT_EQ(shape.blocks % 16, 0) << keys;
      }
      // Not one step larger than it must be.
      const std::uint64_t step = shape.blocks > 256 ? 16 : 1;
      if (shape.blocks > step && shape.blocks != 256) {
        const Shape smaller{shape.blocks - step, shape.probes, shape.lines};
        ASSERT_GT(BlockedBloom::expected_rate(smaller, keys), rate) << keys << " at " << rate;
      }
      ASSERT_LE(BlockedBloom::expected_rate(shape, keys), rate * 1.0001) << keys << " at " << rate;
    }
}

TEST(BlockedBloom, UpToEightProbesAreDifferentBitsInDifferentLanes) {
  for (unsigned probes = 1; probes <= 16; ++probes) {
    const Shape shape{1, probes, 1};
    auto memory = Memory::make(BlockedBloom::bytes(shape)).value();
    BlockedBloom filter(shape, memory.bytes());
    for (std::uint64_t i = 0; i < 500; ++i) {
      filter.add(filter.locate(Hasher()(i)));
      const auto ones = count_ones(words_of(memory));
      int most_in_a_lane = 0;
      for (const std::uint64_t lane : words_of(memory))
        most_in_a_lane = std::max(most_in_a_lane, std::popcount(lane));
      if (probes <= 8) {
        ASSERT_EQ(ones, probes);
        ASSERT_EQ(most_in_a_lane, 1);
      } else {
        ASSERT_GE(ones, 8);
        ASSERT_LE(ones, probes);
        ASSERT_LE(most_in_a_lane, 2);
      }
      std::ranges::fill(words_of(memory), 0);
    }
  }
}

TEST(BlockedBloom, ASecondLineHasItsOwnPlaceAndItsOwnBits) {
  const Shape shape{4'096, 8, 2};
  auto memory = Memory::make(BlockedBloom::bytes(shape)).value();
  BlockedBloom filter(shape, memory.bytes());
  int same_line = 0;
  int same_bits = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    const auto slot = filter.locate(Hasher()(i));
    filter.add(slot);
    if (slot.first == slot.second) {
      ++same_line;
    } else {
      ASSERT_EQ(count_ones(words_of(memory)), 16);
      const auto line = [&](std::uint64_t block) { return words_of(memory).subspan(block * 8, 8); };
      same_bits += std::ranges::equal(line(slot.first), line(slot.second));
    }
    for (const std::uint64_t block : {slot.first, slot.second})
      std::ranges::fill(words_of(memory).subspan(block * 8, 8), 0);
  }
  EXPECT_LE(same_line, 5);  // one in 4096
  EXPECT_EQ(same_bits, 0);
}

TEST(BlockedBloom, HalfTheBlocksIsHalfTheBlockNumber) {
  const Hasher hasher;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t hash = hasher(i).bits;
    for (const std::uint64_t blocks : {2, 16, 48, 4'096, 1'000'000, 3 << 20})
      ASSERT_EQ(mulhi(hash, blocks / 2), mulhi(hash, blocks) / 2);
  }
}

// Neighbouring blocks ORed together are the filter of half the size: sets can fold.
TEST(BlockedBloom, NeighboursOredTogetherAreTheFilterOfHalfTheSize) {
  for (const std::uint32_t lines : {1, 2}) {
    const Shape whole{64, 6, lines};
    const Shape half{32, 6, lines};
    auto whole_memory = Memory::make(BlockedBloom::bytes(whole)).value();
    auto half_memory = Memory::make(BlockedBloom::bytes(half)).value();
    BlockedBloom large(whole, whole_memory.bytes());
    BlockedBloom small(half, half_memory.bytes());
    for (std::uint64_t i = 0; i < 500; ++i) {
      large.add(large.locate(Hasher()(i)));
      small.add(small.locate(Hasher()(i)));
    }
    for (std::size_t i = 0; i < words_of(half_memory).size(); ++i) {
      const std::size_t first = i / 8 * 16 + i % 8;
      ASSERT_EQ(words_of(half_memory)[i],
                words_of(whole_memory)[first] | words_of(whole_memory)[first + 8]);
    }
  }
}

TEST(BlockedBloom, BlocksAndBitsAreEvenAtThreeTimesAPowerOfTwo) {
  for_each_key_family(50'000, [&](const char* family, const std::vector<Hash>& hashes) {
    SCOPED_TRACE(family);
    for (const std::uint64_t blocks : {48, 3 << 10}) {
      std::vector<std::uint64_t> first(blocks);
      std::vector<std::uint64_t> second(blocks);
      const Shape shape{blocks, 6, 2};
      const BlockedBloom filter(shape, lent_in_name(BlockedBloom::bytes(shape)));
      for (const Hash hash : hashes) {
        ++first[filter.locate(hash).first];
        ++second[filter.locate(hash).second];
      }
      expect_even(first);
      expect_even(second);
    }
    // The bits of those keys that fall into one block of many: what chose the block is spent.
    for (const unsigned probes : {6U, 11U}) {
      std::vector<std::uint64_t> bits(512);
      for (const Hash hash : hashes) {
        if (mulhi(hash.bits, 8) != 5) continue;
        const LineMask mask = line_mask(remix(hash, 0), remix(hash, 1), probes);
        for_each_one(mask.lanes, [&](std::uint64_t bit) { ++bits[bit]; });
      }
      expect_even(bits);
    }
  });
}

TEST(BlockedBloom, AsksForMoreThanAHashCanHoldAreRefused) {
  const auto shape = BlockedBloom::plan({.keys = std::uint64_t{1} << 45, .rate = 1e-12});
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, Code::impossible);
}

TEST(BlockedBloom, ShapesThatCanNotBeAreRefused) {
  EXPECT_TRUE(BlockedBloom::check(Shape{3, 16, 2}, 192));
  for (const Shape shape : {Shape{0, 6, 1}, Shape{3, 0, 1}, Shape{3, 17, 1}, Shape{3, 6, 0},
                            Shape{3, 6, 3}, Shape{std::uint64_t{1} << 49, 6, 1}}) {
    auto checked = BlockedBloom::check(shape, shape.blocks * 64);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::damaged);
  }
  EXPECT_FALSE(BlockedBloom::check(Shape{3, 6, 1}, 191));
}

}  // namespace
}  // namespace bloomery::detail
