#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <ostream>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/bits/native_line.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::detail {
namespace {

using Hashes = std::vector<std::uint64_t>;

constexpr const char* row_names[] = {"scalar", "avx2", "avx512", "neon"};

class KernelRow : public testing::TestWithParam<const char*> {
 protected:
  // Rows that this CPU lacks are not instantiated, so there always is one.
  const Kernels& row() const { return *kernels_named(GetParam()); }
};

std::vector<const char*> rows_here() {
  std::vector<const char*> here;
  for (const char* name : row_names)
    if (kernels_named(name) != nullptr) here.push_back(name);
  return here;
}

INSTANTIATE_TEST_SUITE_P(Here, KernelRow, testing::ValuesIn(rows_here()),
                         [](const auto& row) { return std::string(row.param); });

// -- answers with a guard on both sides ----------------------------------------------------------

// Room for n answers, as bytes: a kernel must write each of them, as 0 or 1, and nothing else.
class Answers {
 public:
  explicit Answers(std::size_t n) : bytes_(n + 2 * guard, unwritten) {}

  bool* data() { return reinterpret_cast<bool*>(bytes_.data() + guard); }
  bool operator[](std::size_t i) const { return bytes_[guard + i] == 1; }
  std::size_t ones() const {
    return static_cast<std::size_t>(std::count(bytes_.begin(), bytes_.end(), 1));
  }
  bool only_answers() const {
    const auto is = [](unsigned char expected) {
      return [=](unsigned char byte) { return byte == expected; };
    };
    return std::all_of(bytes_.begin(), bytes_.begin() + guard, is(unwritten)) &&
           std::all_of(bytes_.end() - guard, bytes_.end(), is(unwritten)) &&
           std::all_of(bytes_.begin() + guard, bytes_.end() - guard,
                       [](unsigned char byte) { return byte <= 1; });
  }
  friend bool operator==(const Answers&, const Answers&) = default;

 private:
  static constexpr std::ptrdiff_t guard = 64;
  static constexpr unsigned char unwritten = 0xaa;
  std::vector<unsigned char> bytes_;
};

// -- what blocks may look like before ------------------------------------------------------------

using Fill = void (*)(std::span<std::byte> bytes, std::mt19937_64& random);

void leave_empty(std::span<std::byte>, std::mt19937_64&) {}
void make_full(std::span<std::byte> bytes, std::mt19937_64&) {
  std::memset(bytes.data(), 0xff, bytes.size());
}
void make_random(std::span<std::byte> bytes, std::mt19937_64& random) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
}
// About one zero among 32 bits.
void make_almost_full(std::span<std::byte> bytes, std::mt19937_64& random) {
  make_full(bytes, random);
  for (std::size_t i = 0; i < bytes.size(); i += 4)
    bytes[i + random() % 4] &= ~(std::byte{1} << (random() % 8));
}
// One zero in each 32 bytes.
void leave_one_bit_missing(std::span<std::byte> bytes, std::mt19937_64& random) {
  make_full(bytes, random);
  for (std::size_t i = 0; i < bytes.size(); i += 32)
    bytes[i + random() % 32] &= ~(std::byte{1} << (random() % 8));
}

constexpr Fill fills[] = {leave_empty, make_full, make_random, make_almost_full,
                          leave_one_bit_missing};

// Random ones, some of them twice: side by side, within the lookahead and beyond it; and corners.
Hashes hashes_with_repeats(std::size_t n, std::uint64_t seed) {
  constexpr std::uint64_t corners[] = {
      0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0xffff'ffff, 0xffff'ffff'0000'0000};
  std::mt19937_64 random(seed);
  Hashes hashes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t back = std::size_t{1} << (random() % 7);
    switch (random() % 8) {
      case 0: hashes[i] = back <= i ? hashes[i - back] : random(); break;
      case 1: hashes[i] = corners[random() % std::size(corners)]; break;
      default: hashes[i] = random();
    }
  }
  return hashes;
}

// -- a row against the scalar one ----------------------------------------------------------------

struct LinesShape {
  std::uint64_t blocks;
  unsigned probes;
  unsigned lines;
};

std::ostream& operator<<(std::ostream& out, const LinesShape& shape) {
  return out << shape.blocks << " blocks, " << shape.probes << " probes, " << shape.lines
             << " lines";
}

