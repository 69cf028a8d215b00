#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <bloomery/engines/integers/sparse_integers.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
using Model = std::map<std::uint64_t, std::uint64_t>;
using Engine = Result<IntegerReport> (*)(const std::vector<std::string>&, const IntegerRules&,
                                         LineWriter&);

constexpr IntegerVerb all_verbs[] = {IntegerVerb::sort, IntegerVerb::count, IntegerVerb::once,
                                     IntegerVerb::dups, IntegerVerb::missing};

class SparseIntegers : public testing::Test {
 protected:
  struct Outcome {
    std::string out;
    std::string error;
    IntegerReport report;
  };

  Outcome run(const std::string& path, const IntegerRules& rules,
              Engine engine = run_sparse_integers) {
    const std::string to = scratch.path("out");
    auto out = LineWriter::create(to, Overwrite::replace).value();
    const auto done = engine({path}, rules, out);
    if (!done) return {"", done.error().sentence, {}};
    EXPECT_TRUE(out.close());
    return {bytes_of(to), "", *done};
  }

  Scratch scratch;
};

std::string text_of(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t n : numbers) text += std::to_string(n) + "\n";
  return text;
}

std::string expected(const Model& model, IntegerVerb verb, std::optional<Range> range = {}) {
  std::vector<std::uint64_t> numbers;
  if (verb == IntegerVerb::missing) {
    if (!range) range = Range{model.begin()->first, model.rbegin()->first};
    for (std::uint64_t n = range->low;; ++n) {
      if (!model.contains(n)) numbers.push_back(n);
      if (n == range->high) break;
    }
    return text_of(numbers);
  }
  for (const auto& [number, times] : model) {
    const bool wanted = verb == IntegerVerb::sort || (verb == IntegerVerb::once && times == 1) ||
                        (verb == IntegerVerb::dups && times > 1);
    if (wanted) numbers.push_back(number);
  }
  return text_of(numbers);
}

std::uint64_t far_number(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0: return random();
    case 1: return random() % 2 == 0 ? 0 : largest;
    case 2: return random() % 3000;
    default: return (std::uint64_t{9} << 44) + random() % 200'000;
  }
}

TEST_F(SparseIntegers, AgreesWithAModelOnNumbersOfSixtyFourBits) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> numbers;
    Model model;
    for (int i = 0; i < 30'000; ++i) {
      numbers.push_back(far_number(random));
      ++model[numbers.back()];
    }
    const std::string path = scratch.file("in", text_of(numbers));
    for (const IntegerVerb verb : all_verbs) {
      if (verb == IntegerVerb::missing) continue;
      // A small cap makes several passes of it.
      for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 16}) {
        const Outcome outcome = run(path, {.verb = verb, .memory_bytes = memory});
        ASSERT_EQ(outcome.error, "") << seed;
        EXPECT_EQ(outcome.report.map, IntegerMap::sparse);
        EXPECT_EQ(outcome.report.numbers_in, numbers.size());
        EXPECT_EQ(outcome.report.distinct, model.size());
        EXPECT_EQ(outcome.report.passes > 1, memory != 0);
        EXPECT_TRUE(memory == 0 || outcome.report.memory_bytes <= memory);
        EXPECT_EQ(outcome.report.range->low, 0u);
        EXPECT_EQ(outcome.report.range->high, largest);
        if (verb == IntegerVerb::count) {
          EXPECT_EQ(outcome.out, "");
          continue;
        }
        EXPECT_TRUE(outcome.out == expected(model, verb)) << seed;
      }
    }
  }
}

TEST_F(SparseIntegers, PrintsTheSameBytesAsTheDenseMap) {
  for (const std::uint64_t seed : {4, 5, 6}) {
    std::mt19937_64 random(seed);
    const std::uint64_t low = seed == 4 ? 0 : seed == 5 ? largest - 300'000 : random() >> 8;
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 60'000; ++i) numbers.push_back(low + random() % 300'000);
    const std::string path = scratch.file("in", text_of(numbers));
    for (const IntegerVerb verb : all_verbs)
      for (const auto& range : {std::optional<Range>{}, std::optional(Range{low, low + 300'000})})
        for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1} << 16}) {
          const IntegerRules rules{.verb = verb, .range = range, .memory_bytes = memory};
          const Outcome dense = run(path, rules, run_integers);
          const Outcome sparse = run(path, rules);
          ASSERT_EQ(sparse.error, "");
          EXPECT_TRUE(dense.out == sparse.out) << seed;
          EXPECT_EQ(dense.report.distinct, sparse.report.distinct);
          EXPECT_EQ(dense.report.once, sparse.report.once);
          EXPECT_EQ(dense.report.numbers_out, sparse.report.numbers_out);
          EXPECT_EQ(dense.report.range->low, sparse.report.range->low);
          EXPECT_EQ(dense.report.range->high, sparse.report.range->high);
        }
  }
}

