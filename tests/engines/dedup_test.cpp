#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include <bloomery/engines/dedup/dedup.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

AnySet text_set(std::string_view kind = "hash-set", Want want = {.keys = 100'000, .rate = 1e-6},
                std::uint64_t seed = 0) {
  if (kind == "hash-set") want.rate = 0;
  return std::move(AnySet::make(kind, want, Hasher(seed)).value());
}

// The rate at each add, summed up, with a step that no set notices.
double integral_of_rate(AnySet set, std::uint64_t lines) {
  double sum = 0;
  for (std::uint64_t i = 0; i < lines; ++i) {
    const std::string line = std::to_string(i);
    if (i % 500 == 0) sum += set.expected_rate_now() * 500;
    EXPECT_TRUE(set.add_all(std::vector<std::string_view>{line}));
  }
  return sum;
}

struct Outcome {
  DedupReport report;
  std::string out;
  std::string repeats;
};

class Dedup : public testing::Test {
 protected:
  Outcome run(AnySet& set, BlockInputs inputs, DedupRules rules = {}) {
    Outcome outcome;
    auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
    auto repeats = LineWriter::create(scratch.path("repeats"), Overwrite::replace).value();
    rules.repeats_out = &repeats;
    const auto report = dedup(set, inputs, out, rules);
    EXPECT_TRUE(report) << (report ? "" : report.error().sentence);
    if (report) outcome.report = *report;
    EXPECT_TRUE(out.close());
    EXPECT_TRUE(repeats.close());
    outcome.out = bytes_of(scratch.path("out"));
    outcome.repeats = bytes_of(scratch.path("repeats"));
    return outcome;
  }

  std::string kept(std::string_view bytes, const DedupRules& rules = {}, LineRules lines = {}) {
    AnySet set = text_set();
    return run(set, BlockInputs({scratch.file("in", bytes)}, std::move(lines)), rules).out;
  }

  Scratch scratch;
};

TEST_F(Dedup, KeepsTheFirstOfEachLineInOrder) {
  EXPECT_EQ(kept("b\na\nb\nc\na\n"), "b\na\nc\n");
  EXPECT_EQ(kept(""), "");
  EXPECT_EQ(kept("\n\n"), "\n");
}

TEST_F(Dedup, EndsEveryPrintedLineWithTheDelimiter) {
  EXPECT_EQ(kept("a\nb"), "a\nb\n");
  EXPECT_EQ(kept("a\na"), "a\n");
  EXPECT_EQ(kept("x--y--x", {}, {.delimiter = "--"}), "x--y--");
  EXPECT_EQ(kept(std::string("a\0b\0a", 5), {}, {.delimiter = std::string(1, '\0')}),
            std::string("a\0b\0", 4));
}

TEST_F(Dedup, ALineWithoutItsDelimiterEqualsTheSameLineInTheNextFile) {
  AnySet set = text_set();
  const auto outcome =
      run(set, BlockInputs({scratch.file("a", "1\n2"), scratch.file("b", "2\n3")}));
  EXPECT_EQ(outcome.out, "1\n2\n3\n");
  EXPECT_EQ(outcome.report.bytes_in, 6u);
}

TEST_F(Dedup, PrintsTheRepeatsInstead) {
  EXPECT_EQ(kept("b\na\nb\nc\na\nb", {.repeated = true}), "b\na\nb\n");
}

TEST_F(Dedup, CarriageReturnsMakeADifferenceUnlessStripped) {
  EXPECT_EQ(kept("a\r\na\nb\nb\r\n"), "a\r\na\nb\nb\r\n");
  EXPECT_EQ(kept("a\r\na\nb\nb\r\n", {.make_keys = keys_without_cr()}), "a\r\nb\n");
}

TEST_F(Dedup, DropsWhatAnotherSetHas) {
  AnySet against = text_set("blocked", {.keys = 100, .rate = 1e-6});
  const std::vector<std::string_view> known{"b", "d"};
  ASSERT_TRUE(against.add_all(known));
  AnySet set = text_set();
  const auto outcome =
      run(set, BlockInputs({scratch.file("in", "a\nb\nc\na\nd\nb\n")}), {.against = {{&against}}});
  EXPECT_EQ(outcome.out, "a\nc\n");
  EXPECT_EQ(outcome.repeats, "b\na\nd\nb\n");
  EXPECT_EQ(outcome.report.repeats, 4u);
}

TEST_F(Dedup, AgreesWithAnUnorderedSetOnRandomLinesForEveryTextKind) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::string_view kind : {"hash-set", "chain", "blocked"}) {
    std::string bytes, expected, repeats;
    std::unordered_set<std::string> seen;
    std::uint64_t lines = 0;
    for (; lines < 50'000; ++lines) {
      const std::string line = std::string(random() % 40, 'x') + std::to_string(random() % 20'000);
      bytes += line + "\n";
      (seen.insert(line).second ? expected : repeats) += line + "\n";
    }
    // At 1e-9 a stranger among 5e4 lines passes once in twenty thousand runs.
    AnySet set = text_set(kind, {.keys = 60'000, .rate = 1e-9});
    const auto outcome = run(set, BlockInputs({scratch.file("in", bytes)}, {}, 1000));
    EXPECT_EQ(outcome.out, expected) << kind;
    EXPECT_EQ(outcome.repeats, repeats) << kind;
    EXPECT_EQ(outcome.report.lines_in, lines);
    EXPECT_EQ(outcome.report.lines_out, seen.size());
    EXPECT_EQ(outcome.report.repeats, lines - seen.size());
    EXPECT_EQ(outcome.report.bytes_in, bytes.size());
    EXPECT_EQ(outcome.report.memory_bytes, set.bytes());
    EXPECT_LE(outcome.report.expected_lost, 1e-3);
  }
}

TEST_F(Dedup, LosesNothingWhenExact) {
  AnySet set = text_set();
  const auto report = run(set, BlockInputs({scratch.file("in", "a\nb\na\n")})).report;
  EXPECT_EQ(report.expected_lost, 0);
  EXPECT_EQ(report.rate_now, 0);
}

// The promise is about truly new lines: a set far beyond its plan loses many, and says how many.
TEST_F(Dedup, TheExpectedLossIsCloseToWhatIsLost) {
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += std::to_string(i) + "\n";
  for (const std::uint64_t keys : {200'000, 50'000, 10'000, 2'000}) {
    AnySet set = text_set("blocked", {.keys = keys, .rate = 0.01});
    const auto report = run(set, BlockInputs({scratch.file("in", bytes)})).report;
    const double lost = 200'000 - static_cast<double>(report.lines_out);
    EXPECT_GT(lost, 100) << keys;
    EXPECT_NEAR(report.expected_lost, lost, 0.15 * lost) << keys;
  }
}

// A loss that is spread thin: each stretch of lines has a small part of one, and most no repeat.
TEST_F(Dedup, AboutOneLostLineIsExpectedAsSuch) {
  constexpr std::uint64_t lines = 100'000;
  const Want want{.keys = lines, .rate = 1.5e-4};
  std::string bytes;
  for (std::uint64_t i = 0; i < lines; ++i) bytes += std::to_string(i) + "\n";
  // Some true repeats, so that the loss is not limited by them.
  for (int i = 0; i < 50; ++i) bytes += std::to_string(i) + "\n";
  const std::string path = scratch.file("in", bytes);
  const double expected = integral_of_rate(text_set("blocked", want), lines);
  ASSERT_GT(expected, 0.5);
  ASSERT_LT(expected, 2);
  constexpr int seeds = 30;
  double told = 0, lost = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    AnySet set = text_set("blocked", want, seed);
    const auto report = run(set, BlockInputs({path})).report;
    EXPECT_GT(report.expected_lost, expected / 1.5) << seed;
    EXPECT_LT(report.expected_lost, expected * 1.5) << seed;
    told += report.expected_lost;
    lost += static_cast<double>(lines) - static_cast<double>(report.lines_out);
  }
  // About thirty lines in all: five and a half is the spread of their number.
  EXPECT_NEAR(lost, told, 4 * std::sqrt(told));
}

TEST_F(Dedup, NoMoreIsLostThanWasTakenForARepeat) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::to_string(i) + "\n";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    AnySet set = text_set("blocked", {.keys = 1000, .rate = 1e-3}, seed);
    const auto report = run(set, BlockInputs({scratch.file("in", bytes)})).report;
    EXPECT_LE(report.expected_lost, static_cast<double>(report.repeats)) << seed;
  }
}

