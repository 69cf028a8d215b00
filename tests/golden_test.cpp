// The bits of every kind, pinned. The values come from a second implementation of the laws
// (tests/tools/keys/independent_law_test.py), not from this library.
// Red means: sets that were saved by earlier versions no longer find their keys. A changed golden
// is a change of format and says so in the title of its commit.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/detail/sets/kinds/counting_bloom.hpp>
#include <bloomery/detail/sets/kinds/cuckoo.hpp>
#include <bloomery/detail/sets/kinds/spectral_bloom.hpp>
#include <bloomery/detail/sets/kinds/split_block.hpp>
#include <bloomery/detail/sets/kinds/window_bloom.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::detail {
namespace {

constexpr std::size_t keys = 1000;

// "key-0", "key-1", ... or "stranger-0", ...
std::string named(const char* stem, std::size_t number) { return stem + std::to_string(number); }

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  return xxh3_64(bytes.data(), bytes.size(), 0);
}

struct Golden {
  std::uint64_t payload_sum;  // XXH3-64, seed 0
  std::uint64_t ones;
  std::array<std::size_t, 10> first_strangers;  // that pass
};

template <class K>
std::array<std::size_t, 10> first_strangers(const K& kind) {
  std::array<std::size_t, 10> passed{};
  std::size_t found = 0;
  for (std::size_t i = 0; i < 1'000'000 && found < passed.size(); ++i) {
    const Hash hash = Hasher()(named("stranger-", i));
    bool answer = false;
    pipeline(kind, ReadyInputs<Hash>(std::span(&hash, 1)), 1, asking(kind), ToBools(&answer));
    if (answer) passed[found++] = i;
  }
  return passed;
}

// Through the batches, so that the row of kernels in use is what is pinned.
template <class K>
void expect_golden(const typename K::Shape& shape, const Golden& golden) {
  Memory memory = Memory::make(K::bytes(shape)).value();
  K kind(shape, memory.bytes());
  std::vector<Hash> hashes;
  for (std::size_t i = 0; i < keys; ++i) hashes.push_back(Hasher()(named("key-", i)));
  const Piped piped =
      pipeline(kind, ReadyInputs<Hash>(hashes), lookahead_for(kind), adding(kind), CountOnly{});
  ASSERT_EQ(piped.taken, keys);

  const Words words(reinterpret_cast<std::uint64_t*>(memory.bytes().data()), memory.size() / 8);
  EXPECT_EQ(sum_of(memory.bytes()), golden.payload_sum);
  EXPECT_EQ(count_ones(words), golden.ones);
  EXPECT_EQ(first_strangers(kind), golden.first_strangers);
}

