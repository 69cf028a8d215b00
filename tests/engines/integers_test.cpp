#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <bloomery/engines/integers/integers.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr IntegerVerb all_verbs[] = {IntegerVerb::sort, IntegerVerb::count, IntegerVerb::once,
                                     IntegerVerb::dups, IntegerVerb::missing};

std::string encoded(const Numbers& numbers, IntegerFormat format) {
  std::string bytes;
  for (const std::uint64_t n : numbers) {
    if (format == IntegerFormat::text || format == IntegerFormat::ipv4) {
      bytes += format_integer(n, format) + "\n";
      continue;
    }
    for (int i = 0; i < (format == IntegerFormat::u32le ? 4 : 8); ++i)
      bytes += static_cast<char>(n >> (8 * i));
  }
  return bytes;
}

// The law: a map from integer to how often it came.
Numbers expected(const Numbers& numbers, IntegerVerb verb, Range range) {
  std::map<std::uint64_t, int> times;
  for (const std::uint64_t n : numbers) ++times[n];
  Numbers chosen;
  if (verb == IntegerVerb::missing) {
    for (std::uint64_t n = range.low; n <= range.high; ++n)
      if (!times.contains(n)) chosen.push_back(n);
    return chosen;
  }
  for (const auto& [n, count] : times)
    if (verb == IntegerVerb::sort || (verb == IntegerVerb::once && count == 1) ||
        (verb == IntegerVerb::dups && count > 1))
      chosen.push_back(n);
  return chosen;
}

class Integers : public testing::Test {
 protected:
  Result<IntegerReport> run(const std::vector<std::string>& files, const IntegerRules& rules) {
    auto out = LineWriter::create(scratch.path("out"), Overwrite::replace).value();
    auto report = run_integers(files, rules, out);
    EXPECT_TRUE(out.close());
    return report;
  }
  std::string output() const { return bytes_of(scratch.path("out")); }
  std::string text(std::string_view bytes) { return scratch.file("in", bytes); }

  Scratch scratch;
};

TEST_F(Integers, EachVerbGivesWhatItPromises) {
  const std::string path = text("5\n3\n 3\t\n9\r\n5\n5\n7");
  EXPECT_TRUE(run({path}, {.verb = IntegerVerb::sort}));
  EXPECT_EQ(output(), "3\n5\n7\n9\n");
  EXPECT_EQ(run({path}, {.verb = IntegerVerb::count}).value().distinct, 4u);
  EXPECT_EQ(output(), "");
  const auto once = run({path}, {.verb = IntegerVerb::once}).value();
  EXPECT_EQ(output(), "7\n9\n");
  EXPECT_EQ(once.once, 2u);
  EXPECT_EQ(once.distinct, 4u);
  EXPECT_EQ(once.numbers_in, 7u);
  EXPECT_EQ(once.numbers_out, 2u);
  EXPECT_EQ(once.range, (Range{3, 9}));
  EXPECT_TRUE(run({path}, {.verb = IntegerVerb::dups}));
  EXPECT_EQ(output(), "3\n5\n");
  EXPECT_TRUE(run({path}, {.verb = IntegerVerb::missing}));
  EXPECT_EQ(output(), "4\n6\n8\n");
  EXPECT_TRUE(run({path}, {.verb = IntegerVerb::missing, .range = Range{1, 10}}));
  EXPECT_EQ(output(), "1\n2\n4\n6\n8\n10\n");
}

TEST_F(Integers, AgreeWithAMapForEveryVerbFormatAndNumberOfPasses) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const auto format :
       {IntegerFormat::text, IntegerFormat::u32le, IntegerFormat::u64le, IntegerFormat::ipv4}) {
    const std::uint64_t low = random() % 1'000'000;
    const Range range{low, low + 1'000 + random() % 5'000};
    Numbers numbers{range.low, range.high};
    for (int i = 0; i < 4'000; ++i)
      numbers.push_back(range.low + random() % (range.high - range.low + 1));
    const std::string bytes = encoded(numbers, format);
    const std::string path = scratch.file("in", bytes);
    for (const IntegerVerb verb : all_verbs)
      for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{64}}) {
        const auto report = run(
            {path}, {.verb = verb, .format = format, .out_format = format, .memory_bytes = memory});
        ASSERT_TRUE(report) << report.error().sentence;
        ASSERT_EQ(output(), encoded(expected(numbers, verb, range), format));
        EXPECT_EQ(report->distinct, expected(numbers, IntegerVerb::sort, range).size());
        EXPECT_EQ(report->numbers_in, numbers.size());
        EXPECT_EQ(report->range, range);
        EXPECT_EQ(report->bytes_in, bytes.size());
        EXPECT_EQ(report->passes == 1, memory == 0);
        if (memory != 0) {
          EXPECT_LE(report->memory_bytes, memory);
        }
        if (report->once) {
          EXPECT_EQ(*report->once, expected(numbers, IntegerVerb::once, range).size());
        }
      }
  }
}

