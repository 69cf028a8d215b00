// The classic filter: its plan, and the pitfalls of deriving k positions from one hash.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/set.hpp>
#include <tests/laws/positions.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<ClassicBloom> && Mergeable<ClassicBloom> && Estimable<ClassicBloom> &&
              Prefetchable<ClassicBloom>);

TEST(ClassicBloom, PlanIsTheTextbookFormulaRoundedUpToLines) {
  for (const std::uint64_t keys : {1, 7, 100, 12'345, 1'000'000})
    for (const double rate : {0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-11}) {
      const auto shape = ClassicBloom::plan({.keys = keys, .rate = rate}).value();
      const double bits = -static_cast<double>(keys) * std::log(rate) / (std::log(2) * std::log(2));
      EXPECT_GE(static_cast<double>(shape.bits), bits);
      // From 4 MiB on to 16 lines, so that it can be folded.
      const std::uint64_t step = shape.bits < 65'536 * 512 ? 512 : 16 * 512;
      EXPECT_LT(static_cast<double>(shape.bits), bits + static_cast<double>(step));
      EXPECT_EQ(shape.bits % step, 0);
      EXPECT_EQ(shape.probes, std::max(1.0, std::round(-std::log2(rate))));
    }
}

TEST(ClassicBloom, RefusesARateThatSixtyFourBitsCanNotHold) {
  const auto refused = ClassicBloom::plan({.keys = 1'000'000, .rate = 1e-12});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
}

// The textbook step h1 + i * h2 gives 4.1e-5 here: forty times too much.
TEST(ClassicBloom, AHundredKeysAtOneInAMillionHoldTheirRate) {
  std::uint64_t passed = 0;
  std::uint64_t asked = 0;
  double expected = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Set<ClassicBloom> set({.keys = 100, .rate = 1e-6}, Hasher(seed));
    for (std::uint64_t key = 0; key < 100; ++key) set.add(key);
    for (std::uint64_t i = 0; i < 200'000; ++i) passed += set.may_contain((seed << 40) + 1'000 + i);
    asked += 200'000;
    expected += set.rate_now() * 200'000;
  }
  EXPECT_LE(expected, 1.05e-6 * static_cast<double>(asked));
  // Eight are expected; thirty have a chance of one in a billion.
  EXPECT_LE(passed, 30);
}

std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// More than 2^32 bits: positions are not cut to 32 bits, and the last bit can be hit.
TEST(ClassicBloom, TheTopOfTheRangeIsUsedAboveTwoToThe32Bits) {
  const ClassicBloom::Shape shape{(std::uint64_t{1} << 32) + 512, 1};
  auto memory = Memory::make(ClassicBloom::bytes(shape)).value();
  ClassicBloom filter(shape, memory.bytes());
  const std::uint64_t back = inverse(remix_constants[5]);
  ASSERT_EQ(back * remix_constants[5], 1);
  const Hash top{~std::uint64_t{0} * back};            // its first probe is at the very end
  const Hash middle{(std::uint64_t{1} << 63) * back};  // and this one in the middle
  EXPECT_EQ(filter.add(filter.locate(top)), Added::fresh);
  EXPECT_EQ(memory.bytes().back(), std::byte{0x80});
  EXPECT_FALSE(filter.may_contain(filter.locate(middle)));
  filter.add(filter.locate(middle));
  EXPECT_EQ(memory.bytes()[memory.size() / 2], std::byte{1});
}

TEST(ClassicBloom, PositionsAreEvenAtThreeTimesAPowerOfTwo) {
  for (const std::uint64_t bits : {3 * 512, 3 * 4'096})
    for_each_key_family(10'000, [&](const char* family, const std::vector<Hash>& hashes) {
      SCOPED_TRACE(testing::Message() << family << ", " << bits << " bits");
      const ClassicBloom::Shape shape{bits, 13};
      auto memory = Memory::make(ClassicBloom::bytes(shape)).value();
      ClassicBloom filter(shape, memory.bytes());
      std::vector<std::uint64_t> hits(bits);
      for (const Hash hash : hashes) {
        filter.add(filter.locate(hash));
        // The bits of this key, tallied and wiped away for the next.
        const Words words(reinterpret_cast<std::uint64_t*>(memory.bytes().data()), bits / 64);
        for_each_one(words, [&](std::uint64_t bit) { ++hits[bit]; });
        std::fill(words.begin(), words.end(), 0);
      }
      expect_even(hits);
    });
}

// Set bits against their expectation: probes that repeat each other would leave too few.
TEST(ClassicBloom, AsManyBitsAreSetAsChanceWouldSet) {
  for (const std::uint64_t keys : {50, 1'000, 100'000}) {
    Set<ClassicBloom> set({.keys = keys, .rate = 1e-4});
    for (std::uint64_t key = 0; key < keys; ++key) set.add(key);
    const auto shape = set.kind().shape();
    const double bits = static_cast<double>(shape.bits);
    const double probes = static_cast<double>(keys) * shape.probes;
    const double expected = -std::expm1(probes * std::log1p(-1 / bits));
    EXPECT_NEAR(set.fill_ratio(), expected, 5 * std::sqrt(expected * (1 - expected) / bits));
  }
}

TEST(ClassicBloom, ShapesThatCanNotBeAreRefused) {
  using Shape = ClassicBloom::Shape;
  EXPECT_TRUE(ClassicBloom::check(Shape{512, 1}, 64));
  for (const Shape shape : {Shape{0, 7}, Shape{500, 7}, Shape{512, 0}, Shape{512, 65},
                            Shape{std::uint64_t{1} << 57, 7}}) {
    auto checked = ClassicBloom::check(shape, shape.bits / 8);
    ASSERT_FALSE(checked) << shape.bits << " " << shape.probes;
    EXPECT_EQ(checked.error().code, Code::damaged);
  }
  EXPECT_FALSE(ClassicBloom::check(Shape{512, 7}, 65));
}

}  // namespace
}  // namespace bloomery::detail
