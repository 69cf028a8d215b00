#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/detail/bits/packed.hpp>

namespace bloomery::detail {
namespace {

// The same fields, one bool per bit: what the picture in packed.hpp says and nothing else.
class NaiveFields {
 public:
  NaiveFields(unsigned width, std::uint64_t fields) : width_(width), bits_(width * fields) {}

  void set(std::uint64_t field, std::uint64_t value) {
    for (unsigned i = 0; i < width_; ++i) bits_[field * width_ + i] = (value >> i) & 1;
  }
  std::uint64_t get(std::uint64_t field) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width_; ++i) value |= std::uint64_t{bits_[field * width_ + i]} << i;
    return value;
  }
  std::vector<std::uint64_t> as_words() const {
    std::vector<std::uint64_t> words((bits_.size() + 63) / 64);
    for (std::size_t i = 0; i < bits_.size(); ++i)
      words[i / 64] |= std::uint64_t{bits_[i]} << (i % 64);
    return words;
  }

 private:
  unsigned width_;
  std::vector<bool> bits_;
};

class PackedOfWidth : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(EveryWidth, PackedOfWidth, testing::Range(1U, 33U));

TEST_P(PackedOfWidth, LaysFieldsSideBySideAndLeavesNeighboursAlone) {
  constexpr std::uint64_t fields = 150;
  const unsigned width = GetParam();
  const Packed packed(width);
  NaiveFields naive(width, fields);
  std::vector<std::uint64_t> words(packed.words(fields));
  std::mt19937_64 random(width);
  // Twice over every field in random order: once into zeros, once over what is there.
  for (std::uint64_t i = 0; i < 4 * fields; ++i) {
    const std::uint64_t field = random() % fields;
    const std::uint64_t value = i % 3 == 0 ? packed.mask() : random() & packed.mask();
    packed.set(words, field, value);
    naive.set(field, value);
    ASSERT_EQ(packed.get(words, field), value) << "field " << field;
    ASSERT_EQ(words, naive.as_words()) << "field " << field;
  }
  for (std::uint64_t field = 0; field < fields; ++field)
    ASSERT_EQ(packed.get(words, field), naive.get(field)) << "field " << field;
}

TEST_P(PackedOfWidth, ClearsAFieldAmongOnesWithoutTouchingTheOthers) {
  constexpr std::uint64_t fields = 130;
  const Packed packed(GetParam());
  for (std::uint64_t field = 0; field < fields; ++field) {
    std::vector<std::uint64_t> words(packed.words(fields), ~std::uint64_t{0});
    packed.set(words, field, 0);
    ASSERT_EQ(packed.get(words, field), 0U);
    ASSERT_EQ(count_ones(words), words.size() * 64 - GetParam()) << "field " << field;
  }
}

TEST_P(PackedOfWidth, TakesJustTheWordsItNeeds) {
  const Packed packed(GetParam());
  for (std::uint64_t fields = 0; fields <= 200; ++fields)
    ASSERT_EQ(packed.words(fields), (fields * GetParam() + 63) / 64) << fields;
  // 2^60 fields times 32 bits would wrap; the words do not.
  EXPECT_EQ(packed.words(std::uint64_t{1} << 60), (std::uint64_t{1} << 54) * GetParam());
}

TEST(Packed, StraddlingFieldEndsOneWordAndBeginsTheNext) {
  const Packed packed(12);
  std::vector<std::uint64_t> words(packed.words(6));
  ASSERT_EQ(words.size(), 2U);
  packed.set(words, 5, 0xabc);
  EXPECT_EQ(words[0], 0xc000'0000'0000'0000);
  EXPECT_EQ(words[1], 0x0000'0000'0000'00abU);
}

TEST(Packed, MaskIsOneFieldOfOnes) {
  EXPECT_EQ(Packed(1).mask(), 1U);
  EXPECT_EQ(Packed(2).mask(), 3U);
  EXPECT_EQ(Packed(32).mask(), 0xffff'ffffU);
}

}  // namespace
}  // namespace bloomery::detail
