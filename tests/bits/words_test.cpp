#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/words.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t corners[] = {0, 1, 62, 63, 64, 65, 127, 128, 190, 191};

TEST(Words, WordsForRoundsUpAndDoesNotWrap) {
  EXPECT_EQ(words_for(0), 0U);
  EXPECT_EQ(words_for(1), 1U);
  EXPECT_EQ(words_for(64), 1U);
  EXPECT_EQ(words_for(65), 2U);
  EXPECT_EQ(words_for(~std::uint64_t{0}), std::uint64_t{1} << 58);
}

TEST(Words, BitZeroIsTheLowestOfTheFirstWord) {
  std::array<std::uint64_t, 2> words{};
  set_bit(words, 0);
  EXPECT_EQ(words, (std::array<std::uint64_t, 2>{1, 0}));
  set_bit(words, 63);
  EXPECT_EQ(words, (std::array<std::uint64_t, 2>{0x8000'0000'0000'0001, 0}));
  set_bit(words, 66);
  EXPECT_EQ(words, (std::array<std::uint64_t, 2>{0x8000'0000'0000'0001, 4}));
}

TEST(Words, SetAndClearTellWhatWasThereAndLeaveTheOthersAlone) {
  for (const std::uint64_t background : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    for (const std::uint64_t bit : corners) {
      std::array<std::uint64_t, 3> words{background, background, background};
      const auto before = words;
      const bool there = background != 0;
      EXPECT_EQ(get_bit(words, bit), there);
      EXPECT_EQ(set_bit(words, bit), there);
      EXPECT_TRUE(set_bit(words, bit));
      EXPECT_TRUE(get_bit(words, bit));
      EXPECT_EQ(count_ones(words), there ? 192U : 1U);
      EXPECT_TRUE(clear_bit(words, bit));
      EXPECT_FALSE(clear_bit(words, bit));
      EXPECT_FALSE(get_bit(words, bit));
      EXPECT_EQ(count_ones(words), there ? 191U : 0U);
      if (there) set_bit(words, bit);
      EXPECT_EQ(words, before);
    }
  }
}

TEST(Words, AgreesWithAVectorOfBoolUnderRandomCalls) {
  constexpr std::uint64_t bits = 1000;
  std::vector<std::uint64_t> words(words_for(bits));
  std::vector<bool> naive(bits);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bit = random() % bits;
    const bool before = naive[bit];
    const auto call = random() % 4;
    if (call == 0) {
      ASSERT_EQ(set_bit(words, bit), before);
    } else if (call == 1) {
      ASSERT_EQ(set_bit_shared(words, bit), before);
    } else if (call == 2) {
      ASSERT_EQ(clear_bit(words, bit), before);
    } else {
      ASSERT_EQ(get_bit(words, bit), before);
      ASSERT_EQ(get_bit_shared(words, bit), before);
    }
    if (call <= 2) naive[bit] = call < 2;
  }
  std::vector<std::uint64_t> expected;
  for (std::uint64_t bit = 0; bit < bits; ++bit)
    if (naive[bit]) expected.push_back(bit);
  std::vector<std::uint64_t> walked;
  for_each_one(words, [&](std::uint64_t bit) { walked.push_back(bit); });
  EXPECT_EQ(walked, expected);
  EXPECT_EQ(count_ones(words), expected.size());
}

TEST(Words, WalksNothingInNoWordsAndEverythingInFullOnes) {
  for_each_one(ConstWords(), [](std::uint64_t) { FAIL(); });
  EXPECT_EQ(count_ones(ConstWords()), 0U);
  const std::array<std::uint64_t, 2> full{~std::uint64_t{0}, ~std::uint64_t{0}};
  std::uint64_t next = 0;
  for_each_one(full, [&](std::uint64_t bit) { EXPECT_EQ(bit, next++); });
  EXPECT_EQ(next, 128U);
}

TEST(Words, OrSharedTellsWhichBitsOfTheMaskWereSet) {
  std::uint64_t word = 0b0011;
  EXPECT_EQ(or_shared(word, 0b0110), 0b0010U);
  EXPECT_EQ(word, 0b0111U);
  EXPECT_EQ(or_shared(word, 0b0110), 0b0110U);
  EXPECT_EQ(or_shared(word, 0), 0U);
  EXPECT_EQ(word, 0b0111U);
  EXPECT_EQ(load_shared(word), 0b0111U);
}

TEST(WordsThreads, LoseNoBitAndEachBitIsFreshForOneOfThem) {
  constexpr std::uint64_t bits = 1 << 14;
  std::vector<std::uint64_t> words(words_for(bits));
  std::array<std::uint64_t, 4> fresh{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < fresh.size(); ++t)
      threads.emplace_back([&, t] {
        std::uint64_t mine = 0;
        for (std::uint64_t i = 0; i < bits; ++i) {
          const std::uint64_t bit = (i + t * 17) % bits;
          mine += !set_bit_shared(words, bit);
          if (!get_bit_shared(words, bit)) mine += bits;
        }
        fresh[t] = mine;
      });
  }
  EXPECT_EQ(count_ones(words), bits);
  EXPECT_EQ(fresh[0] + fresh[1] + fresh[2] + fresh[3], bits);
}

}  // namespace
}  // namespace bloomery::detail
