// The split-block filter is Parquet's, bit for bit.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <string_view>
#include <vector>

#include <bloomery/detail/sets/kinds/split_block.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/set.hpp>
#include <tests/laws/positions.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<SplitBlock> && Mergeable<SplitBlock> && Estimable<SplitBlock> &&
              Prefetchable<SplitBlock> && Batched<SplitBlock> && OneLined<SplitBlock> &&
              SimplyShaped<SplitBlock>);

Hash parquet_hash(std::string_view key) { return {XXH64(key.data(), key.size(), 0)}; }

// Red means: filters no longer interchange with Parquet, Arrow, Impala and DuckDB.
TEST(SplitBlock, GoldenParquetFileIsRebuiltBitForBit) {
  const FileBytes golden = read_whole(BLOOMERY_SOURCE_DIR "/tests/golden/parquet-sbbf-xxhash.bin");
  constexpr std::size_t header_bytes = 16;
  ASSERT_EQ(golden.size(), header_bytes + 1'024);
  const std::vector<std::byte> bits(golden.begin() + header_bytes, golden.end());

  const SplitBlock::Shape shape{32};
  std::vector<Hash> hashes;
  for (const char* key : {"hello", "parquet", "bloom", "filter"})
    hashes.push_back(parquet_hash(key));
  const auto expect_rebuilt = [&](auto&& fill) {
    auto memory = Memory::make(SplitBlock::bytes(shape)).value();
    SplitBlock filter(shape, memory.bytes());
    fill(filter);
    EXPECT_TRUE(std::ranges::equal(memory.bytes(), bits));
    for (const Hash hash : hashes) EXPECT_TRUE(filter.may_contain(filter.locate(hash)));
    EXPECT_FALSE(filter.may_contain(filter.locate(parquet_hash("stranger"))));
  };
  expect_rebuilt([&](SplitBlock& filter) {
    for (const Hash hash : hashes) EXPECT_EQ(filter.add(filter.locate(hash)), Added::fresh);
  });
  expect_rebuilt([&](SplitBlock& filter) {
    EXPECT_EQ(pipeline(filter, ReadyInputs<Hash>(hashes), 1, adding(filter), CountOnly{}).yes, 4);
  });
  expect_rebuilt([&](SplitBlock& filter) {
    for (const Hash hash : hashes) EXPECT_EQ(filter.add_shared(filter.locate(hash)), Added::fresh);
  });
}

// A set opened over the golden bits answers for Parquet's keys when it is fed with Parquet's hash.
TEST(SplitBlock, GoldenBitsAnswerThroughASetFedWithHashes) {
  const FileBytes golden = read_whole(BLOOMERY_SOURCE_DIR "/tests/golden/parquet-sbbf-xxhash.bin");
  Part part{.kind = SplitBlock::id.number,
            .shape = encode_shape<SplitBlock>({32}),
            .capacity = 100,
            .rate_asked = 0.01};
  part.payload = std::span(golden).subspan(16);
  auto owned = Owned<SplitBlock>::from_part(std::move(part)).value();
  for (const char* key : {"hello", "parquet", "bloom", "filter"})
    EXPECT_TRUE(owned.may_contain(parquet_hash(key)));
  EXPECT_NEAR(owned.estimate(), 4, 0.2);
}

// From Parquet's specification: the rates of 1024 blocks.
TEST(SplitBlock, ExpectedRateIsThatOfParquetsSpecification) {
  EXPECT_NEAR(SplitBlock::expected_rate({1'024}, 13'107), 0.000420, 0.000001);
  EXPECT_NEAR(SplitBlock::expected_rate({1'024}, 26'214), 0.01265, 0.00001);
  EXPECT_NEAR(SplitBlock::expected_rate({1'024}, 52'428), 0.1792, 0.0001);
}

TEST(SplitBlock, EveryKeySetsOneBitInEachWord) {
  const SplitBlock::Shape shape{1};
  auto memory = Memory::make(SplitBlock::bytes(shape)).value();
  SplitBlock filter(shape, memory.bytes());
  const std::span words(reinterpret_cast<std::uint32_t*>(memory.bytes().data()), split_words);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    filter.add(filter.locate(Hasher()(i)));
    for (std::uint32_t& word : words) {
      ASSERT_EQ(std::popcount(word), 1);
      word = 0;
    }
  }
}

TEST(SplitBlock, BlocksAreAMultipleOfSixteenFrom256On) {
  for (std::uint64_t keys = 1; keys < 2'000'000; keys += keys / 7 + 1)
    for (const double rate : {0.1, 0.01, 1e-3, 1e-6}) {
      const auto shape = SplitBlock::plan({.keys = keys, .rate = rate}).value();
      if (shape.blocks >= 256) {
        ASSERT_EQ(shape.blocks % 16, 0);
      }
      const std::uint64_t step = shape.blocks > 256 ? 16 : 1;
      if (shape.blocks > step && shape.blocks != 256) {
        ASSERT_GT(SplitBlock::expected_rate({shape.blocks - step}, keys), rate) << keys;
      }
      ASSERT_LE(SplitBlock::expected_rate(shape, keys), rate * 1.0001) << keys << " at " << rate;
    }
}

TEST(SplitBlock, BlocksAreEvenAtThreeTimesAPowerOfTwo) {
  for_each_key_family(50'000, [&](const char* family, const std::vector<Hash>& hashes) {
    SCOPED_TRACE(family);
    for (const std::uint64_t blocks : {48, 3 << 10}) {
      std::vector<std::uint64_t> chosen(blocks);
      const SplitBlock filter({blocks}, lent_in_name(SplitBlock::bytes({blocks})));
      for (const Hash hash : hashes) ++chosen[filter.locate(hash).block];
      expect_even(chosen);
    }
  });
}

TEST(SplitBlock, TheLastOfTwoToThe31BlocksCanBeChosen) {
  const SplitBlock::Shape shape{std::uint64_t{1} << 31};
  const SplitBlock filter(shape, lent_in_name(SplitBlock::bytes(shape)));
  EXPECT_EQ(filter.locate({~std::uint64_t{0}}).block, (std::uint64_t{1} << 31) - 1);
  EXPECT_EQ(filter.locate({0}).block, 0);
  EXPECT_EQ(filter.locate({0xffff'ffff}).block, 0);
}

TEST(SplitBlock, WhatItsThirtyTwoBitsCanNotHoldIsRefused) {
  for (const Want& want :
       {Want{.keys = 1'000, .rate = 0.9e-7}, Want{.keys = std::uint64_t{1} << 40, .rate = 0.01}}) {
    const auto shape = SplitBlock::plan(want);
    ASSERT_FALSE(shape);
    EXPECT_EQ(shape.error().code, Code::impossible);
  }
  for (const std::uint64_t blocks : {std::uint64_t{0}, (std::uint64_t{1} << 31) + 1})
    EXPECT_FALSE(SplitBlock::check({blocks}, blocks * 32));
  EXPECT_FALSE(SplitBlock::check({2}, 63));
  EXPECT_TRUE(SplitBlock::check({2}, 64));
}

}  // namespace
}  // namespace bloomery::detail
