// How a ribbon is solved, in every row of the kernels, beside a model that knows nothing of bands,
// windows and sums: whole equations, row after row.
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/ribbon.hpp>
#include <bloomery/detail/bits/ribbon_band.hpp>

namespace bloomery::detail {
namespace {

constexpr std::uint64_t stretch = 128;
constexpr std::size_t most_rows = 1024;

// A shard to solve. Stretches below `wide` ask for one column more.
struct Task {
  std::uint64_t blocks;
  std::uint32_t columns;
  std::uint64_t wide = 0;
  std::vector<std::uint64_t> hashes = {};

  std::uint64_t rows() const { return blocks * 64; }
  std::uint64_t starts() const { return rows() - 63; }
  std::uint64_t start(std::uint64_t hash) const { return mulhi(hash, starts()); }
  std::uint64_t wide_blocks() const { return wide == 0 ? 0 : std::min(blocks, 2 * wide + 1); }
  std::uint64_t asked(std::uint64_t in_stretch) const {
    return (std::uint64_t{1} << (columns + (in_stretch < wide))) - 1;
  }
  // Two to a stretch, the later starts first; in each the starts rise.
  std::vector<std::vector<std::uint64_t>> classes() const {
    std::vector<std::vector<std::uint64_t>> all((rows() / stretch + 1) * 2);
    for (const std::uint64_t hash : hashes) {
      const std::uint64_t at = start(hash);
      all[at / stretch * 2 + (at % stretch < stretch / 2)].push_back(hash);
    }
    for (auto& keys : all)
      std::stable_sort(keys.begin(), keys.end(), [&](std::uint64_t a, std::uint64_t b) {
        return start(a) / 8 < start(b) / 8;
      });
    return all;
  }
};

struct Solved {
  std::vector<bool> held;              // of each class
  std::vector<std::uint64_t> led;      // rows
  std::vector<std::uint64_t> columns;  // of each row, as bits
};

Solved by_the_law(const Task& task) {
  struct Whole {
    std::bitset<most_rows> rows;
    std::uint64_t answer = 0;
  };
  std::vector<Whole> leaders(task.rows());
  Solved solved;
  const auto classes = task.classes();
  for (std::size_t number = 0; number < classes.size(); ++number) {
    const auto before = leaders;
    bool held = true;
    for (const std::uint64_t hash : classes[number]) {
      const std::bitset<most_rows> window(ribbon::coefficients({hash}));
      Whole key{window << task.start(hash), ribbon::fingerprint({hash}, task.columns)};
      for (std::size_t row = 0; row < leaders.size() && key.rows.any(); ++row) {
        if (!key.rows[row]) continue;
        if (leaders[row].rows.none()) leaders[row] = key;
        const Whole leader = leaders[row];
        key.rows ^= leader.rows;
        key.answer ^= leader.answer;
      }
      held = held && (key.answer & task.asked(number / 2)) == 0;
    }
    if (!held) leaders = before;
    solved.held.push_back(held);
  }
  solved.columns.resize(task.rows());
  for (std::size_t row = task.rows(); row-- > 0;) {
    if (leaders[row].rows.none()) continue;
    solved.led.push_back(row);
    std::uint64_t bits = leaders[row].answer;
    for (std::size_t later = row + 1; later < task.rows(); ++later)
      if (leaders[row].rows[later]) bits ^= solved.columns[later];
    solved.columns[row] = bits;
  }
  std::reverse(solved.led.begin(), solved.led.end());
  for (std::size_t row = 0; row < task.rows(); ++row)
    solved.columns[row] &=
        (std::uint64_t{1} << (task.columns + (row / 64 < task.wide_blocks()))) - 1;
  return solved;
}

Solved by(const Kernels& kernels, const Task& task) {
  std::vector<RibbonEquation> leading(task.rows());
  const auto band = std::make_unique<RibbonBand>();
  std::ranges::fill(band->led, 0);
  band->starts = task.starts();
  band->columns = task.columns;
  band->leading = leading.data();
  Solved solved;
  const auto classes = task.classes();
  for (std::size_t number = 0; number < classes.size(); ++number) {
    if (number % 2 == 0)  // quads that the windows of the stretch before do not reach
      for (std::uint64_t quad = 16; quad < 64; ++quad)
        band->led[(number / 2 * stretch / 4 + quad) % 64] = 0;
    band->asked = task.asked(number / 2);
    band->placed = 0;
    const auto& keys = classes[number];
    const bool held = kernels.ribbon_insert(*band, keys.data(), keys.size());
    for (std::size_t i = 0; !held && i < band->placed; ++i) {
      leading[band->placed_rows[i]] = {};
      --band->led[band->placed_rows[i] / 4 % 64];
    }
    solved.held.push_back(held);
  }
  for (std::size_t row = 0; row < leading.size(); ++row)
    if (leading[row].coefficients != 0) solved.led.push_back(row);
  constexpr std::uint64_t untouched = 0x5555'5555'5555'5555;
  std::vector<std::uint64_t> words(task.blocks * task.columns + task.wide_blocks() + 1, untouched);
  kernels.ribbon_substitute(leading.data(),
                            {words.data(), task.blocks, task.wide_blocks(), task.columns});
  EXPECT_EQ(words.back(), untouched);
  std::size_t at = 0;
  for (std::uint64_t block = 0; block < task.blocks; ++block) {
    const std::uint64_t columns = task.columns + (block < task.wide_blocks());
    for (std::uint64_t row = 0; row < 64; ++row) {
      std::uint64_t bits = 0;
      for (std::uint64_t c = 0; c < columns; ++c) bits |= (words[at + c] >> row & 1) << c;
      solved.columns.push_back(bits);
    }
    at += columns;
  }
  return solved;
}

void expect_all_rows_follow(const Task& task) {
  const Solved law = by_the_law(task);
  for (const char* name : {"scalar", "avx2", "avx512", "neon"}) {
    const Kernels* row = kernels_named(name);
    if (row == nullptr) continue;
    SCOPED_TRACE(name);
    const Solved solved = by(*row, task);
    ASSERT_EQ(solved.held, law.held);
    ASSERT_EQ(solved.led, law.led);
    ASSERT_EQ(solved.columns, law.columns);
  }
}

std::vector<std::uint64_t> random_hashes(std::mt19937_64& random, std::uint64_t count) {
  std::vector<std::uint64_t> hashes(count);
  for (std::uint64_t& hash : hashes) hash = random();
  return hashes;
}

// Few keys, as many as rows, too many.
TEST(RibbonBandKernel, EveryRowSolvesAsTheLawForAllColumns) {
  constexpr std::uint64_t seed = 41;
  std::mt19937_64 random(seed);
  for (std::uint32_t columns = 1; columns <= 48; ++columns)
    for (const std::uint64_t share : {10, 90, 104, 150}) {
      Task task{.blocks = 1 + random() % 9, .columns = columns};
      task.wide = random() % (task.blocks / 2 + 1);
      task.hashes = random_hashes(random, task.rows() * share / 100);
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << ", " << columns << " columns, " << task.hashes.size()
                   << " keys, " << task.blocks << " blocks, " << task.wide << " wide");
      expect_all_rows_follow(task);
    }
}

// Every number of keys in a class, so that lanes are left over.
TEST(RibbonBandKernel, EveryRowTakesAnyNumberOfKeys) {
  constexpr std::uint64_t seed = 42;
  std::mt19937_64 random(seed);
  for (std::uint64_t count = 0; count <= 100; ++count) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << count << " keys");
    expect_all_rows_follow({.blocks = 3, .columns = 8, .hashes = random_hashes(random, count)});
  }
}