// Runs a kernel step by step over all the hashes, as the pipeline does; returns the ones among the
// answers. `answers` may be null.
template <class Step>
std::size_t in_steps(const Hashes& hashes, bool* answers, Step&& step) {
  std::size_t ones = 0;
  for (std::size_t done = 0; done < hashes.size(); done += step_keys) {
    const std::size_t n = std::min(step_keys, hashes.size() - done);
    const std::size_t ahead = std::min(step_keys, hashes.size() - done - n);
    const std::uint64_t bits = step(hashes.data() + done, n, ahead);
    EXPECT_EQ(n < 64 ? bits >> n : 0, 0U) << "answers beyond the last hash";
    for (std::size_t i = 0; i < n; ++i) {
      const bool answer = (bits >> i) & 1;
      ones += answer;
      if (answers != nullptr) answers[done + i] = answer;
    }
  }
  return ones;
}

// The same verbs for both sorts of block, so that each comparison is written once.
struct Lines {
  explicit Lines(const LinesShape& shape)
      : memory(Memory::make(shape.blocks * line_bytes).value()),
        view{reinterpret_cast<std::uint64_t*>(memory.bytes().data()), shape.blocks, shape.probes,
             shape.lines} {}
  std::size_t add(const Kernels& row, const Hashes& hashes, bool* fresh) {
    return in_steps(hashes, fresh, [&](const std::uint64_t* at, std::size_t n, std::size_t ahead) {
      return row.lines_add(view, at, n, ahead);
    });
  }
  void ask(const Kernels& row, const Hashes& hashes, bool* answers) const {
    in_steps(hashes, answers, [&](const std::uint64_t* at, std::size_t n, std::size_t ahead) {
      return row.lines_ask(view, at, n, ahead);
    });
  }
  Memory memory;
  LinesView view;
};

struct Split {
  explicit Split(std::uint64_t blocks)
      : memory(Memory::make(blocks * split_bytes).value()),
        view{reinterpret_cast<std::uint32_t*>(memory.bytes().data()), blocks} {}
  std::size_t add(const Kernels& row, const Hashes& hashes, bool* fresh) {
    return in_steps(hashes, fresh, [&](const std::uint64_t* at, std::size_t n, std::size_t ahead) {
      return row.split_add(view, at, n, ahead);
    });
  }
  void ask(const Kernels& row, const Hashes& hashes, bool* answers) const {
    in_steps(hashes, answers, [&](const std::uint64_t* at, std::size_t n, std::size_t ahead) {
      return row.split_ask(view, at, n, ahead);
    });
  }
  Memory memory;
  SplitView view;
};

bool same_bytes(const Memory& one, const Memory& other) {
  return std::memcmp(one.bytes().data(), other.bytes().data(), one.size()) == 0;
}

template <class Blocks>
void expect_same_answers(const Kernels& row, const Blocks& blocks, const Hashes& asked) {
  Answers law(asked.size());
  Answers copy(asked.size());
  blocks.ask(scalar_kernels, asked, law.data());
  blocks.ask(row, asked, copy.data());
  ASSERT_EQ(law, copy);
  ASSERT_TRUE(copy.only_answers());
}

// Asks, adds with and without `fresh`, and asks again: all as the scalar row does.
template <class Blocks, class Shape>
void expect_as_scalar(const Kernels& row, const Shape& shape, Fill fill, const Hashes& hashes) {
  std::mt19937_64 random(hashes.size());
  Blocks law(shape);
  fill(law.memory.bytes(), random);
  Blocks copy(shape);
  Blocks quiet(shape);
  std::memcpy(copy.memory.bytes().data(), law.memory.bytes().data(), law.memory.size());
  std::memcpy(quiet.memory.bytes().data(), law.memory.bytes().data(), law.memory.size());
  expect_same_answers(row, copy, hashes);

  Answers law_fresh(hashes.size());
  Answers copy_fresh(hashes.size());
  const std::size_t added = law.add(scalar_kernels, hashes, law_fresh.data());
  ASSERT_EQ(copy.add(row, hashes, copy_fresh.data()), added);
  ASSERT_EQ(quiet.add(row, hashes, nullptr), added);
  ASSERT_EQ(copy_fresh, law_fresh);
  ASSERT_TRUE(copy_fresh.only_answers());
  ASSERT_EQ(copy_fresh.ones(), added);
  ASSERT_TRUE(same_bytes(law.memory, copy.memory));
  ASSERT_TRUE(same_bytes(law.memory, quiet.memory));

  Answers found(hashes.size());
  copy.ask(row, hashes, found.data());
  ASSERT_EQ(found.ones(), hashes.size()) << "forgets what was added";
  expect_same_answers(row, copy, hashes_with_repeats(100, 99));
}