TEST_F(SparseIntegers, MissingGoesToTheEndsOfTheRange) {
  const std::string path = scratch.file("in", text_of({largest - 2}));
  const Range range{largest - 4, largest};
  const Outcome outcome = run(path, {.verb = IntegerVerb::missing, .range = range});
  EXPECT_EQ(outcome.out, expected({{largest - 2, 1}}, IntegerVerb::missing, range));
  const std::string none = scratch.file("none", "");
  EXPECT_EQ(run(none, {.verb = IntegerVerb::missing, .range = Range{3, 5}}).out, "3\n4\n5\n");
  EXPECT_EQ(run(none, {.verb = IntegerVerb::missing}).out, "");
  const std::string ends = scratch.file("ends", text_of({largest - 4, largest}));
  EXPECT_EQ(run(ends, {.verb = IntegerVerb::missing}).out,
            text_of({largest - 3, largest - 2, largest - 1}));
}

TEST_F(SparseIntegers, MissingThatNobodyMeantIsRefused) {
  const std::string path = scratch.file("in", text_of({0, largest}));
  const Outcome outcome = run(path, {.verb = IntegerVerb::missing});
  EXPECT_NE(outcome.error.find("more than 2^32"), std::string::npos) << outcome.error;
}

TEST_F(SparseIntegers, PipeTakesAllOfSixtyFourBitsWithoutARange) {
  Feed feed(text_of({largest, 0, largest, std::uint64_t{1} << 40}));
  const Outcome outcome = run(feed.path(), {}, run_smaller_integers);
  EXPECT_EQ(outcome.out, text_of({0, std::uint64_t{1} << 40, largest}));
  EXPECT_EQ(outcome.report.map, IntegerMap::sparse);
  Feed binary(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(run(binary.path(), {.format = IntegerFormat::u64le}, run_smaller_integers).out,
            text_of({1, largest}));
}

TEST_F(SparseIntegers, PipeThatPassesTheCapIsRefused) {
  // All of it fits into the pipe, so the writer does not wait for a reader.
  std::mt19937_64 random(9);
  std::string bytes(65'528, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  Feed feed(bytes);
  const Outcome outcome =
      run(feed.path(), {.format = IntegerFormat::u64le, .memory_bytes = 1 << 16});
  EXPECT_NE(outcome.error.find("read only once"), std::string::npos) << outcome.error;
  EXPECT_NE(run(scratch.file("in", "1\n"), {.memory_bytes = 1000}).error, "");
}

TEST_F(SparseIntegers, SmallerOneIsChosen) {
  const auto map_of = [&](const std::string& text, std::optional<Range> range = {}) {
    return run(scratch.file("in", text), {.range = range}, run_smaller_integers).report.map;
  };
  EXPECT_EQ(map_of("1\n2\n1000000\n"), IntegerMap::dense);
  EXPECT_EQ(map_of("1\n2\n10000000000\n"), IntegerMap::sparse);
  EXPECT_EQ(map_of("1\n", Range{0, 1000}), IntegerMap::dense);
  EXPECT_EQ(map_of("1\n", Range{0, largest}), IntegerMap::sparse);
  Feed narrow("1\n");
  EXPECT_EQ(run(narrow.path(), {.range = Range{0, 9}}, run_smaller_integers).report.map,
            IntegerMap::dense);
  Feed wide("1\n");
  EXPECT_EQ(run(wide.path(), {.range = Range{0, largest}}, run_smaller_integers).report.map,
            IntegerMap::sparse);
}

TEST_F(SparseIntegers, BadLinesHaveTheirPlaceOrAreCounted) {
  const std::string path = scratch.file("in", "5\nx\n99\n5\n");
  EXPECT_NE(run(path, {}).error.find("line 2"), std::string::npos);
  const Outcome outcome = run(path, {.range = Range{0, 9}, .skip_bad = true});
  EXPECT_EQ(outcome.out, "5\n");
  EXPECT_EQ(outcome.report.bad_in, 2u);
  EXPECT_NE(run(scratch.file("out of", "99\n"), {.range = Range{0, 9}}).error.find("outside"),
            std::string::npos);
}

}  // namespace
}  // namespace bloomery::detail
