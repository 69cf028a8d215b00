#include <bloomery/engines/keys/fields.hpp>

#include <gtest/gtest.h>

namespace bloomery::detail {
namespace {

std::string cut(const FieldCutter& cutter, std::string_view record,
                const CsvColumns* columns = nullptr) {
  CutScratch scratch;
  const Cut found = cutter.cut(record, columns, scratch);
  return found.why != nullptr ? std::string("! ") + found.why : std::string(found.key);
}

FieldCutter by_number(std::vector<FieldSpan> fields, std::string separator = {}) {
  return FieldCutter::make(
             {.part = KeyPart::fields, .fields = std::move(fields), .separator = separator})
      .value();
}

constexpr const char* few = "! it has too few fields";

TEST(Fields, TheWholeLineIsTheKeyUnlessToldOtherwise) {
  const FieldCutter cutter;
  EXPECT_TRUE(cutter.whole_line());
  EXPECT_EQ(cut(cutter, " a b "), " a b ");
}

TEST(Fields, BlanksSeparateInRuns) {
  EXPECT_EQ(cut(by_number({1}), "  x \t y"), "x");
  EXPECT_EQ(cut(by_number({2}), "  x \t y"), "y");
  EXPECT_EQ(cut(by_number({3}), "  x \t y "), few);
  EXPECT_EQ(cut(by_number({1}), "   "), few);
}

TEST(Fields, EachSeparatorSeparates) {
  EXPECT_EQ(cut(by_number({1}, ":"), "x:y::z"), "x");
  EXPECT_EQ(cut(by_number({3}, ":"), "x:y::z"), "");
  EXPECT_EQ(cut(by_number({4}, ":"), "x:y::z"), "z");
  EXPECT_EQ(cut(by_number({5}, ":"), "x:y::z"), few);
  EXPECT_EQ(cut(by_number({2}, "::"), "x:y::z"), "z");
  EXPECT_EQ(cut(by_number({1}, ":"), ""), "");
  EXPECT_EQ(cut(by_number({2}, "\t"), "a\tb c\td"), "b c");
}

TEST(Fields, SeveralAreJoinedWhateverSeparatedThem) {
  EXPECT_EQ(cut(by_number({1, 3}, ":"), "x:y:zz"), "1:x,2:zz,");
  EXPECT_EQ(cut(by_number({1, 3}, ","), "x,y,zz"), "1:x,2:zz,");
  EXPECT_EQ(cut(by_number({1, 3}), "x y  zz"), "1:x,2:zz,");
  EXPECT_EQ(cut(by_number({3, 3, 3}), "x y  z"), "1:z,1:z,1:z,");
  EXPECT_EQ(cut(by_number({1, 2}, ":"), "0123456789:"), "10:0123456789,0:,");
  EXPECT_EQ(cut(by_number({1, 4}), "x y z"), few);
}

TEST(Fields, ColumnsOfCsvByNameAreFoundInTheHeader) {
  const auto cutter = FieldCutter::make({.part = KeyPart::csv, .columns = {"n \"x\"", "id"}});
  ASSERT_TRUE(cutter);
  const auto columns = cutter->columns_of("\xef\xbb\xbfid,b,\"n \"\"x\"\"\"\r", "a.csv");
  ASSERT_TRUE(columns) << columns.error().sentence;
  EXPECT_EQ(*columns, (CsvColumns{2, 0}));
  EXPECT_EQ(cut(*cutter, "1,2,\"3,\"\"4\"\"\"\r", &*columns), "5:3,\"4\",1:1,");
  EXPECT_EQ(cut(*cutter, "1,2", &*columns), few);
  EXPECT_EQ(cut(*cutter, "", &*columns), "! it is a blank record");
  EXPECT_EQ(cut(*cutter, "\r", &*columns), "! it is a blank record");
  const auto missing = cutter->columns_of("id,name", "a.csv");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().sentence,
            "a.csv: the header has no column 'n \"x\"'; it has 'id', 'name'");
  EXPECT_FALSE(cutter->columns_of("n \"x\",id,id", "a.csv"));
}

TEST(Fields, ColumnsOfCsvByNumberNeedNoHeader) {
  const auto cutter =
      FieldCutter::make({.part = KeyPart::csv, .fields = {2}, .separator = ";"}).value();
  EXPECT_FALSE(cutter.has_header());
  EXPECT_EQ(cutter.csv_separator(), ';');
  EXPECT_EQ(cut(cutter, "a;\"b;c\";d"), "b;c");
  EXPECT_EQ(cut(cutter, "a,b"), few);
}

TEST(Fields, RangesAndFieldsFromTheLast) {
  EXPECT_EQ(cut(by_number({-1}, ":"), "x:y:zz"), "zz");
  EXPECT_EQ(cut(by_number({-1}), " x  y "), "y");
  EXPECT_EQ(cut(by_number({-3}), "x y"), few);
  EXPECT_EQ(cut(by_number({{2, -1}}, ":"), "x:y:zz"), "1:y,2:zz,");
  // The rule decides, not the record: a field 1:a,1:b, must not be taken for two.
  EXPECT_EQ(cut(by_number({{2, -1}}, ":"), "x:y"), "1:y,");
  EXPECT_EQ(cut(by_number({{2, -1}}, ":"), "x"), few);
  EXPECT_EQ(cut(by_number({{2, 3}, 1}, ":"), "x:y:z"), "1:y,1:z,1:x,");
  EXPECT_EQ(cut(by_number({{2, 3}}, ":"), "x:y"), few);
  EXPECT_EQ(cut(by_number({{2, 2}}, ":"), "x:y"), "y");
  for (const FieldSpan wrong : {FieldSpan(3, 2), FieldSpan(-1, -2), FieldSpan(1, -2),
                                FieldSpan(-1, 2), FieldSpan(1, 0), FieldSpan(0)})
    EXPECT_FALSE(FieldCutter::make({.part = KeyPart::fields, .fields = {wrong}}));
}

TEST(Fields, ColumnsByNumberAndInLists) {
  const auto found = [](std::vector<std::string> words, std::string_view header) {
    const auto cutter =
        FieldCutter::make({.part = KeyPart::csv, .columns = std::move(words)}).value();
    const auto columns = cutter.columns_of(header, "f");
    return columns ? *columns : CsvColumns{99};
  };
  EXPECT_EQ(found({"2"}, "a,b"), (CsvColumns{1}));
  EXPECT_EQ(found({"2"}, "2,b"), (CsvColumns{0}));
  EXPECT_EQ(found({"3"}, "a,b"), (CsvColumns{99}));
  EXPECT_EQ(found({"b,a", "b"}, "a,b"), (CsvColumns{1, 0, 1}));
  EXPECT_EQ(found({"b,1"}, "a,b"), (CsvColumns{1, 0}));
  EXPECT_EQ(found({"a,b"}, "x,\"a,b\""), (CsvColumns{99}));
  EXPECT_EQ(found({"\"a,b\""}, "x,\"a,b\""), (CsvColumns{1}));
  EXPECT_EQ(found({"a,b"}, "a,\"a,b\",b"), (CsvColumns{99}));
  EXPECT_EQ(found({"\"a,b\""}, "a,\"a,b\",b"), (CsvColumns{1}));
  EXPECT_EQ(found({"a"}, "a,a"), (CsvColumns{99}));
  const auto cutter = FieldCutter::make({.part = KeyPart::csv, .columns = {"2"}}).value();
  EXPECT_NE(cutter.reading_of("1,2"), cutter.reading_of("a,b"));
  EXPECT_EQ(cutter.reading_of("a,b"), cutter.reading_of("c,d,e"));
}

TEST(Fields, TsvHasNoQuotes) {
  const auto cutter = FieldCutter::make({.part = KeyPart::tsv, .columns = {"\"b"}}).value();
  EXPECT_EQ(cutter.csv_separator(), std::nullopt);
  const auto columns = cutter.columns_of("a\t\"b\r", "f").value();
  EXPECT_EQ(columns, (CsvColumns{1}));
  EXPECT_EQ(cut(cutter, "1\t\"x", &columns), "\"x");
  EXPECT_EQ(cut(cutter, "1\t\"x\r", &columns), "\"x");
  EXPECT_EQ(cut(cutter, "1\t", &columns), "");
  EXPECT_EQ(cut(cutter, "1", &columns), few);
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::tsv, .separator = ",", .columns = {"a"}}));
}