constexpr std::uint64_t block_counts[] = {1, 2, 3, 255, 256, 1000};

TEST_P(KernelRow, LinesAgreeWithScalarForEveryShapeAndFill) {
  for (const std::uint64_t blocks : block_counts)
    for (unsigned probes = 1; probes <= max_line_probes; ++probes)
      for (const unsigned lines : {1U, 2U}) {
        const LinesShape shape{blocks, probes, lines};
        SCOPED_TRACE(testing::Message() << shape);
        for (const Fill fill : fills)
          expect_as_scalar<Lines>(row(), shape, fill, hashes_with_repeats(200, blocks + probes));
        if (HasFatalFailure()) return;
      }
}

TEST_P(KernelRow, SplitBlocksAgreeWithScalarForEveryCountAndFill) {
  for (const std::uint64_t blocks : block_counts)
    for (const Fill fill : fills) {
      SCOPED_TRACE(blocks);
      expect_as_scalar<Split>(row(), blocks, fill, hashes_with_repeats(1000, blocks));
    }
}

TEST_P(KernelRow, TailsOfEveryLengthAgreeWithScalar) {
  for (std::size_t n = 0; n <= 70; ++n) {
    SCOPED_TRACE(n);
    for (const unsigned probes : {1U, 6U, 8U, 11U, 16U})
      for (const unsigned lines : {1U, 2U})
        expect_as_scalar<Lines>(row(), LinesShape{100, probes, lines}, make_random,
                                hashes_with_repeats(n, n));
    expect_as_scalar<Split>(row(), 100, make_random, hashes_with_repeats(n, n));
  }
}

TEST_P(KernelRow, ManyBlocksAgreeWithScalar) {
  constexpr std::uint64_t blocks = (1 << 20) + 16;
  const Hashes hashes = hashes_with_repeats(5000, 5);
  expect_as_scalar<Lines>(row(), LinesShape{blocks, 6, 1}, leave_empty, hashes);
  expect_as_scalar<Lines>(row(), LinesShape{blocks, 11, 2}, leave_empty, hashes);
  expect_as_scalar<Split>(row(), blocks, leave_empty, hashes);
}

TEST_P(KernelRow, HashesMayStartAtAnyWord) {
  const Hashes all = hashes_with_repeats(80, 8);
  Lines law({10, 6, 2});
  Lines copy({10, 6, 2});
  for (std::size_t start = 0; start < 9; ++start) {
    law.view.probes = copy.view.probes = static_cast<std::uint32_t>(start + 1);
    EXPECT_EQ(scalar_kernels.lines_add(law.view, all.data() + start, 64, 5),
              row().lines_add(copy.view, all.data() + start, 64, 5));
    EXPECT_TRUE(same_bytes(law.memory, copy.memory));
  }
}

TEST_P(KernelRow, RepeatInsideABatchIsFreshOnlyTheFirstTime) {
  std::mt19937_64 random(4);
  Hashes hashes(100);
  for (std::size_t i = 0; i < hashes.size(); ++i)
    hashes[i] = i % 2 == 1 ? hashes[i - 1] : i >= 66 ? hashes[i - 66] : random();
  const std::set<std::uint64_t> distinct(hashes.begin(), hashes.end());
  Lines lines({1 << 12, 8, 1});
  Split split(1 << 12);
  Answers lines_fresh(hashes.size());
  Answers split_fresh(hashes.size());
  EXPECT_EQ(lines.add(row(), hashes, lines_fresh.data()), distinct.size());
  EXPECT_EQ(split.add(row(), hashes, split_fresh.data()), distinct.size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    EXPECT_EQ(lines_fresh[i], i % 2 == 0 && i < 66) << i;
    EXPECT_EQ(split_fresh[i], i % 2 == 0 && i < 66) << i;
  }
}