TEST_F(Dedup, TellsOnceThatTheSetIsOverfull) {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) bytes += std::to_string(i) + "\n";
  AnySet set = text_set("blocked", {.keys = 5'000, .rate = 0.01});
  std::vector<std::uint64_t> told;
  run(set, BlockInputs({scratch.file("in", bytes)}),
      {.on_overfull = [&](const DedupReport& report) { told.push_back(report.lines_in); }});
  ASSERT_EQ(told.size(), 1u);
  EXPECT_GE(told[0], 5'000u);
  EXPECT_LE(told[0], 5'000u + 2 * lines_per_batch);
}

TEST_F(Dedup, AGrowingSetIsNotOverfull) {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) bytes += std::to_string(i) + "\n";
  AnySet set = text_set("chain", {.keys = 1'000, .rate = 1e-6});
  int told = 0;
  const auto outcome = run(set, BlockInputs({scratch.file("in", bytes)}),
                           {.on_overfull = [&](const DedupReport&) { ++told; }});
  EXPECT_EQ(told, 0);
  EXPECT_EQ(outcome.out, bytes);
  EXPECT_LE(outcome.report.rate_now, 1e-6);
}

TEST_F(Dedup, RefusesASetOfIntegers) {
  AnySet set = std::move(AnySet::make("bitmap", {.range = Range{0, 9}}).value());
  BlockInputs inputs({scratch.file("in", "1\n")});
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  const auto refused = dedup(set, inputs, out);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
}

TEST_F(Dedup, EndsWhenNobodyReads) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  AnySet set = text_set();
  BlockInputs inputs({scratch.file("in", "a\nb\n")});
  LineWriter out(ends[1], "pipe");
  EXPECT_FALSE(dedup(set, inputs, out));
  EXPECT_TRUE(out.reader_gone());
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST_F(Dedup, WritesAtOnceWhenThePipeHasNothingMore) {
  int in[2], out_ends[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out_ends), 0);
  std::thread running([&] {
    AnySet set = text_set();
    BlockInputs inputs({"/dev/fd/" + std::to_string(in[0])});
    LineWriter out(out_ends[1], "pipe");
    EXPECT_TRUE(dedup(set, inputs, out));
  });
  ASSERT_EQ(::write(in[1], "a\na\nb", 5), 5);
  char got[16] = {};
  // The input stays open: what comes now was not held back until its end.
  EXPECT_EQ(::read(out_ends[0], got, sizeof got), 2);
  EXPECT_EQ(std::string_view(got, 2), "a\n");
  ::close(in[1]);
  running.join();
  EXPECT_EQ(::read(out_ends[0], got, sizeof got), 2);
  for (const int fd : {in[0], out_ends[0], out_ends[1]}) ::close(fd);
}

TEST_F(Dedup, AReadErrorKeepsWhatWasPrintedAndIsTold) {
  AnySet set = text_set();
  BlockInputs inputs({scratch.file("in", "a\nb\n"), scratch.path("nowhere")});
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  const auto failed = dedup(set, inputs, out);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().sentence.find("nowhere"), std::string::npos);
  EXPECT_TRUE(out.close());
  EXPECT_EQ(bytes_of(scratch.path("out")), "a\nb\n");
}

TEST_F(Dedup, IsSizedByTheFilesAndStartsWithAMillionForAPipe) {
  const auto sized = dedup_want({scratch.file("in", "a\nb\nc")}, {}, 1e-6).value();
  EXPECT_EQ(sized.keys, 3u);
  EXPECT_EQ(sized.rate, 1e-6);
  EXPECT_EQ(dedup_want({scratch.file("none", "")}, {}, 0).value().keys, 1u);
  const Feed feed("a\n");
  EXPECT_EQ(dedup_want({feed.path()}, {}, 1e-6).value().keys, 1'000'000u);
}

// Lines of many lengths, a third of them repeats, over three files.
std::vector<std::string> mixed_files(const Scratch& scratch, std::string& expected) {
  std::mt19937_64 random(7);
  std::unordered_set<std::string> seen;
  std::vector<std::string> files;
  for (const char* name : {"a", "b", "c"}) {
    std::string bytes;
    for (int i = 0; i < 30'000; ++i) {
      const std::string line = std::string(random() % 60, 'x') + std::to_string(random() % 60'000);
      bytes += line;
      if (i + 1 < 30'000 || name[0] != 'b') bytes += '\n';  // b has no last newline
      if (seen.insert(line).second) expected += line + '\n';
    }
    files.push_back(scratch.file(name, bytes));
  }
  return files;
}

TEST_F(Dedup, ThreadsPrintTheSameBytesAndLeaveTheSameSet) {
  std::string expected;
  const auto files = mixed_files(scratch, expected);
  for (const char* kind : {"hash-set", "chain", "blocked"}) {
    AnySet alone = text_set(kind, {.keys = 1000, .rate = 1e-9});
    const auto one = run(alone, BlockInputs(files, {}, 4096), {.threads = {1}});
    if (alone.exact()) {
      EXPECT_EQ(one.out, expected);
    }
    for (const unsigned threads : {2u, 3u, 8u}) {
      AnySet set = text_set(kind, {.keys = 1000, .rate = 1e-9});
      const auto many = run(set, BlockInputs(files, {}, 4096), {.threads = {threads}});
      EXPECT_EQ(many.out, one.out) << kind << ' ' << threads;
      EXPECT_EQ(many.repeats, one.repeats) << kind << ' ' << threads;
      EXPECT_EQ(many.report.lines_out, one.report.lines_out);
      EXPECT_EQ(many.report.bytes_in, one.report.bytes_in);
      EXPECT_EQ(many.report.expected_lost, one.report.expected_lost);
      const Parts left = alone.parts().value(), right = set.parts().value();
      ASSERT_EQ(left.parts.size(), right.parts.size());
      for (std::size_t i = 0; i < left.parts.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(left.parts[i].payload, right.parts[i].payload));
    }
  }
}

// At a checkpoint the set has just what was printed.
TEST_F(Dedup, ThreadsHaveNothingUnderWayAtACheckpoint) {
  std::string expected;
  const auto files = mixed_files(scratch, expected);
  std::vector<std::uint64_t> bytes_of_lines = {0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] == '\n') bytes_of_lines.push_back(i + 1);
  for (const unsigned threads : {1u, 3u}) {
    AnySet set = text_set();
    auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
    BlockInputs inputs(files, {}, 4096);
    int taken = 0;
    std::uint64_t before = 0;
    const auto report = dedup(set, inputs, out,
                              {.threads = {threads},
                               .checkpoint_every = std::chrono::milliseconds(1),
                               .checkpoint = [&](const DedupReport& now) -> Result<void> {
                                 ++taken;
                                 std::uint64_t bytes = 0, lines = 0;
                                 for (const char c : expected) {
                                   if (lines == set.adds()) break;
                                   ++bytes;
                                   lines += c == '\n';
                                 }
                                 EXPECT_EQ(out.bytes_written(), bytes);
                                 EXPECT_EQ(now.lines_out, set.adds());
                                 EXPECT_GT(now.lines_in, before);
                                 before = now.lines_in;
                                 return {};
                               }});
    ASSERT_TRUE(report);
    EXPECT_GE(taken, 1);
    EXPECT_TRUE(out.close());
    EXPECT_EQ(bytes_of(scratch.path("out")), expected);
  }
}

TEST_F(Dedup, AnErrorAtACheckpointEndsTheRun) {
  std::string expected;
  const auto files = mixed_files(scratch, expected);
  AnySet set = text_set();
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  BlockInputs inputs(files, {}, 4096);
  const auto failed = dedup(set, inputs, out,
                            {.threads = {2},
                             .checkpoint_every = std::chrono::milliseconds(1),
                             .checkpoint = [](const DedupReport&) -> Result<void> {
                               return Error{Code::io, "no room"};
                             }});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().sentence, "no room");
}

// The key is what stands before the first comma; a record without one has no key.
class BeforeComma : public KeyMaker {
 public:
  Lines keys_of(Lines records) override {
    keys_.clear();
    for (const std::string_view record : records) {
      const std::size_t comma = record.find(',');
      keys_.push_back(comma == record.npos ? std::string_view{} : record.substr(0, comma));
    }
    return keys_;
  }
  std::string why_none(std::string_view record) const override {
    return "has no comma: " + std::string(record);
  }

 private:
  std::vector<std::string_view> keys_;
};
MakeKeys before_comma() {
  return [](std::size_t) { return std::make_unique<BeforeComma>(); };
}

TEST_F(Dedup, KeysMayBeMadeOfRecords) {
  AnySet set = text_set();
  const auto outcome = run(set, BlockInputs({scratch.file("in", "a,1\nb,1\na,2\n,3\n,4\n")}),
                           {.make_keys = before_comma(), .threads = {2}});
  EXPECT_EQ(outcome.out, "a,1\nb,1\n,3\n");
  EXPECT_EQ(outcome.repeats, "a,2\n,4\n");
}

TEST_F(Dedup, ARecordWithoutAKeyIsAnErrorWithItsPlaceOrPrintedAndCounted) {
  const std::string bytes = "a,1\nb,1\nnothing\na,2\nnothing\n";
  AnySet set = text_set();
  BlockInputs inputs({scratch.file("first", "x,1\n"), scratch.file("in", bytes)});
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  const auto failed = dedup(set, inputs, out, {.make_keys = before_comma()});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().sentence, scratch.path("in") + ": line 3 has no comma: nothing");
  AnySet again = text_set();
  const auto outcome = run(again, BlockInputs({scratch.file("in", bytes)}),
                           {.make_keys = before_comma(), .refuse_no_key = false});
  EXPECT_EQ(outcome.out, "a,1\nb,1\nnothing\nnothing\n");
  EXPECT_EQ(outcome.repeats, "a,2\n");
  EXPECT_EQ(outcome.report.no_key, 2u);
}

TEST_F(Dedup, TheHeadOfEachFileIsToldAndPrintedOnce) {
  std::vector<std::string> heads;
  const DedupRules rules{.on_head = [&](std::size_t file, std::string_view head) -> Result<void> {
    heads.push_back(std::to_string(file) + std::string(head));
    return {};
  }};
  AnySet set = text_set();
  const auto outcome =
      run(set, BlockInputs({scratch.file("a", "key\n1\n2\n"), scratch.file("b", "key\n2\nkey\n")}),
          rules);
  EXPECT_EQ(outcome.out, "key\n1\n2\nkey\n");
  EXPECT_EQ(outcome.report.lines_in, 4u);
  EXPECT_EQ(heads, (std::vector<std::string>{"0key", "1key"}));
  AnySet other = text_set();
  BlockInputs unlike({scratch.file("a", "key\n1\n"), scratch.file("b", "id\n2\n")});
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  const auto failed = dedup(other, unlike, out, rules);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().sentence.find("another header"), std::string::npos);
}