TEST_F(Integers, AFileThatEndsInsideARecordIsNamedWithItsByte) {
  const std::string path = text(std::string("\1\0\0\0\2\0\0\0\3\0", 10));
  const IntegerRules rules{.format = IntegerFormat::u32le};
  const auto refused = run({path}, rules);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::bad_input);
  EXPECT_NE(refused.error().sentence.find(path + ", byte 8"), std::string::npos)
      << refused.error().sentence;
  EXPECT_EQ(output(), "");
}

TEST_F(Integers, ARecordNeverSpansTwoFiles) {
  const std::string half = scratch.file("a", std::string("\1\0", 2));
  const std::string rest = scratch.file("b", std::string("\0\0", 2));
  EXPECT_FALSE(run({half, rest}, {.format = IntegerFormat::u32le}));
}

TEST_F(Integers, RecordsAreReadWholeFromPipesThatSplitThem) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    const std::string bytes = encoded({7, 5, 300, 70'000, 7}, IntegerFormat::u32le);
    for (const char& byte : bytes) EXPECT_EQ(::write(ends[1], &byte, 1), 1);
    ::close(ends[1]);
  });
  const auto report = run({"/dev/fd/" + std::to_string(ends[0])},
                          {.format = IntegerFormat::u32le, .range = Range{0, 70'000}});
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(report);
  EXPECT_EQ(output(), "5\n7\n300\n70000\n");
}

struct BadLine {
  const char* line;
  const char* said;
};

TEST_F(Integers, ALineThatIsNoNumberIsNamedWithItsNumberAndNothingIsPrinted) {
  const BadLine bad[] = {{"", "empty"},
                         {"  ", "empty"},
                         {"abc", "'abc' is not an unsigned decimal integer"},
                         {"1 2", "'1 2'"},
                         {"-5", "negative"},
                         {"-", "'-' is not an unsigned"},
                         {"+5", "'+5' is not an unsigned"},
                         {"1e3", "'1e3'"},
                         {"0x10", "'0x10'"},
                         {"1.5", "'1.5'"},
                         {"18446744073709551616", "larger than 18446744073709551615"},
                         {"99999999999999999999999", "larger than"},
                         {"\x01"
                          "b",
                          "'\\x01b'"}};
  for (const BadLine& one : bad) {
    const std::string path = text("1\n2\n" + std::string(one.line) + "\n4\n");
    const auto refused = run({path}, {});
    ASSERT_FALSE(refused) << one.line;
    const std::string& sentence = refused.error().sentence;
    EXPECT_EQ(refused.error().code, Code::bad_input);
    EXPECT_NE(sentence.find(path + ", line 3: "), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(one.said), std::string::npos) << sentence;
    EXPECT_EQ(output(), "");
    const auto skipped = run({path}, {.skip_bad = true}).value();
    EXPECT_EQ(skipped.bad_in, 1u);
    EXPECT_EQ(skipped.numbers_in, 3u);
    EXPECT_EQ(skipped.first_bad, sentence);
    EXPECT_EQ(output(), "1\n2\n4\n");
  }
}

TEST_F(Integers, TheLargestAndLeadingZerosAreNumbers) {
  const std::string path =
      text("18446744073709551615\n18446744073709551600\n018446744073709551601");
  EXPECT_TRUE(run({path}, {}));
  EXPECT_EQ(output(), "18446744073709551600\n18446744073709551601\n18446744073709551615\n");
}

TEST_F(Integers, ANumberOutsideTheRangeIsNamed) {
  const std::string path = text("5\n11\n7\n");
  const auto refused = run({path}, {.range = Range{5, 10}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::out_of_range);
  EXPECT_NE(refused.error().sentence.find(path + ", line 2: 11"), std::string::npos);
  const auto skipped = run({path}, {.range = Range{5, 10}, .skip_bad = true}).value();
  EXPECT_EQ(skipped.bad_in, 1u);
  EXPECT_EQ(output(), "5\n7\n");

  const std::string binary = scratch.file("b", encoded({5, 11, 7}, IntegerFormat::u64le));
  const auto at_byte = run({binary}, {.format = IntegerFormat::u64le, .range = Range{5, 10}});
  ASSERT_FALSE(at_byte);
  EXPECT_NE(at_byte.error().sentence.find(binary + ", byte 8: 11"), std::string::npos)
      << at_byte.error().sentence;
}

TEST_F(Integers, LineNumbersGoOnAcrossBatchesAndBeginAgainInEachFile) {
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += "1\n";
  const std::string first = scratch.file("a", many);
  const std::string second = scratch.file("b", many + "x\n");
  const auto refused = run({first, second}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find(second + ", line 5001: "), std::string::npos);
}

TEST_F(Integers, APipeHasTheRangeOfThirtyTwoBitsUnlessToldOtherwise) {
  const Feed feed("4294967295\n0\n4294967295\n");
  const auto report = run({feed.path()}, {}).value();
  EXPECT_EQ(output(), "0\n4294967295\n");
  EXPECT_EQ(report.range, (Range{0, 4'294'967'295}));
  const Feed wide("4294967296\n");
  const auto refused = run({wide.path()}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("line 1: 4294967296 is outside"), std::string::npos);
}

TEST_F(Integers, WideIntegersFromAPipeNeedARange) {
  const Feed feed(encoded({1, 2}, IntegerFormat::u64le));
  const auto refused = run({feed.path()}, {.format = IntegerFormat::u64le});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("give their range"), std::string::npos);
  EXPECT_TRUE(run({feed.path()}, {.format = IntegerFormat::u64le, .range = Range{0, 5}}));
  EXPECT_EQ(output(), "1\n2\n");
}

TEST_F(Integers, AMapTooLargeForItsMemoryIsRefusedForAPipe) {
  const Feed feed("1\n");
  const auto refused = run({feed.path()}, {.range = Range{0, 1'000'000}, .memory_bytes = 1'000});
  // Nothing was read; take it out so that the writer can end.
  EXPECT_TRUE(run({feed.path()}, {.range = Range{0, 10}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::no_memory);
  EXPECT_NE(refused.error().sentence.find("125008"), std::string::npos) << refused.error().sentence;
  EXPECT_NE(refused.error().sentence.find("1000 "), std::string::npos);
}

TEST_F(Integers, ARangeThatNeedsTooManyPassesIsRefused) {
  const std::string path = text("0\n18446744073709551615\n");
  EXPECT_FALSE(run({path}, {.memory_bytes = 1'000'000}));
  EXPECT_FALSE(run({path}, {.memory_bytes = 7}));
  EXPECT_FALSE(run({path}, {.range = Range{5, 4}}));
}

TEST_F(Integers, AnOutputFormatTooNarrowForTheRangeIsRefused) {
  const std::string path = text("4294967296\n");
  EXPECT_FALSE(run({path}, {.out_format = IntegerFormat::u32le}));
  EXPECT_TRUE(run({path}, {.verb = IntegerVerb::count, .out_format = IntegerFormat::u32le}));
}

TEST_F(Integers, NoInputIsNoNumbers) {
  for (const IntegerVerb verb : all_verbs) {
    const auto report = run({text("")}, {.verb = verb}).value();
    EXPECT_EQ(report.distinct, 0u);
    EXPECT_EQ(report.range, std::nullopt);
    EXPECT_EQ(output(), "");
  }
  EXPECT_TRUE(run({text("")}, {.verb = IntegerVerb::missing, .range = Range{2, 3}}));
  EXPECT_EQ(output(), "2\n3\n");
}

TEST_F(Integers, OutputAcrossManySlicesIsComplete) {
  const Range range{7, 7 + (3u << 20)};
  const auto report =
      run({text("7\n")},
          {.verb = IntegerVerb::missing, .out_format = IntegerFormat::u32le, .range = range});
  ASSERT_TRUE(report);
  const std::string bytes = output();
  ASSERT_EQ(bytes.size(), std::size_t{4} * (3u << 20));
  Numbers all;
  for (std::uint64_t n = 8; n <= range.high; ++n) all.push_back(n);
  EXPECT_TRUE(bytes == encoded(all, IntegerFormat::u32le));
}

TEST_F(Integers, StopsPrintingWhenNobodyReads) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  LineWriter out(ends[1], "pipe");
  // Some minutes of printing, if it went on.
  EXPECT_FALSE(run_integers({text("1\n")},
                            {.verb = IntegerVerb::missing, .range = Range{0, 4'294'967'295}}, out));
  EXPECT_TRUE(out.reader_gone());
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST_F(Integers, AddressesAreStrict) {
  const auto v4 = IntegerFormat::ipv4;
  EXPECT_EQ(parse_integer("0.0.0.0", v4), 0u);
  EXPECT_EQ(parse_integer(" 255.255.255.255\r", v4), 4'294'967'295u);
  EXPECT_EQ(parse_integer("10.0.0.1", v4), 167'772'161u);
  for (const char* bad : {"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1..2.3", "1.2.3.",
                          "1.2.3.4 5", "a.b.c.d", "1.2.3.-4"})
    EXPECT_EQ(parse_integer(bad, v4), std::nullopt) << bad;
}

TEST_F(Integers, RangesAreWrittenWithTwoDots) {
  EXPECT_EQ(parse_range("3..17").value(), (Range{3, 17}));
  EXPECT_EQ(parse_range("0..18446744073709551615").value().high, ~std::uint64_t{0});
  EXPECT_EQ(parse_range("10.0.0.0..10.0.0.255", IntegerFormat::ipv4).value(),
            (Range{167'772'160, 167'772'415}));
  for (const char* bad : {"", "3", "3..", "..3", "5..4", "3-5", "3...5", "a..b", "-1..5"})
    EXPECT_FALSE(parse_range(bad)) << bad;
}

}  // namespace
}  // namespace bloomery::detail