// One line: if any one bit of the mask is missing, asking answers no and adding reports fresh.
TEST_P(KernelRow, NoticesEachSingleMissingBitOfALine) {
  std::mt19937_64 random(5);
  for (unsigned probes = 1; probes <= max_line_probes; ++probes)
    for (int i = 0; i < 20; ++i) {
      const Hashes hash{random()};
      const LineMask mask = line_mask(remix(Hash{hash[0]}, 0), remix(Hash{hash[0]}, 1), probes);
      Lines line({1, probes, 1});
      const Words words(line.view.words, lanes_per_line);
      for_each_one(mask.lanes, [&](std::uint64_t bit) {
        std::fill(words.begin(), words.end(), ~std::uint64_t{0});
        clear_bit(words, bit);
        Answers answer(1);
        line.ask(row(), hash, answer.data());
        ASSERT_FALSE(answer[0]) << probes << " probes, bit " << bit;
        ASSERT_EQ(line.add(row(), hash, nullptr), 1U);
        ASSERT_EQ(count_ones(words), line_bits);
        ASSERT_EQ(line.add(row(), hash, nullptr), 0U);
      });
      // Its own bits alone are enough.
      std::copy(mask.lanes.begin(), mask.lanes.end(), words.begin());
      Answers answer(1);
      line.ask(row(), hash, answer.data());
      ASSERT_TRUE(answer[0]);
    }
}

TEST_P(KernelRow, NoticesEachSingleMissingBitOfASplitBlock) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 50; ++i) {
    const Hashes hash{random()};
    for (std::size_t word = 0; word < split_words; ++word) {
      Split block(1);
      std::memset(block.memory.bytes().data(), 0xff, split_bytes);
      block.view.words[word] &= ~split_bit(static_cast<std::uint32_t>(hash[0]), word);
      Answers answer(1);
      block.ask(row(), hash, answer.data());
      ASSERT_FALSE(answer[0]) << "word " << word;
      ASSERT_EQ(block.add(row(), hash, nullptr), 1U);
      block.ask(row(), hash, answer.data());
      ASSERT_TRUE(answer[0]);
    }
  }
}

TEST_P(KernelRow, LoneKeysOfASplitBlockAreTheLaw) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 2'000; ++i) {
    alignas(split_bytes) std::array<std::uint32_t, split_words> block{};
    if (i % 2 == 0)
      for (std::uint32_t& word : block) word = static_cast<std::uint32_t>(random() | random());
    const auto low_half = static_cast<std::uint32_t>(random());
    auto law = block;
    for (std::size_t word = 0; word < split_words; ++word) law[word] |= split_bit(low_half, word);
    const bool before = law == block;
    ASSERT_EQ(row().split_has(block.data(), low_half), before);
    ASSERT_EQ(row().split_mark(block.data(), low_half), !before);
    ASSERT_EQ(block, law);
    for (std::size_t word = 0; word < split_words; ++word) {
      auto lacking = law;
      lacking[word] &= ~split_bit(low_half, word);
      alignas(split_bytes) std::array<std::uint32_t, split_words> asked = lacking;
      ASSERT_FALSE(row().split_has(asked.data(), low_half)) << word;
    }
  }
}

// The scalar row is the law of block.hpp in the line that budget.hpp chooses.
TEST_P(KernelRow, LinesAreTheLawInTheChosenBlock) {
  const Hashes hashes = hashes_with_repeats(500, 7);
  for (const unsigned probes : {6U, 8U, 13U})
    for (const unsigned lines : {1U, 2U}) {
      Lines copy({37, probes, lines});
      std::vector<std::uint64_t> law(37 * lanes_per_line);
      for (const std::uint64_t bits : hashes) {
        const Hash hash{bits};
        line_mark(law.data() + 8 * mulhi(bits, 37),
                  line_mask(remix(hash, 0), remix(hash, 1), probes));
        if (lines == 2)
          line_mark(law.data() + 8 * mulhi(remix(hash, 2), 37),
                    line_mask(remix(hash, 3), remix(hash, 4), probes));
      }
      copy.add(row(), hashes, nullptr);
      EXPECT_EQ(std::memcmp(law.data(), copy.view.words, copy.memory.size()), 0)
          << probes << " probes, " << lines << " lines";
    }
}

TEST_P(KernelRow, LoneKeysAreTheLawInTheChosenLine) {
  const Hashes hashes = hashes_with_repeats(500, 8);
  for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{37}})
    for (unsigned probes = 1; probes <= 8; ++probes) {
      Lines copy({blocks, probes, 1});
      const LoneView view{round_of(probes), blocks, copy.view.words};
      std::vector<std::uint64_t> law(blocks * lanes_per_line);
      for (const std::uint64_t hash : hashes) {
        const LineMask mask = line_mask(remix(Hash{hash}, 0), 0, probes);
        std::uint64_t* line = law.data() + 8 * mulhi(hash, blocks);
        const bool before = line_has(line, mask);
        line_mark(line, mask);
        ASSERT_EQ(row().lone_has(view, hash), before);
        ASSERT_EQ(row().lone_mark(view, hash), !before);
        ASSERT_TRUE(row().lone_has(view, hash));
      }
      ASSERT_EQ(std::memcmp(law.data(), copy.view.words, copy.memory.size()), 0)
          << probes << " probes, " << blocks << " blocks";
    }
}

