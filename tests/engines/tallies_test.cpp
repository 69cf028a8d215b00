// tally() with a spool of a few bytes: everything goes through the file and is packed there, again
// and again; beside a model that keeps all lines.
#include <bloomery/engines/dedup/tallies.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include <bloomery/engines/dedup/key_numbers.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

using Texts = std::vector<std::string>;

std::string joined(const Texts& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Model {
  Texts first;  // of each key, in order
  std::map<std::string, std::uint64_t> counts;
  Texts last;

  explicit Model(const Texts& lines) {
    for (const std::string& line : lines)
      if (counts[line]++ == 0) first.push_back(line);
    std::map<std::string, std::uint64_t> left = counts;
    for (const std::string& line : lines)
      if (--left[line] == 0) last.push_back(line);
  }
};

class TallyTest : public testing::Test {
 protected:
  // What tally prints of these lines.
  std::string printed(const Texts& lines, TallyRules tallies) {
    const AnySet set = AnySet::make("hash-set", {}).value();
    BlockInputs inputs({folder_.file("in", joined(lines))}, {}, 4096);
    LineWriter out = LineWriter::create(folder_.path("out"), Overwrite::replace).value();
    report_ = tally(set, inputs, out, {}, tallies).value();
    out.close().value();
    return bytes_of(folder_.path("out"));
  }

  Scratch folder_;
  TallyReport report_;
};

TEST_F(TallyTest, SmallSpoolsPrintWhatAModelDoes) {
  std::mt19937_64 chance(20261116);
  for (const std::size_t memory : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
    Texts lines;
    for (int i = 0; i < 30'000; ++i)
      lines.push_back(std::string(chance() % 40, 'x') + std::to_string(chance() % 700));
    const Model model(lines);
    Texts counts, once;
    for (const std::string& line : model.first) {
      counts.push_back(std::to_string(model.counts.at(line)) + "\t" + line);
      if (model.counts.at(line) == 1) once.push_back(line);
    }
    EXPECT_EQ(printed(lines, {TallyPrint::counts, 0, memory}), joined(counts));
    EXPECT_EQ(report_.distinct, model.first.size());
    EXPECT_EQ(report_.lines_in, lines.size());
    EXPECT_EQ(report_.repeats, lines.size() - model.first.size());
    EXPECT_EQ(printed(lines, {TallyPrint::once, 0, memory}), joined(once));
    EXPECT_EQ(report_.lines_out, once.size());
    EXPECT_EQ(printed(lines, {TallyPrint::last, 0, memory}), joined(model.last));
    EXPECT_EQ(report_.lines_out, model.last.size());
  }
}

TEST_F(TallyTest, TheMostFrequentComeFirstAndOfEqualsTheEarlier) {
  const Texts lines = {"b", "a", "c", "a", "c", "d", "b", "e", "a"};
  EXPECT_EQ(printed(lines, {TallyPrint::counts, 3, 1}), "3\ta\n2\tb\n2\tc\n");
  EXPECT_EQ(printed(lines, {TallyPrint::counts, 4, 1}), "3\ta\n2\tb\n2\tc\n1\td\n");
  EXPECT_EQ(printed(lines, {TallyPrint::counts, 99}), "3\ta\n2\tb\n2\tc\n1\td\n1\te\n");
}

TEST_F(TallyTest, ASpoolOfLastLinesStaysShortHoweverOftenTheyAreReplaced) {
  Texts lines;
  for (int i = 0; i < 20'000; ++i) lines.push_back(std::string(90, 'x') + std::to_string(i % 10));
  EXPECT_EQ(printed(lines, {TallyPrint::last, 0, 4096}),
            joined(Texts(lines.end() - 10, lines.end())));
  // Four times the memory and a block make it be packed.
  EXPECT_LT(report_.spool_bytes, 6 * 4096U);
}

TEST(KeyNumbers, NumbersStayWhileItGrows) {
  KeyNumbers numbers;
  const Hasher hasher;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    // Every tenth key is equal to no other, and no hash finds it.
    if (i % 10 == 0) {
      EXPECT_EQ(numbers.number_alone(), i);
    } else {
      EXPECT_EQ(numbers.number_of(hasher.wide(i)), i);
    }
    numbers.word(i) = i;
  }
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    if (i % 10 != 0) {
      ASSERT_EQ(numbers.number_of(hasher.wide(i)), i);
    }
    ASSERT_EQ(numbers.word(i), i);
  }
  EXPECT_EQ(numbers.size(), 300'000U);
  EXPECT_LE(numbers.bytes(), 46 * 300'000U + (std::uint64_t{2} << 20));
}

TEST(KeyNumbers, HashesThatDifferInOneBitAreDifferentKeys) {
  KeyNumbers numbers;
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(numbers.number_of({std::uint64_t{1} << bit, 7}), 2 * bit);
    EXPECT_EQ(numbers.number_of({5, std::uint64_t{1} << bit}), 2 * bit + 1);
  }
  EXPECT_EQ(numbers.number_of({}), 128U);
  EXPECT_EQ(numbers.number_of({}), 128U);
}

}  // namespace
}  // namespace bloomery::detail