// At one column every other dependent key is lucky, and the order decides what wide rows hold.
TEST(RibbonBandKernel, EveryRowKeepsTheFirstOfKeysThatSayTheSame) {
  constexpr std::uint64_t seed = 43;
  std::mt19937_64 random(seed);
  std::size_t lucky = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    Task task{.blocks = 4, .columns = 1, .wide = 1, .hashes = random_hashes(random, 20)};
    // As many keys of a few starts at the border of the wide rows as their windows have rows.
    const std::uint64_t crowd = 54 + random() % 10;
    for (std::uint64_t i = 0; i < crowd; ++i)
      task.hashes.push_back((random() >> 10) + (std::uint64_t{11} << 60));
    expect_all_rows_follow(task);
    const Solved law = by_the_law(task);
    lucky += std::count(law.held.begin(), law.held.end(), false) == 0 &&
             law.led.size() < task.hashes.size();
  }
  EXPECT_GT(lucky, 0);
}

TEST(RibbonBandKernel, EveryRowTakesKeysOfOneStart) {
  std::vector<std::uint64_t> beside(500);
  for (std::uint64_t i = 0; i < beside.size(); ++i) beside[i] = i;
  expect_all_rows_follow({.blocks = 2, .columns = 8, .hashes = beside});
  expect_all_rows_follow(
      {.blocks = 2, .columns = 8, .hashes = {beside.begin(), beside.begin() + 60}});
  expect_all_rows_follow({.blocks = 2, .columns = 8, .hashes = std::vector<std::uint64_t>(99, 7)});
  for (std::uint64_t& hash : beside) hash = ~hash;
  expect_all_rows_follow(
      {.blocks = 2, .columns = 8, .hashes = {beside.begin(), beside.begin() + 60}});
}

}  // namespace
}  // namespace bloomery::detail