// Red means: the law of one line, its choice of block, or the first remix has changed.
TEST(Golden, BlockedWithOneLine) {
  expect_golden<BlockedBloom>(
      {.blocks = 20, .probes = 6, .lines = 1},
      {0x365d'1f2f'1d30'e23d, 4514, {252, 646, 874, 969, 1006, 1121, 1273, 1397, 1430, 1504}});
}

// Red means: as above, or the choice of the second line or its remix has changed.
TEST(Golden, BlockedWithTwoLines) {
  expect_golden<BlockedBloom>(
      {.blocks = 40, .probes = 5, .lines = 2},
      {0xa517'4aa6'28d0'3d8e,
       7947,
       {10078, 22030, 24471, 64950, 70665, 75773, 82290, 88742, 100421, 127467}});
}

// Red means: as above, or the remix that pays for probes 8 to 15 of a line has changed.
TEST(Golden, BlockedWithTwoLinesAndTwoRounds) {
  expect_golden<BlockedBloom>(
      {.blocks = 40, .probes = 11, .lines = 2},
      {0x73d5'94db'3997'7335,
       13423,
       {3755, 4230, 14750, 17293, 18316, 23393, 25549, 26650, 41198, 45708}});
}

// Red means: the step from one probe to the next has changed.
TEST(Golden, Classic) {
  expect_golden<ClassicBloom>(
      {.bits = 10240, .probes = 7},
      {0xf8b7'8c61'24d7'e33e, 5114, {82, 132, 195, 247, 601, 680, 940, 985, 1218, 1314}});
}

// Red means: the blocks are no longer those of Parquet.
TEST(Golden, SplitBlock) {
  expect_golden<SplitBlock>(
      {.blocks = 40},
      {0x6230'8b50'f2ca'f7c5, 5571, {32, 68, 81, 214, 232, 239, 287, 320, 472, 511}});
}

// Red means: the step from one probe to the next, or the place of a counter, has changed.
TEST(Golden, Counting) {
  expect_golden<CountingBloom>(
      {.counters = 10240, .probes = 7},
      {0xe140'b20e'3c20'0fb4, 5394, {82, 132, 195, 247, 601, 680, 940, 985, 1218, 1314}});
}

// Red means: as above, or which of a key's counters are raised has changed.
TEST(Golden, SpectralByMinimumIncrease) {
  expect_golden<SpectralBloom>({.counters = 2560, .probes = 7, .counter_bits = 8, .selection = 0},
                               {0xc489'89b2'9955'2400, 2401, {1, 4, 5, 6, 7, 8, 11, 12, 18, 21}});
  expect_golden<SpectralBloom>(
      {.counters = 10240, .probes = 7, .counter_bits = 16, .selection = 0},
      {0x8cab'4c1f'c14b'fcd4, 5114, {82, 132, 195, 247, 601, 680, 940, 985, 1218, 1314}});
}
TEST(Golden, SpectralByMinimumSelection) {
  expect_golden<SpectralBloom>(
      {.counters = 10240, .probes = 7, .counter_bits = 16, .selection = 1},
      {0xb601'88ea'b151'c101, 5394, {82, 132, 195, 247, 601, 680, 940, 985, 1218, 1314}});
  expect_golden<SpectralBloom>({.counters = 2560, .probes = 7, .counter_bits = 32, .selection = 1},
                               {0x0797'22f7'2231'9c9a, 3363, {1, 4, 5, 6, 7, 8, 11, 12, 18, 21}});
}

// Red means: the buckets or the fingerprint of a key have changed, or fingerprints move otherwise;
// at a load of 0.94 many have moved.
TEST(Golden, Cuckoo) {
  expect_golden<Cuckoo>(
      {.buckets = 266, .fingerprint_bits = 11},
      {0xc55a'f1e4'e8e7'2dbf, 5439, {19, 619, 679, 1142, 1457, 1517, 1535, 2264, 2394, 2427}});
}

// Red means: as above, or that a bucket wider than a word is laid out otherwise.
TEST(Golden, CuckooWithWideFingerprints) {
  expect_golden<Cuckoo>(
      {.buckets = 300, .fingerprint_bits = 19},
      {0x8734'dce0'0f7e'88cd,
       9388,
       {28392, 52778, 118702, 176029, 302808, 343949, 498770, 582067, 584082, 663915}});
}

// Red means: the lines of a window, its head, or the moment when a generation ends has changed. The
// thousand keys fill six generations and begin a seventh.
TEST(Golden, Window) {
  expect_golden<WindowBloom>({.blocks = 6, .share = 150, .probes = 7, .generations = 2},
                             {0x8cce'629a'2e8e'83c6,
                              1521,
                              {257, 4999, 8359, 9487, 11662, 16595, 23544, 31343, 33342, 34269}});
}

// -- whole sets, as they would be saved -----------------------------------------------------------

AnySet set_of_texts(std::string_view kind, const Want& want) {
  AnySet set = AnySet::make(kind, want).value();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < keys; ++i) texts.push_back(named("key-", i));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  set.add_all(std::span<const std::string_view>(views)).value();
  return set;
}

// Squares, so that some integers come once and some more often.
AnySet set_of_numbers(std::string_view kind) {
  AnySet set = AnySet::make(kind, {.range = {100, 99'999}}).value();
  std::vector<Ordinal> numbers;
  for (std::uint64_t i = 0; i < keys; ++i) numbers.push_back({100 + i * i % 99'900});
  set.add_all(std::span<const Ordinal>(numbers)).value();
  return set;
}

std::vector<std::uint64_t> payload_sums(const AnySet& set) {
  std::vector<std::uint64_t> sums;
  const Parts parts = set.parts().value();
  for (const Part& part : parts.parts) sums.push_back(sum_of(part.payload));
  return sums;
}

using Sums = std::vector<std::uint64_t>;

// Red means: the place of an integer in a bitmap has changed.
TEST(Golden, Bitmap) {
  EXPECT_EQ(payload_sums(set_of_numbers("bitmap")), Sums{0x27e4'8ae6'acfc'4c56});
}

// Red means: the place of an integer, or what its states mean, has changed.
TEST(Golden, TwoBit) {
  EXPECT_EQ(payload_sums(set_of_numbers("two-bit")), Sums{0x3a5f'67ac'9add'cddb});
}

// Red means: the wide hash, or the order in which hashes are saved, has changed.
TEST(Golden, HashSet) {
  EXPECT_EQ(payload_sums(set_of_texts("hash-set", {})), Sums{0xad2c'0b7a'c0f7'c4f4});
}

// Red means: the hash, or the order in which hashes are saved, has changed.
TEST(Golden, Compact) {
  EXPECT_EQ(payload_sums(set_of_texts("compact", {})), Sums{0xabee'b99c'2e56'7c55});
}

// Red means: the layout of a table, or when and how far it grows, has changed; if the tests of
// QuotientTable are green the tables saved before can still be asked.
TEST(Golden, Scalable) {
  EXPECT_EQ(payload_sums(set_of_texts("scalable", {.keys = 100, .rate = 0.01})),
            Sums{0xdc70'81c4'e8be'f46b});
}

// Red means: the links have other sizes or rates, so that chains made now and earlier cannot be
// united; those saved can still be asked if the goldens of blocked are green.
TEST(Golden, BloomChain) {
  EXPECT_EQ(payload_sums(set_of_texts("chain", {.keys = 100, .rate = 0.01})),
            (Sums{0x5997'8b69'6469'78e9, 0xe02b'c978'9ec4'07b4, 0x9c57'6c4e'6f35'629c,
                  0x67f5'5a1f'96a8'bd2d}));
}

}  // namespace
}  // namespace bloomery::detail
