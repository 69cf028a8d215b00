#include <bloomery/detail/engines/keys/csv.hpp>

#include <gtest/gtest.h>

#include <random>

#include <bloomery/text/lines.hpp>

#include "scratch.hpp"

namespace bloomery::detail {
namespace {

// The rules of csv.hpp, a byte at a time.
struct Slow {
  std::vector<std::size_t> newlines;           // that end a record
  std::vector<std::uint64_t> newlines_before;  // each record
  bool open = false;
};

Slow slowly(std::string_view bytes, char separator) {
  enum { start, field, quoted, quote } state = start;
  Slow slow;
  std::uint64_t lines = 0;
  slow.newlines_before.push_back(0);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    lines += c == '\n';
    if (state == quoted) {
      if (c == '"') state = quote;
      continue;
    }
    if (state == quote && c == '"') {
      state = quoted;
    } else if (c == '\n') {
      slow.newlines.push_back(i);
      slow.newlines_before.push_back(lines);
      state = start;
    } else if (state == start && c == '"') {
      state = quoted;
    } else {
      state = c == separator ? start : field;
    }
  }
  slow.open = state == quoted;
  return slow;
}

std::string nasty(std::mt19937_64& random, std::size_t most) {
  constexpr std::string_view alphabet = "ab,,\"\"\"\n\n\r;";
  std::string bytes(random() % most, ' ');
  for (char& c : bytes) c = alphabet[random() % alphabet.size()];
  return bytes;
}

TEST(Csv, ScannerFindsTheEndsThatALoopOverBytesFinds) {
  constexpr std::uint64_t seed = 20240501;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = nasty(random, 60);
    const char separator = round % 2 == 0 ? ',' : ';';
    const Slow slow = slowly(bytes, separator);
    CsvScanner scanner(separator);
    std::vector<std::size_t> found;
    // The bytes come in pieces, each with none of those before it in reach.
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t piece = std::min<std::size_t>(bytes.size() - at, 1 + random() % 20);
      const std::string here = bytes.substr(at, piece);
      std::size_t from = 0;
      for (std::size_t end; (end = scanner.scan(here, from)) != CsvScanner::npos; from = end + 1) {
        found.push_back(at + end);
        ASSERT_EQ(scanner.newlines_before(), slow.newlines_before[found.size()]);
      }
      at += piece;
    }
    ASSERT_EQ(found, slow.newlines) << bytes;
    ASSERT_EQ(scanner.in_quotes(), slow.open) << bytes;
  }
}

TEST(Csv, FieldsAreUnquoted) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(csv_split("a,b,c", ','), (Fields{"a", "b", "c"}));
  EXPECT_EQ(csv_split("a,,c,", ','), (Fields{"a", "", "c", ""}));
  EXPECT_EQ(csv_split("a,\"b,\"\"x\"\"\nd\",c\r", ','), (Fields{"a", "b,\"x\"\nd", "c"}));
  EXPECT_EQ(csv_split("a;b,c", ';'), (Fields{"a", "b,c"}));
  // A quote that does not begin a field is one like any other byte.
  EXPECT_EQ(csv_split("5\" pipe,x", ','), (Fields{"5\" pipe", "x"}));
  EXPECT_EQ(csv_split("\"a\"b\"c,d", ','), (Fields{"ab\"c", "d"}));
  EXPECT_EQ(csv_split("\"\",\"\"\"\"", ','), (Fields{"", "\""}));
  EXPECT_EQ(csv_split("\"a\"\r", ','), (Fields{"a"}));
  EXPECT_EQ(csv_split("", ','), Fields{});
  EXPECT_EQ(csv_split("\r", ','), Fields{});
}

TEST(Csv, OneFieldIsTheOneOfAll) {
  constexpr std::uint64_t seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string record = nasty(random, 40);
    record.resize(std::min(record.find('\n'), record.size()));
    const auto all = csv_split(record, ',');
    ASSERT_EQ(csv_fields(record, ','), all.size()) << record;
    std::string_view field;
    ASSERT_FALSE(csv_field(record, ',', all.size(), field)) << record;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(csv_field(record, ',', i, field));
      std::string text(field);
      if (csv_quoted(field)) text.resize(csv_unquote(field, text.data()));
      ASSERT_EQ(text, all[i]) << record;
    }
  }
}

std::vector<std::string> records(const std::string& path, LineRules rules, std::size_t block) {
  LineReader reader(InputFile::open(path).value(), std::move(rules), block);
  std::vector<std::string> found;
  for (;;) {
    const auto batch = reader.next().value();
    if (batch.empty()) return found;
    found.insert(found.end(), batch.begin(), batch.end());
  }
}

TEST(Csv, ReaderKeepsRecordsWholeWhateverTheBlock) {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "id,n\r\n1,\"a\nb\"\n2,\"c\"\"\n\"\n3,d");
  const std::vector<std::string> expected = {"id,n\r", "1,\"a\nb\"", "2,\"c\"\"\n\"", "3,d"};
  for (const std::size_t block : {1, 2, 3, 5, 64})
    EXPECT_EQ(records(path, {.csv_separator = ','}, block), expected) << block;
  EXPECT_EQ(count_lines({path}, {.csv_separator = ','}).value(), 4);
}

TEST(Csv, ReaderKeepsTheHeaderOfEveryFileApart) {
  const Scratch scratch;
  const std::string one = scratch.file("1.csv", "a,b\n1,2\n3,4");
  const std::string two = scratch.file("2.csv", "b,a\n5,6\n");
  const std::string bare = scratch.file("3.csv", "only,a,header");
  for (const std::size_t block : {1, 2, 64}) {
    Inputs inputs({one, bare, two}, {.csv_separator = ',', .header = true}, block);
    std::vector<std::string> seen;
    for (;;) {
      const auto batch = inputs.next().value();
      if (batch.empty()) break;
      for (std::size_t i = 0; i < batch.size(); ++i)
        seen.push_back(inputs.header() + " " + std::to_string(inputs.first_line() + i) + ": " +
                       std::string(batch[i]));
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"a,b 2: 1,2", "a,b 3: 3,4", "b,a 2: 5,6"}));
    EXPECT_EQ(inputs.lines_read(), 3);
  }
}

TEST(Csv, AQuoteThatIsNeverClosedIsAnErrorWithTheLineWhereItsRecordBegan) {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "a\n\"b\nc\"\nd,\"e\nf\ng\n");
  LineReader reader(InputFile::open(path).value(), {.csv_separator = ','}, 4);
  for (;;) {
    const auto batch = reader.next();
    if (batch) {
      ASSERT_FALSE(batch->empty()) << "the end came without an error";
      continue;
    }
    EXPECT_EQ(batch.error().code, Code::bad_input);
    EXPECT_EQ(batch.error().sentence, path +
                                          ", line 4: the record that begins here has a quote "
                                          "that is never closed");
    return;
  }
}

}  // namespace
}  // namespace bloomery::detail