TEST(Fields, PathsIntoJson) {
  const auto cutter = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a.b"}}).value();
  EXPECT_EQ(cut(cutter, R"({"a":{"b":5}})"), "5");
  EXPECT_EQ(cut(cutter, "text"), "! it is not a JSON object or array");
}

// Red means that sets made before are no longer understood.
TEST(Fields, GoldenANullIsNoText) {
  const auto one = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a"}}).value();
  EXPECT_EQ(cut(one, R"({"a":null})"), "\xff");
  EXPECT_EQ(cut(one, R"({"a":"null"})"), "null");
  const auto two = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a", ".b"}}).value();
  EXPECT_EQ(cut(two, R"({"a":null,"b":1})"), "1:\xff,1:1,");
  EXPECT_EQ(cut(two, R"({"a":"","b":"\u00fc"})"), "0:,2:\xc3\xbc,");
  EXPECT_EQ(cut(two, R"({"a":1})"), "! its JSON has no such key");
}

TEST(Fields, EachPartIsNormalisedByItself) {
  const auto normalizer = Normalizer::find("case").value();
  CutScratch scratch;
  const auto key = [&](const FieldCutter& cutter, std::string_view record) {
    return std::string(cutter.cut(record, nullptr, scratch, &normalizer).key);
  };
  EXPECT_EQ(key(by_number({1, 2}, ","), " A ,b "), "1:a,1:b,");
  EXPECT_EQ(key(by_number({1}, ","), " A ,b "), "a");
}