TEST_F(Dedup, TheHeadIsThatOfTheFirstFileThatHasOneOrOfWhatIsGoneOnWith) {
  DedupRules rules{.on_head = [](std::size_t, std::string_view) -> Result<void> { return {}; }};
  const std::vector<std::string> files = {scratch.file("none", ""), scratch.file("a", "key\n1\n"),
                                          scratch.file("b", "key\n2\n1\n")};
  AnySet set = text_set();
  EXPECT_EQ(run(set, BlockInputs(files), rules).out, "key\n1\n2\n");
  rules.printed_head = Head{"key", "before"};
  AnySet again = text_set();
  EXPECT_EQ(run(again, BlockInputs(files), rules).out, "1\n2\n");
  rules.printed_head = Head{"id", "before"};
  auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
  AnySet other = text_set();
  BlockInputs unlike(files);
  const auto failed = dedup(other, unlike, out, rules);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().sentence.find("another header than before"), std::string::npos);
}

// Many blocks, of which a late one is refused: what was right before it comes with any threads.
TEST_F(Dedup, WhatCameBeforeARefusedBlockIsPrintedWithAnyThreads) {
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) bytes += std::to_string(i) + ",x\n";
  const std::string path = scratch.file("in", bytes + "no comma\n");
  std::string expected;
  for (const unsigned threads : {1u, 2u, 2u, 2u, 4u, 4u, 4u}) {
    AnySet set = text_set("hash-set", {.keys = 20'000});
    BlockInputs inputs({path}, {}, 4096);
    auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
    const auto failed =
        dedup(set, inputs, out, {.make_keys = before_comma(), .threads = {threads}});
    ASSERT_FALSE(failed);
    ASSERT_TRUE(out.close());
    const std::string printed = bytes_of(scratch.path("out"));
    if (threads == 1) expected = printed;
    EXPECT_GT(printed.size(), 100'000u);
    EXPECT_EQ(printed, expected) << threads;
  }
}

TEST_F(Dedup, SeveralSetsAreAskedBeforeEachWithItsOwnKeys) {
  AnySet by_line = text_set("blocked", {.keys = 100, .rate = 1e-6});
  AnySet by_key = text_set("blocked", {.keys = 100, .rate = 1e-6}, 9);
  ASSERT_TRUE(by_line.add_all(std::vector<std::string_view>{"a,1", "b,2"}));
  ASSERT_TRUE(by_key.add_all(std::vector<std::string_view>{"c"}));
  AnySet set = text_set();
  const auto outcome = run(set, BlockInputs({scratch.file("in", "a,1\na,2\nb,3\nc,4\nd,5\nd,5\n")}),
                           {.against = {{&by_line}, {&by_key, before_comma()}}});
  EXPECT_EQ(outcome.out, "a,2\nb,3\nd,5\n");
}

}  // namespace
}  // namespace bloomery::detail
