#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <bloomery/engines/input/blocks.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

using Strings = std::vector<std::string>;

Strings all_records(BlockInputs& inputs) {
  Strings records;
  Block block;
  for (;;) {
    const auto filled = inputs.fill(block);
    EXPECT_TRUE(filled) << (filled ? "" : filled.error().sentence);
    if (!filled || !*filled) return records;
    block.split(inputs.rules().delimiter);
    EXPECT_FALSE(block.records.empty());
    for (const std::string_view record : block.records) {
      records.emplace_back(record);
      // Every record of a block ends with the delimiter.
      EXPECT_EQ(std::string_view(record.data() + record.size(), inputs.rules().delimiter.size()),
                inputs.rules().delimiter);
    }
  }
}

Strings lines_of(const std::vector<std::string>& files, const LineRules& rules) {
  Strings lines;
  Inputs inputs(files, rules);
  for (;;) {
    const auto batch = inputs.next();
    EXPECT_TRUE(batch);
    if (!batch || batch->empty()) return lines;
    lines.insert(lines.end(), batch->begin(), batch->end());
  }
}

TEST(Blocks, HoldTheSameRecordsAsLinesForEveryBlockSize) {
  const Scratch scratch;
  std::mt19937_64 random(3);
  for (const char* delimiter : {"\n", "--", "abab"}) {
    const LineRules rules{.delimiter = delimiter};
    std::vector<std::string> files;
    for (const char* name : {"a", "b", "empty", "c"}) {
      std::string bytes;
      while (name[0] != 'e' && bytes.size() < 3000) bytes += "ab-\nx"[random() % 5];
      files.push_back(scratch.file(name, bytes));
    }
    const Strings expected = lines_of(files, rules);
    for (const std::size_t block_bytes : {1, 2, 3, 7, 64, 1000, 1 << 20}) {
      BlockInputs inputs(files, rules, block_bytes);
      EXPECT_EQ(all_records(inputs), expected) << delimiter << ' ' << block_bytes;
    }
  }
}

TEST(Blocks, KnowTheirFileAndItsBeginning) {
  const Scratch scratch;
  BlockInputs inputs(
      {scratch.file("a", "1\n2\n3"), scratch.file("none", ""), scratch.file("b", "4\n")}, {}, 2);
  Block block;
  std::string seen;
  while (inputs.fill(block).value()) {
    block.split("\n");
    seen += std::to_string(block.file) + (block.first_of_file ? "^" : "");
    for (const std::string_view record : block.records) seen += std::string(record);
  }
  EXPECT_EQ(seen,
            "0^10203"
            "2^4");
  EXPECT_EQ(inputs.name_of(0), scratch.path("a"));
}

TEST(Blocks, ARecordLongerThanManyBlocksStaysWhole) {
  const Scratch scratch;
  const std::string line(100'000, 'x');
  BlockInputs inputs({scratch.file("in", "a\n" + line + "\nb")}, {}, 100);
  EXPECT_EQ(all_records(inputs), (Strings{"a", line, "b"}));
}

TEST(Blocks, APipeGivesWhatItHas) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  BlockInputs inputs({"/dev/fd/" + std::to_string(ends[0])});
  // Called before it waits, as often as it asks to be; opening a pipe may wait too.
  int waits = 0;
  inputs.before_wait([&]() -> Result<int> {
    if (++waits == 4) ::close(ends[1]);
    return 0;
  });
  ASSERT_EQ(::write(ends[1], "a\nb\nc", 5), 5);
  Block block;
  ASSERT_TRUE(inputs.fill(block).value());
  block.split("\n");
  EXPECT_EQ(block.records.size(), 2u);
  EXPECT_EQ(waits, 1);
  ASSERT_TRUE(inputs.fill(block).value());
  EXPECT_EQ(waits, 4);
  block.split("\n");
  EXPECT_EQ(block.records.at(0), "c");
  EXPECT_FALSE(inputs.fill(block).value());
  ::close(ends[0]);
}

}  // namespace
}  // namespace bloomery::detail
