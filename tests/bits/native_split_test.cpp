// The inlined split block for one key against the law. Compiled for any CPU, in v3_tests for AVX2,
// and in native_tests for this CPU.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/native_split.hpp>

namespace bloomery::detail {
namespace {

using Block = std::array<std::uint32_t, split_words>;

TEST(NativeSplit, MarksTheBitsOfTheLawAndKeepsWhatWasThere) {
  std::mt19937_64 random(41);
  std::size_t known = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto low_half = static_cast<std::uint32_t>(random());
    alignas(split_bytes) Block block;
    for (std::uint32_t& word : block)
      word = static_cast<std::uint32_t>(random() | random() | random());
    Block law = block;
    for (std::size_t word = 0; word < split_words; ++word) law[word] |= split_bit(low_half, word);
    const bool before = law == block;
    known += before;
    ASSERT_EQ(SplitOps<ThisCpu>::split_has(kernels(), block.data(), low_half), before);
    ASSERT_EQ(SplitOps<ThisCpu>::split_mark(kernels(), block.data(), low_half), !before);
    ASSERT_EQ(block, law);
    ASSERT_TRUE(SplitOps<ThisCpu>::split_has(kernels(), block.data(), low_half));
  }
  EXPECT_GT(known, 0U) << "blocks that had all the bits are among them";
}

TEST(NativeSplit, NoticesEachMissingBit) {
  std::mt19937_64 random(42);
  for (int i = 0; i < 200; ++i) {
    const auto low_half = static_cast<std::uint32_t>(random());
    for (std::size_t word = 0; word < split_words; ++word) {
      alignas(split_bytes) Block block;
      block.fill(~std::uint32_t{0});
      block[word] &= ~split_bit(low_half, word);
      ASSERT_FALSE(SplitOps<ThisCpu>::split_has(kernels(), block.data(), low_half)) << word;
      ASSERT_TRUE(SplitOps<ThisCpu>::split_mark(kernels(), block.data(), low_half)) << word;
      ASSERT_FALSE(SplitOps<ThisCpu>::split_mark(kernels(), block.data(), low_half)) << word;
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
