// The key inside a line: the whole of it, fields by number, columns of CSV, or a path into JSON.
//
//    whole line           "a b"                  a b
//    fields 1,3 by ':'    "x:y:z:"               x \x1f z     each ':' separates, as cut has it
//    fields 2             "  x \t y"             y            runs of blanks, tabs: as awk
//    columns "name"       1,"Smith, Joe"         Smith, Joe   csv.hpp has the rules
//    path .user.id        {"user":{"id":7}}      7            json_path.hpp has the rules
//
// Several fields are joined by the byte 0x1f (unit separator), so that the key does not depend on
// what separated them: "x:y" by ':' and "x,y" by ',' are one key.
// Limits:  two fields that contain 0x1f themselves may be joined to what two others are.
// Threads: a cutter is never changed: any number may cut, each with its own CutScratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/engines/json_path.hpp>
#include <bloomery/engines/key_room.hpp>
#include <bloomery/error.hpp>

namespace bloomery {

enum class KeyPart { whole_line, fields, csv, json };

struct FieldRules {
  KeyPart part = KeyPart::whole_line;
  std::vector<std::size_t> fields = {};   // from 1; of CSV without a header too
  std::string separator = {};             // fields: empty means blanks; CSV: empty means a comma
  std::vector<std::string> columns = {};  // CSV: names in the header; empty: there is no header
  std::string json_path = {};
};

// Of the columns of one CSV file: their numbers there, from 0.
using CsvColumns = std::vector<std::size_t>;

inline constexpr char field_joint = '\x1f';

// What one thread needs to cut; its keys are valid until room.clear().
struct CutScratch {
  KeyRoom room;
  std::optional<JsonReader> json;
};

struct Cut {
  std::string_view key;       // in the record or in the scratch
  const char* why = nullptr;  // there is none
};

class FieldCutter {
 public:
  FieldCutter() = default;  // the whole line
  static Result<FieldCutter> make(FieldRules rules);

  const FieldRules& rules() const { return rules_; }
  bool whole_line() const { return rules_.part == KeyPart::whole_line; }
  // Set for CSV: what LineRules need to find the ends of records.
  std::optional<char> csv_separator() const;

  // CSV with named columns: the first record of every file is no key but tells where they are.
  bool has_header() const { return !rules_.columns.empty(); }
  Result<CsvColumns> columns_of(std::string_view header, std::string_view file) const;

  // `columns` are those of the record's file; unused where there is no header.
  Cut cut(std::string_view record, const CsvColumns* columns, CutScratch& scratch) const;

 private:
  template <class FieldAt>
  Cut join(std::size_t count, std::size_t most_bytes, CutScratch& scratch, FieldAt&& at) const;
  Cut cut_fields(std::string_view record, CutScratch& scratch) const;
  Cut cut_csv(std::string_view record, const CsvColumns& columns, CutScratch& scratch) const;

  FieldRules rules_;
  CsvColumns numbered_;  // CSV without a header
  JsonPath path_;
};

}  // namespace bloomery