// More than 2^32 lines: the last line and the first are a quarter of a TiB apart, so only the two
// pages that are used are ever there.
TEST_P(KernelRow, FindsLinesBeyondTheFirst4Billion) {
  constexpr std::uint64_t blocks = (std::uint64_t{1} << 32) + 3;
  auto* start = static_cast<std::byte*>(::mmap(nullptr, blocks * line_bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(start, MAP_FAILED);
  const LinesView view{reinterpret_cast<std::uint64_t*>(start), blocks, 6, 1};
  // As many as the eight-wide way would take.
  Hashes hashes(128, ~std::uint64_t{0});
  hashes[3] = 0;
  EXPECT_EQ(row().lines_add(view, hashes.data(), 64, 64), 0b1001U);
  const Words last(view.words + 8 * (blocks - 1), lanes_per_line);
  EXPECT_EQ(count_ones(last), 6U);
  EXPECT_EQ(row().lines_ask(view, hashes.data(), 64, 64), ~std::uint64_t{0});
  ::munmap(start, blocks * line_bytes);
}

TEST_P(KernelRow, HashesIntegersLikeTheHasher) {
  std::mt19937_64 random(11);
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, random(), ~std::uint64_t{0}})
    for (std::size_t n = 0; n <= 40; ++n) {
      Hashes words(n);
      for (std::uint64_t& word : words) word = random() >> (random() % 64);
      Hashes hashes(n + 8, 42);
      row().hash_words(words.data(), n, seed, hashes.data());
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(hashes[i], Hasher(seed)(words[i]).bits) << "seed " << seed;
      for (std::size_t i = n; i < n + 8; ++i) ASSERT_EQ(hashes[i], 42U) << "wrote beyond its room";
      Hashes in_place = words;
      row().hash_words(in_place.data(), n, seed, in_place.data());
      EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), hashes.begin()));
    }
}

TEST_P(KernelRow, FindsTheLinesThatMultiplyHighChooses) {
  const Hashes hashes = hashes_with_repeats(101, 14);
  for (const std::uint64_t blocks :
       {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1'000'003}, (std::uint64_t{1} << 32) - 1,
        std::uint64_t{1} << 32, (std::uint64_t{1} << 40) + 7})
    for (const std::size_t n : {0, 1, 7, 8, 9, 64, 101}) {
      Hashes lines(n + 1, 42);
      row().find_lines(hashes.data(), n, blocks, lines.data());
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(lines[i], mulhi(hashes[i], blocks)) << blocks;
      ASSERT_EQ(lines[n], 42U);
    }
}

TEST_P(KernelRow, StreamsWholeLines) {
  std::mt19937_64 random(12);
  auto from = Memory::make(16 * line_bytes).value();
  make_random(from.bytes(), random);
  for (std::size_t lines = 0; lines <= 15; ++lines) {
    auto to = Memory::make(16 * line_bytes).value();
    row().stream_lines(reinterpret_cast<std::uint64_t*>(to.bytes().data()),
                       reinterpret_cast<const std::uint64_t*>(from.bytes().data()), lines);
    row().stream_end();
    const std::size_t bytes = lines * line_bytes;
    EXPECT_EQ(std::memcmp(to.bytes().data(), from.bytes().data(), bytes), 0);
    for (std::size_t i = bytes; i < to.size(); ++i) ASSERT_EQ(to.bytes()[i], std::byte{0});
  }
}

TEST_P(KernelRow, CountsOnesOneByOne) {
  std::mt19937_64 random(13);
  for (std::size_t n = 0; n < 20; ++n) {
    Hashes words(n);
    std::uint64_t ones = 0;
    for (std::uint64_t& word : words) {
      word = random() & random();
      for (int bit = 0; bit < 64; ++bit) ones += (word >> bit) & 1;
    }
    EXPECT_EQ(row().count_ones(words.data(), n), ones);
  }
}

