// The law of a ribbon and its kernels: every row says yes to just the same slots.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/ribbon.hpp>

namespace bloomery::detail {
namespace {

// Row by row, as the law is written.
bool column_is_right(const std::vector<std::uint64_t>& words, const RibbonView& view,
                     const RibbonSlot& slot, unsigned column) {
  const std::uint64_t chosen = ribbon::coefficients({slot.hash});
  unsigned parity = 0;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned row = slot.shift + i;
    const std::uint64_t word = words[slot.low + (row < 64 ? 0 : slot.step) + column];
    parity ^= static_cast<unsigned>((chosen >> i & 1) & (word >> (row % 64) & 1));
  }
  return parity == (ribbon::fingerprint({slot.hash}, view.columns) >> column & 1);
}

struct Asked {
  RibbonView view;
  std::vector<std::uint64_t> words;
  RibbonSlot slot;
};

// A slot whose fingerprint the words give in all columns but `wrong`.
Asked asked_with(std::mt19937_64& random, unsigned columns, unsigned shift, unsigned wrong) {
  Asked asked;
  asked.words.resize(ribbon::words_before + 2 * columns);
  for (std::uint64_t& word : asked.words) word = random();
  asked.slot = {.hash = random(),
                .low = ribbon::words_before,
                .step = shift == 0 ? 0 : columns,
                .shift = static_cast<std::uint16_t>(shift),
                .columns = static_cast<std::uint16_t>(columns)};
  // Narrow, or one of the wide stretches.
  asked.view = {asked.words.data(), columns - (random() % 2 == 0 && columns > 1)};
  for (unsigned column = 0; column < columns; ++column)
    if (column_is_right(asked.words, asked.view, asked.slot, column) == (column == wrong))
      asked.words[asked.slot.low + column] ^= std::uint64_t{1} << shift;  // the first row is chosen
  return asked;
}

TEST(RibbonKernel, EveryRowFollowsTheLawForAllColumnsAndShifts) {
  constexpr std::uint64_t seed = 31;
  std::mt19937_64 random(seed);
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* row = kernels_named(name);
    if (row == nullptr) continue;
    SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
    for (unsigned columns = 1; columns <= 49; ++columns)
      for (const unsigned shift : {0U, 1U, 31U, 32U, 63U, static_cast<unsigned>(random() % 64)}) {
        const Asked right = asked_with(random, columns, shift, columns);
        ASSERT_EQ(row->ribbon_ask(right.view, &right.slot, 1), 1) << columns << " " << shift;
        for (unsigned wrong = 0; wrong < columns; ++wrong) {
          const Asked off = asked_with(random, columns, shift, wrong);
          ASSERT_EQ(row->ribbon_ask(off.view, &off.slot, 1), 0) << columns << " " << shift;
        }
      }
  }
}

TEST(RibbonKernel, BitsOfTheAnswerTellOfSlotsInOrder) {
  std::mt19937_64 random(32);
  std::vector<std::uint64_t> words(1'000);
  for (std::uint64_t& word : words) word = random();
  const RibbonView view{words.data(), 2};
  std::vector<RibbonSlot> slots(64);
  for (RibbonSlot& slot : slots) {
    slot = {.hash = random(),
            .low = 3 + random() % 900,
            .step = 2,
            .shift = static_cast<std::uint16_t>(1 + random() % 63),
            .columns = static_cast<std::uint16_t>(random() % 3)};
  }
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* row = kernels_named(name);
    if (row == nullptr) continue;
    for (const std::size_t n : {0, 1, 7, 8, 63, 64}) {
      const std::uint64_t answers = row->ribbon_ask(view, slots.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        bool expected = slots[i].columns != 0;
        for (unsigned column = 0; column < slots[i].columns; ++column)
          expected = expected && column_is_right(words, view, slots[i], column);
        ASSERT_EQ((answers >> i & 1) != 0, expected) << name << " slot " << i;
      }
      EXPECT_EQ(n == 64 ? 0 : answers >> n, 0);
    }
  }
}

}  // namespace
}  // namespace bloomery::detail
