// Partitioning inputs by cache line changes neither a byte nor a count.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/bulk/partition.hpp>
#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/split_block.hpp>
#include <bloomery/detail/sets/kinds/two_bit_map.hpp>
#include <tests/sets/repeats.hpp>

namespace bloomery::detail {
namespace {

TEST(PartitionPlan, CoversEveryLineWithFewParts) {
  for (const unsigned threads : {1U, 2U, 7U, 64U})
    for (std::uint64_t lines = 1; lines < std::uint64_t{1} << 40; lines = lines * 3 + 1) {
      const PartitionPlan plan = plan_partitions(lines, 1'000'000, threads);
      ASSERT_EQ((lines - 1) >> plan.shift, plan.parts - 1) << lines;
      ASSERT_LE(plan.parts, 1024U);
      ASSERT_GE(plan.held_keys, 1U);
      ASSERT_LE(plan.held_keys, 1'000'000U);
    }
  EXPECT_GE(plan_partitions(1000, 1'000'000, 4).parts, 32U) << "threads without parts";
}

TEST(PartitionPlan, ScratchStaysBounded) {
  const std::size_t many = std::size_t{1} << 40;
  EXPECT_LE(plan_partitions(std::uint64_t{1} << 36, many, 1).held_keys * 8,
            std::uint64_t{256} << 20);
  EXPECT_LE(plan_partitions(std::uint64_t{1} << 36, many, 2).held_keys * 8,
            std::uint64_t{512} << 20);
}

TEST(PartitionPlan, SlicesAndTheSizeFromWhichItPaysFollowTheCaches) {
  const Caches small{.second = 256 << 10, .shared = 8 << 20};
  const Caches large{.second = 16 << 20, .shared = 256 << 20};
  const std::uint64_t lines = 1 << 19;
  EXPECT_EQ(plan_partitions(lines, lines, 1, small).shift, 10U);  // 64 KiB
  EXPECT_EQ(plan_partitions(lines, lines, 1, large).shift, 14U);  // 1 MiB at most
  EXPECT_EQ(PartitionTuning::by(small).from_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(PartitionTuning::by(large).from_bytes, std::uint64_t{512} << 20);
}

// Sets whose loops are fused are never partitioned by one thread; a map is once it is larger than
// the caches and has a key for each line.
TEST(PartitionPlan, PaysOnlyForLargeMapsAndManyKeys) {
  const std::uint64_t from = PartitionTuning::by(caches()).from_bytes;
  const auto pays = [](std::uint64_t bytes, std::size_t keys) {
    const Bitmap::Shape shape{.low = 0, .high = 8 * bytes - 1};
    auto memory = Memory::make(Bitmap::bytes(shape)).value();
    return partition_pays(Bitmap(shape, memory.bytes()), keys);
  };
  EXPECT_FALSE(pays(from / 2, std::size_t{1} << 40));
  EXPECT_TRUE(pays(from, from / 64));
  EXPECT_FALSE(pays(from, from / 64 - 1));
  const BlockedBloom::Shape blocked{from / 64, 7, 1};
  auto memory = Memory::make(BlockedBloom::bytes(blocked)).value();
  const BlockedBloom set(blocked, memory.bytes());
  EXPECT_EQ(partition_pays(set, std::size_t{1} << 40), !set.fuses());
}

// Each part holds just what was sent to it, in order, however unevenly.
void expect_all_there(const std::vector<std::uint64_t>& lines, std::uint64_t line_count) {
  const PartitionPlan plan = plan_partitions(line_count, lines.size(), 1);
  auto parts = Partitions<Hash>::make(plan, lines.size()).value();
  for (int round = 0; round < 2; ++round) {
    parts.clear();
    for (std::size_t done = 0; done < lines.size(); done += 1000) {
      const std::size_t n = std::min<std::size_t>(1000, lines.size() - done);
      std::vector<Hash> inputs(n);
      for (std::size_t i = 0; i < n; ++i) inputs[i] = {done + i};
      parts.scatter(inputs.data(), lines.data() + done, n);
    }
    parts.finish();
    std::size_t seen = 0;
    for (std::size_t part = 0; part < parts.parts(); ++part) {
      std::uint64_t before = 0;
      parts.walk(part, [&](std::span<const Hash> inputs) {
        for (const Hash input : inputs) {
          ASSERT_LT(input.bits, lines.size());
          ASSERT_EQ(lines[input.bits] >> plan.shift, part);
          ASSERT_GE(input.bits, before) << "out of order";
          before = input.bits;
          ++seen;
        }
      });
    }
    EXPECT_EQ(seen, lines.size());
  }
}

TEST(Partitions, HoldEvenAndUnevenInputs) {
  std::mt19937_64 random(1);
  const std::uint64_t line_count = 1 << 20;
  for (const std::size_t n : {0, 1, 31, 32, 33, 2048, 2080, 100'000}) {
    std::vector<std::uint64_t> even(n), uneven(n), one(n, 7);
    for (std::uint64_t& line : even) line = random() % line_count;
    for (std::uint64_t& line : uneven) line = random() % 8 == 0 ? random() % line_count : 12'345;
    expect_all_there(even, line_count);
    expect_all_there(uneven, line_count);
    expect_all_there(one, line_count);
  }
}

// Emptying the fullest part to make room gives all inputs sent there since it was last emptied, in
// order.
TEST(Partitions, GiveBackTheBlocksOfThePartThatIsEmptied) {
  std::mt19937_64 random(2);
  const PartitionPlan plan{.shift = 4, .parts = 50, .held_keys = 20'000};
  auto parts = Partitions<Hash>::make(plan, plan.held_keys).value();
  std::vector<std::vector<std::uint64_t>> sent(plan.parts);
  std::size_t emptied = 0;
  const auto empty = [&](std::size_t part) {
    std::vector<std::uint64_t> got;
    parts.finish();
    parts.walk(part, [&](std::span<const Hash> inputs) {
      for (const Hash input : inputs) got.push_back(input.bits);
    });
    ASSERT_EQ(got, sent[part]) << "part " << part;
    sent[part].clear();
    parts.clear(part);
  };
  for (std::uint64_t next = 0; next < 400'000;) {
    std::vector<Hash> inputs(100);
    std::vector<std::uint64_t> lines(100);
    while (!parts.has_room_for(inputs.size())) {
      empty(parts.fullest());
      ++emptied;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i, ++next) {
      inputs[i] = {next};
      // Half of them into two parts.
      lines[i] = random() % 2 == 0 ? random() % 32 : random() % (plan.parts << plan.shift);
      sent[lines[i] >> plan.shift].push_back(next);
    }
    parts.scatter(inputs.data(), lines.data(), inputs.size());
  }
  for (std::size_t part = 0; part < plan.parts; ++part) empty(part);
  EXPECT_GT(emptied, 10U);
}

template <class K>
void expect_as_one_by_one(const typename K::Shape& shape,
                          const std::vector<typename K::Input>& inputs) {
  auto law_memory = Memory::make(K::bytes(shape)).value();
  auto copy_memory = Memory::make(K::bytes(shape)).value();
  K law(shape, law_memory.bytes());
  K copy(shape, copy_memory.bytes());
  std::size_t fresh = 0;
  for (const auto& input : inputs) fresh += law.add(law.locate(input)) == Added::fresh;
  const ReadyInputs<typename K::Input> source(inputs);
  EXPECT_EQ(add_all_partitioned(copy, source).value(), fresh);
  EXPECT_TRUE(std::ranges::equal(law_memory.bytes(), copy_memory.bytes()));
  EXPECT_EQ(add_all_partitioned(copy, source).value(), 0U) << "all were there";
}

TEST(PartitionLaw, SameBytesAndCountAsOneByOne) {
  // 300,000 keys are several chunks for sets so small.
  for (const std::size_t n : {0, 1, 100, 300'000}) {
    const auto numbers = keys_with_repeats(n, 1'000'000);
    std::vector<Hash> hashes;
    std::vector<Ordinal> ordinals;
    for (const std::uint64_t number : numbers) {
      hashes.push_back(Hasher()(number));
      ordinals.push_back({number});
    }
    expect_as_one_by_one<BlockedBloom>({.blocks = 5'001, .probes = 6, .lines = 1}, hashes);
    expect_as_one_by_one<BlockedBloom>({.blocks = 1, .probes = 11, .lines = 1}, hashes);
    expect_as_one_by_one<SplitBlock>({.blocks = 10'001}, hashes);
    expect_as_one_by_one<Bitmap>({.low = 0, .high = 999'999}, ordinals);
    expect_as_one_by_one<TwoBitMap>({.low = 0, .high = 1'000'001}, ordinals);
  }
}

}  // namespace
}  // namespace bloomery::detail
