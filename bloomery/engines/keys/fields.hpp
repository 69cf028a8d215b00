// The key inside a line: the whole of it, fields by number, columns of CSV, or paths into JSON.
//
//    whole line           "a b"                  a b
//    field 2 by ':'       "x:y:z:"               y            each ':' separates, as cut has it
//    field 2              "  x \t y"             y            runs of blanks, tabs: as awk
//    column "name"        1,"Smith, Joe"         Smith, Joe   csv.hpp has the rules
//    path .user.id        {"user":{"id":7}}      7            json_path.hpp has the rules
//    fields 1,3 by ':'    "x:y:zz"               1:x,2:zz,    several parts
//
// Several parts are written as netstrings one behind the other: the length in decimal digits, a
// colon, the bytes, a comma. So different parts never give the same key, whatever bytes are in
// them, and the key does not depend on what separated them. One part is the key as it stands: a
// list of ids can be asked for in a set that was made from a column.
// A JSON null is not a text: its key is the one byte 0xff, which no JSON string can give.
// Threads: a cutter is never changed: any number may cut, each with its own CutScratch.
// See:     docs/format.md "Keys"; tests/engines/fields_test.cpp pins the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/engines/keys/key_room.hpp>
#include <bloomery/engines/keys/json_path.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/normalize.hpp>

namespace bloomery::inline v0::detail {

// tsv: as csv, but tabs separate, a newline ends a record, and quotes are ordinary bytes.
enum class KeyPart { whole_line, fields, csv, tsv, json };

// Fields that follow each other, from 1; numbers below 0 count from the last, which is -1.
struct FieldSpan {
  std::int64_t first = 1;
  std::int64_t last = 1;

  constexpr FieldSpan(std::int64_t number) : first(number), last(number) {}
  constexpr FieldSpan(std::int64_t from, std::int64_t to) : first(from), last(to) {}
  constexpr bool is_one() const { return first == last; }
  constexpr bool is_one_from_the_front() const { return is_one() && first > 0; }
};

struct FieldRules {
  KeyPart part = KeyPart::whole_line;
  // Of CSV and TSV without a header: columns, one by one from the front.
  std::vector<FieldSpan> fields = {};
  std::string separator = {};  // fields: empty means blanks; CSV: empty means a comma
  // CSV and TSV: names in the header, numbers where it has no such name, or several of these
  // separated by commas; a name with a comma is quoted as in CSV; empty: no header.
  std::vector<std::string> columns = {};
  std::vector<std::string> json_paths = {};
};

// Of the columns of one CSV or TSV file: their numbers there, from 0.
using CsvColumns = std::vector<std::size_t>;

// What a JSON null is as a key, or as a part of one.
inline constexpr std::string_view null_key = "\xff";

struct TakenPart {
  std::string_view text;
  bool null = false;
};

// What one thread needs to cut; its keys are valid until room.clear().
struct CutScratch {
  KeyRoom room;
  std::optional<JsonReader> json;
  UrlScratch url;
  std::vector<TakenPart> parts;
  std::vector<std::string_view> fields;  // all of a record
  std::uint64_t not_normalized = 0;  // keys of which a part is not what the normalisation is for
};

struct Cut {
  std::string_view key;       // in the record or in the scratch
  const char* why = nullptr;  // why the record has no key; nullptr: it has one
  bool empty = false;         // all its parts are empty texts or nulls
};

class FieldCutter {
 public:
  FieldCutter() = default;  // the whole line
  static Result<FieldCutter> make(FieldRules rules);

  const FieldRules& rules() const { return rules_; }
  bool whole_line() const { return rules_.part == KeyPart::whole_line; }
  // Keys are, or may be, made of several parts.
  bool several_parts() const;
  // Set for CSV: what LineRules need to find the ends of records.
  std::optional<char> csv_separator() const;

  // CSV or TSV with named columns: the first record of every file tells where they are.
  bool has_header() const { return !rules_.columns.empty(); }
  Result<CsvColumns> columns_of(std::string_view header, std::string_view file) const;
  // Whether two headers name the same columns in the same order, however they are quoted.
  bool same_header(std::string_view one, std::string_view other) const {
    return one == other || names_in(one) == names_in(other);
  }
  // How this header was understood, in short: files whose columns are found in different ways (by
  // name in one, by number in the other) do not belong together.
  std::string reading_of(std::string_view header) const;

  // `columns` are those of the record's file; unused without a header. Each part is normalised
  // by itself; nulls are not.
  Cut cut(std::string_view record, const CsvColumns* columns, CutScratch& scratch,
          const Normalizer* normalizer = nullptr) const;

 private:
  struct Reading {
    CsvColumns columns;
    std::string how;
  };
  Result<Reading> read_header(std::string_view header, std::string_view file) const;
  std::vector<std::string> names_in(std::string_view header) const;
  Cut cut_lone_field(std::string_view record) const;
  const char* take_fields(std::string_view record, CutScratch& scratch) const;
  const char* take_spans(std::string_view record, CutScratch& scratch) const;
  const char* take_columns(std::string_view record, const CsvColumns& columns,
                           CutScratch& scratch) const;
  const char* take_values(std::string_view record, CutScratch& scratch) const;
  const char* take_parts(std::string_view record, const CsvColumns* columns,
                         CutScratch& scratch) const;

  FieldRules rules_;
  CsvColumns numbered_;  // CSV and TSV without a header
  std::vector<JsonPath> paths_;
  bool lone_field_ = false;
  bool spans_ = false;    // fields are not only single ones from the front
  bool several_ = false;  // of fields and paths; columns are counted when they are known
};

}  // namespace bloomery::inline v0::detail