TEST_P(KernelRow, FindsEveryPlaceOfAByte) {
  std::mt19937_64 random(14);
  // From hardly any to nothing else, and bytes that differ in one bit, at every length.
  for (const unsigned rarity : {1u, 2u, 5u, 60u, 1000u}) {
    for (std::size_t n = 0; n < 300; ++n) {
      std::vector<unsigned char> bytes(n);
      for (unsigned char& byte : bytes)
        byte =
            random() % rarity == 0 ? 0x0a : static_cast<unsigned char>(0x0a ^ (1 << random() % 8));
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < n; ++i)
        if (bytes[i] == 0x0a) expected.push_back(i);
      std::vector<std::uint32_t> places(n, 0xffff'ffff);
      const std::size_t found = row().find_byte(bytes.data(), n, 0x0a, places.data());
      places.resize(found);
      ASSERT_EQ(places, expected) << n;
    }
  }
}

TEST_P(KernelRow, IsTheRowItsNameSaysAndNotAnother) {
  EXPECT_STREQ(row().name, GetParam());
  for (const char* other : rows_here())
    if (std::strcmp(other, GetParam()) != 0) {
      EXPECT_NE(kernels_named(other)->lines_add, row().lines_add);
      EXPECT_NE(kernels_named(other)->lines_ask, row().lines_ask);
      EXPECT_NE(kernels_named(other)->split_add, row().split_add);
      EXPECT_NE(kernels_named(other)->split_ask, row().split_ask);
    }
}

// -- which row -----------------------------------------------------------------------------------

TEST(KernelChoice, IsTheRowThatTheEnvironmentNames) {
  const char* forced = std::getenv("BLOOMERY_CPU");
  const std::string expected =
      forced != nullptr && *forced != '\0' ? forced : std::string(rows_here().back());
  EXPECT_EQ(kernels().name, expected);
  EXPECT_EQ(&kernels(), kernels_named(expected.c_str()));
  EXPECT_EQ(kernels_refused(), nullptr);
}

TEST(KernelChoice, RefusesNamesOfNoRow) {
  for (const char* name : {"", "sse9", "AVX2", "avx", "avx5", "avx5122", "scalar ", "best"})
    EXPECT_EQ(kernels_named(name), nullptr) << name;
  EXPECT_EQ(kernels_named("scalar"), &scalar_kernels);
}

#if defined(__x86_64__)
TEST(KernelChoice, HasEveryRowThatTheCpuCanRun) {
  EXPECT_EQ(kernels_named("avx2") != nullptr, __builtin_cpu_supports("avx2") != 0);
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  EXPECT_EQ(kernels_named("avx512") != nullptr, wide);
  EXPECT_EQ(kernels_named("neon"), nullptr);
}
constexpr const char* rows_of_the_build = "scalar, avx2 or avx512";
#elif defined(__aarch64__)
TEST(KernelChoice, HasEveryRowThatTheCpuCanRun) {
  EXPECT_NE(kernels_named("neon"), nullptr);
  EXPECT_EQ(kernels_named("avx2"), nullptr);
  EXPECT_EQ(kernels_named("avx512"), nullptr);
}
constexpr const char* rows_of_the_build = "scalar or neon";
#else
constexpr const char* rows_of_the_build = "scalar";
#endif

// The choice is made once in a process, so each of these needs one of its own.
class KernelChoiceDeathTest : public testing::Test {
 protected:
  KernelChoiceDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void tell_choice_under(const char* cpu) {
  ::setenv("BLOOMERY_CPU", cpu, 1);
  const char* refused = kernels_refused();
  std::fprintf(stderr, "row %s: %s\n", kernels().name, refused != nullptr ? refused : "good");
  std::exit(0);
}

TEST_F(KernelChoiceDeathTest, UnknownNameIsRefusedWithASentenceAndTheBestRowIsInUse) {
  const std::string best = rows_here().back();
  EXPECT_EXIT(tell_choice_under("sse9"), testing::ExitedWithCode(0),
              "row " + best + ": BLOOMERY_CPU=sse9 is not a known set of instructions; use " +
                  rows_of_the_build);
}

TEST_F(KernelChoiceDeathTest, EmptyNameIsNoName) {
  const std::string best = rows_here().back();
  EXPECT_EXIT(tell_choice_under(""), testing::ExitedWithCode(0), "row " + best + ": good");
}

TEST_F(KernelChoiceDeathTest, EachRowCanBeForcedAndThoseTheCpuLacksAreRefused) {
  for (const char* name : row_names) {
    const std::string said =
        kernels_named(name) != nullptr
            ? "row " + std::string(name) + ": good"
            : "BLOOMERY_CPU=" + std::string(name) +
                  ": this CPU or build has no such instructions; unset it or use scalar";
    EXPECT_EXIT(tell_choice_under(name), testing::ExitedWithCode(0), said);
  }
}

}  // namespace
}  // namespace bloomery::detail
