#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <bloomery/text/lines.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

using Strings = std::vector<std::string>;

Strings all_lines(Inputs& inputs) {
  Strings lines;
  for (;;) {
    const auto batch = inputs.next();
    EXPECT_TRUE(batch) << (batch ? "" : batch.error().sentence);
    if (!batch || batch->empty()) return lines;
    EXPECT_LE(batch->size(), lines_per_batch);
    lines.insert(lines.end(), batch->begin(), batch->end());
  }
}

Strings lines_of(std::string_view bytes, LineRules rules = {},
                 std::size_t block_bytes = default_block_bytes) {
  const Scratch scratch;
  Inputs inputs({scratch.file("in", bytes)}, std::move(rules), block_bytes);
  return all_lines(inputs);
}

// The law: cut at the first delimiter, again and again.
Strings split_naively(std::string_view bytes, const LineRules& rules) {
  Strings lines;
  while (!bytes.empty()) {
    const std::size_t found = bytes.find(rules.delimiter);
    std::string_view line = bytes.substr(0, found);
    bytes.remove_prefix(found == bytes.npos ? bytes.size() : found + rules.delimiter.size());
    if (rules.strip_cr && line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

std::string random_bytes(std::mt19937_64& random, std::string_view alphabet, std::size_t length) {
  std::string bytes;
  while (bytes.size() < length) bytes += alphabet[random() % alphabet.size()];
  return bytes;
}

TEST(Lines, AnEmptyFileHasNoLines) { EXPECT_EQ(lines_of(""), Strings{}); }

TEST(Lines, ALoneDelimiterIsOneEmptyLine) {
  EXPECT_EQ(lines_of("\n"), Strings{""});
  EXPECT_EQ(lines_of("\n\n"), (Strings{"", ""}));
}

TEST(Lines, TheLastLineNeedsNoDelimiter) {
  EXPECT_EQ(lines_of("a\nb"), (Strings{"a", "b"}));
  EXPECT_EQ(lines_of("a\nb\n"), (Strings{"a", "b"}));
  EXPECT_EQ(lines_of("a"), Strings{"a"});
}

TEST(Lines, OneCarriageReturnIsStrippedOnlyWhenAskedFor) {
  EXPECT_EQ(lines_of("a\r\nb\r\r\n\r\nc\r"), (Strings{"a\r", "b\r\r", "\r", "c\r"}));
  EXPECT_EQ(lines_of("a\r\nb\r\r\n\r\nc\r", {.strip_cr = true}), (Strings{"a", "b\r", "", "c"}));
}

TEST(Lines, NulAndHighBytesAreOrdinary) {
  const std::string bytes("a\0b\n\xff\xfe\n", 7);
  EXPECT_EQ(lines_of(bytes), (Strings{std::string("a\0b", 3), "\xff\xfe"}));
}

TEST(Lines, NulCanBeTheDelimiter) {
  const std::string bytes("a\nb\0c\0", 6);
  EXPECT_EQ(lines_of(bytes, {.delimiter = std::string(1, '\0')}), (Strings{"a\nb", "c"}));
}

TEST(Lines, ADelimiterOfSeveralBytesIsFoundAcrossEveryBlockBoundary) {
  const std::string bytes = "one<=>two<=<=>three<=><=>four<=";
  const Strings expected{"one", "two<=", "three", "", "four<="};
  for (std::size_t block = 1; block <= bytes.size() + 1; ++block)
    EXPECT_EQ(lines_of(bytes, {.delimiter = "<=>"}, block), expected) << "block " << block;
}

TEST(Lines, ADelimiterThatOverlapsItselfIsTakenFromTheLeft) {
  EXPECT_EQ(lines_of("xaaay", {.delimiter = "aa"}, 1), (Strings{"x", "ay"}));
}

TEST(Lines, ALineLongerThanManyBlocksStaysWhole) {
  const std::string line(1'000'003, 'x');
  EXPECT_EQ(lines_of("a\n" + line + "\nb\n" + line, {}, 16), (Strings{"a", line, "b", line}));
}

TEST(Lines, AgreeWithANaiveSplitterForEveryBlockSize) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Scratch scratch;
  for (int round = 0; round < 400; ++round) {
    const LineRules rules{.delimiter = random_bytes(random, "\n,", 1 + random() % 3),
                          .strip_cr = random() % 2 == 0};
    const std::string bytes = random_bytes(random, std::string_view("a\n,\r\0", 5), random() % 300);
    const std::size_t block = 1 + random() % 40;
    Inputs inputs({scratch.file("in", bytes)}, rules, block);
    ASSERT_EQ(all_lines(inputs), split_naively(bytes, rules)) << "round " << round;
    ASSERT_EQ(inputs.bytes_read(), bytes.size());
    ASSERT_EQ(count_lines({scratch.path("in")}, rules).value(), inputs.lines_read());
  }
}

TEST(Lines, ManyLinesComeInBatchesAndAreCounted) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += std::to_string(i) + "\n";
  const Scratch scratch;
  Inputs inputs({scratch.file("in", bytes)});
  const Strings lines = all_lines(inputs);
  ASSERT_EQ(lines.size(), 10'000u);
  EXPECT_EQ(lines[9'999], "9999");
  EXPECT_EQ(inputs.lines_read(), 10'000u);
  EXPECT_EQ(inputs.bytes_read(), bytes.size());
}

TEST(Lines, ALineNeverSpansTwoFiles) {
  const Scratch scratch;
  Inputs inputs({scratch.file("a", "1\n2"), scratch.file("b", ""), scratch.file("c", "3\n4\n")});
  EXPECT_EQ(all_lines(inputs), (Strings{"1", "2", "3", "4"}));
  EXPECT_EQ(inputs.bytes_read(), 7u);
}

TEST(Lines, ABatchKnowsItsFileAndItsLineNumber) {
  const Scratch scratch;
  Inputs inputs({scratch.file("a", "1\n2"), scratch.file("b", "3\n")});
  ASSERT_EQ(inputs.next().value().front(), "1");
  EXPECT_EQ(inputs.name(), scratch.path("a"));
  EXPECT_EQ(inputs.first_line(), 1u);
  ASSERT_EQ(inputs.next().value().front(), "2");
  EXPECT_EQ(inputs.name(), scratch.path("a"));
  EXPECT_EQ(inputs.first_line(), 2u);
  ASSERT_EQ(inputs.next().value().front(), "3");
  EXPECT_EQ(inputs.name(), scratch.path("b"));
  EXPECT_EQ(inputs.first_line(), 1u);
}

TEST(Lines, APipeIsReadToItsEnd) {
  const std::string line(100'000, 'y');
  const Feed feed("a\n" + line + "\nb");
  Inputs inputs({feed.path()});
  EXPECT_EQ(all_lines(inputs), (Strings{"a", line, "b"}));
}

TEST(Lines, APipeWithNothingToReadIsNotReady) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "a\nb\nc", 5), 5);
  Inputs inputs({"/dev/fd/" + std::to_string(ends[0])});
  EXPECT_TRUE(inputs.ready());
  EXPECT_EQ(inputs.next().value().size(), 2u);
  EXPECT_FALSE(inputs.ready());
  ::close(ends[1]);
  EXPECT_TRUE(inputs.ready());
  EXPECT_EQ(inputs.next().value().size(), 1u);
  ::close(ends[0]);
}

TEST(Lines, WhatCanNotBeReadIsNamed) {
  const Scratch scratch;
  Inputs missing({scratch.path("nowhere")});
  const auto none = missing.next();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::io);
  EXPECT_NE(none.error().sentence.find("nowhere"), std::string::npos);

  Inputs directory({scratch.path("")});
  const auto refused = directory.next();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("is a directory"), std::string::npos);

  EXPECT_FALSE(check_readable({scratch.path("nowhere")}));
  EXPECT_FALSE(check_readable({scratch.path("")}));
  EXPECT_TRUE(check_readable({scratch.file("here", ""), "-"}));
}

TEST(LineCounts, AreExactForFilesAndAbsentForPipes) {
  const Scratch scratch;
  const std::string two = scratch.file("a", "1\n2");
  const std::string three = scratch.file("b", "1\n2\n3\n");
  EXPECT_EQ(count_lines({two, three}).value(), 5u);
  EXPECT_EQ(count_lines({three}, {.delimiter = "\n2\n"}).value(), 2u);
  EXPECT_EQ(estimate_lines({two, three}).value(), 5u);
  const Feed feed("1\n");
  EXPECT_EQ(count_lines({two, feed.path()}).value(), std::nullopt);
  EXPECT_EQ(estimate_lines({two, feed.path()}).value(), std::nullopt);
  EXPECT_FALSE(count_lines({scratch.path("nowhere")}));
}

TEST(LineCounts, AnEstimateIsAboveTheTruthAndNotByMuch) {
  std::mt19937_64 random(1);
  std::string bytes;
  std::uint64_t lines = 0;
  for (; bytes.size() < (std::size_t{24} << 20); ++lines)
    bytes += std::string(random() % 120, 'x') + "\n";
  const Scratch scratch;
  const auto guess = estimate_lines({scratch.file("in", bytes)}).value();
  ASSERT_TRUE(guess);
  EXPECT_GE(*guess, lines);
  EXPECT_LE(static_cast<double>(*guess), 1.05 * static_cast<double>(lines));
}

TEST(LineCounts, AFileWhoseLinesGrowShorterIsStillCovered) {
  std::string bytes;
  std::uint64_t lines = 0;
  for (; bytes.size() < (std::size_t{16} << 20); ++lines)
    bytes += std::string(bytes.size() < (std::size_t{8} << 20) ? 200 : 20, 'x') + "\n";
  const Scratch scratch;
  const auto guess = estimate_lines({scratch.file("in", bytes)}).value();
  ASSERT_TRUE(guess);
  EXPECT_GE(*guess, lines);
  EXPECT_LE(static_cast<double>(*guess), 1.6 * static_cast<double>(lines));
}

}  // namespace
}  // namespace bloomery::detail