TEST(Fields, AKeyIsEmptyIfAllItsPartsAre) {
  const auto json = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a", ".b"}}).value();
  CutScratch scratch;
  const auto empty = [&](const FieldCutter& cutter, std::string_view record) {
    return cutter.cut(record, nullptr, scratch).empty;
  };
  EXPECT_TRUE(empty(json, R"({"a":null,"b":""})"));
  EXPECT_FALSE(empty(json, R"({"a":null,"b":0})"));
  EXPECT_FALSE(empty(json, R"({"a":"null","b":null})"));
  EXPECT_TRUE(empty(by_number({1, 2}, ","), ",,x"));
  EXPECT_TRUE(empty(by_number({2}, ","), "x,,x"));
  EXPECT_FALSE(empty(by_number({2}, ","), "x, ,x"));
  const auto trim = Normalizer::find("trim").value();
  EXPECT_TRUE(by_number({2}, ",").cut("x, ,x", nullptr, scratch, &trim).empty);
}

TEST(Fields, KeysOfABatchStayWhereTheyAre) {
  const auto cutter = FieldCutter::make({.part = KeyPart::json, .json_paths = {".a"}}).value();
  CutScratch scratch;
  std::vector<std::string_view> keys;
  const auto text = [](int i) { return std::string(static_cast<std::size_t>(i) % 700, 'x'); };
  for (int i = 0; i < 1024; ++i) {
    const std::string record = "{\"a\":\"" + text(i) + std::to_string(i) + "\"}";
    keys.push_back(cutter.cut(record, nullptr, scratch).key);
  }
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(keys[static_cast<std::size_t>(i)], text(i) + std::to_string(i));
}

TEST(Fields, RefusesRulesThatNameNoKey) {
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::fields}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::fields, .fields = {0}}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::csv}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::csv, .fields = {1}, .columns = {"a"}}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::csv, .fields = {1}, .separator = "\""}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::csv, .fields = {1}, .separator = "::"}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::json, .json_paths = {"a"}}));
  EXPECT_FALSE(FieldCutter::make({.part = KeyPart::json}));
}

}  // namespace
}  // namespace bloomery::detail
