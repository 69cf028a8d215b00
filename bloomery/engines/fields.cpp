#include <bloomery/engines/fields.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include <bloomery/engines/csv.hpp>
#include <bloomery/engines/lines.hpp>

namespace bloomery {
namespace {

constexpr const char* few_fields = "it has too few fields";
constexpr const char* blank_record = "it is a blank record";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The field between runs of blanks; `number` from 1.
bool blank_field(std::string_view record, std::size_t number, std::string_view& field) {
  std::size_t at = 0;
  for (;;) {
    while (at < record.size() && is_blank(record[at])) ++at;
    if (at == record.size()) return false;
    const std::size_t start = at;
    while (at < record.size() && !is_blank(record[at])) ++at;
    if (--number > 0) continue;
    field = record.substr(start, at - start);
    return true;
  }
}

bool separated_field(std::string_view record, std::string_view separator, std::size_t number,
                     std::string_view& field) {
  std::size_t start = 0;
  for (; number > 1; --number) {
    const std::size_t found = record.find(separator, start);
    if (found == std::string_view::npos) return false;
    start = found + separator.size();
  }
  const std::size_t end = record.find(separator, start);
  field = record.substr(start, end == std::string_view::npos ? end : end - start);
  return true;
}

// "ab", "" --> 2:ab,0:,
std::string_view as_netstrings(const std::vector<TakenPart>& parts, KeyRoom& room) {
  constexpr std::size_t most_digits = 20;
  std::size_t most = 0;
  for (const TakenPart& part : parts) most += most_digits + 2 + part.text.size();
  char* const place = room.reserve(most);
  char* at = place;
  for (const TakenPart& part : parts) {
    at = std::to_chars(at, at + most_digits, part.text.size()).ptr;
    *at++ = ':';
    at = std::copy(part.text.begin(), part.text.end(), at);
    *at++ = ',';
  }
  return room.keep(place, static_cast<std::size_t>(at - place));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 12;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most_shown; ++i)
    text += (i > 0 ? ", " : "") + quoted(names[i]);
  if (names.size() > most_shown) text += ", ...";
  return text;
}

}  // namespace

Result<FieldCutter> FieldCutter::make(FieldRules rules) {
  const auto refusal = [](const char* sentence) { return Error{Code::bad_input, sentence}; };
  for (const std::size_t field : rules.fields)
    if (field == 0) return refusal("fields are numbered from 1");
  FieldCutter cutter;
  if (rules.part == KeyPart::fields && rules.fields.empty())
    return refusal("there is no field to take");
  if (rules.part == KeyPart::csv) {
    if (rules.columns.empty() == rules.fields.empty())
      return refusal("columns of CSV are named by the header or numbered, one of the two");
    if (rules.separator.empty()) rules.separator = ",";
    if (rules.separator.size() != 1 || !is_csv_separator(rules.separator[0]))
      return refusal("the separator of CSV is one byte, no quote and no end of a line");
    for (const std::size_t field : rules.fields) cutter.numbered_.push_back(field - 1);
  }
  if (rules.part == KeyPart::json) {
    if (rules.json_paths.empty()) return refusal("there is no path to take");
    for (const std::string& text : rules.json_paths) {
      auto path = parse_json_path(text);
      if (!path) return path.error();
      cutter.paths_.push_back(std::move(*path));
    }
  }
  cutter.several_ = rules.fields.size() + rules.columns.size() + rules.json_paths.size() > 1;
  cutter.rules_ = std::move(rules);
  return cutter;
}

std::optional<char> FieldCutter::csv_separator() const {
  if (rules_.part != KeyPart::csv) return std::nullopt;
  return rules_.separator[0];
}

Result<CsvColumns> FieldCutter::columns_of(std::string_view header, std::string_view file) const {
  assert(has_header() && "only a file with a header names its columns");
  // Spreadsheets begin UTF-8 with a byte order mark.
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);
  const std::vector<std::string> names = csv_split(header, rules_.separator[0]);
  CsvColumns columns;
  for (const std::string& wanted : rules_.columns) {
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      return Error{Code::bad_input, std::string(file) + ": there is no column " + quoted(wanted) +
                                        " in the header, which has " + listed(names)};
    if (std::find(found + 1, names.end(), wanted) != names.end())
      return Error{Code::bad_input, std::string(file) + ": more than one column is called " +
                                        quoted(wanted) + "; give them different names"};
    columns.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return columns;
}

const char* FieldCutter::take_fields(std::string_view record, CutScratch& scratch) const {
  for (const std::size_t number : rules_.fields) {
    std::string_view& field = scratch.parts.emplace_back().text;
    const bool found = rules_.separator.empty()
                           ? blank_field(record, number, field)
                           : separated_field(record, rules_.separator, number, field);
    if (!found) return few_fields;
  }
  return nullptr;
}

const char* FieldCutter::take_columns(std::string_view record, const CsvColumns& columns,
                                      CutScratch& scratch) const {
  if (record.empty() || record == "\r") return blank_record;
  for (const std::size_t column : columns) {
    std::string_view& field = scratch.parts.emplace_back().text;
    if (!csv_field(record, rules_.separator[0], column, field)) return few_fields;
    if (!csv_quoted(field)) continue;
    char* const place = scratch.room.reserve(field.size());
    field = scratch.room.keep(place, csv_unquote(field, place));
  }
  return nullptr;
}

const char* FieldCutter::take_values(std::string_view record, CutScratch& scratch) const {
  if (!scratch.json) scratch.json.emplace();
  for (const JsonPath& path : paths_) {
    const auto found = scratch.json->find(record, path, scratch.room);
    if (found.why != nullptr) return found.why;
    scratch.parts.push_back({found.null ? null_key : found.key, found.null});
  }
  return nullptr;
}

// Why there are none; nullptr: they are in the scratch.
const char* FieldCutter::take_parts(std::string_view record, const CsvColumns* columns,
                                    CutScratch& scratch) const {
  scratch.parts.clear();
  switch (rules_.part) {
    case KeyPart::whole_line: scratch.parts.push_back({record}); return nullptr;
    case KeyPart::fields: return take_fields(record, scratch);
    case KeyPart::csv:
      assert((columns != nullptr || !has_header()) && "the columns of the file are known");
      return take_columns(record, has_header() ? *columns : numbered_, scratch);
    case KeyPart::json: return take_values(record, scratch);
  }
  return nullptr;
}

Cut FieldCutter::cut(std::string_view record, const CsvColumns* columns, CutScratch& scratch,
                     const Normalizer* normalizer) const {
  if (const char* why = take_parts(record, columns, scratch)) return {.key = {}, .why = why};
  bool empty = true;
  bool fits = true;
  for (TakenPart& part : scratch.parts) {
    if (part.null) continue;
    if (normalizer != nullptr) {
      const Normalized normalized = (*normalizer)(part.text, scratch.url, scratch.room);
      part.text = normalized.key;
      fits &= normalized.fits;
    }
    empty &= part.text.empty();
  }
  scratch.not_normalized += !fits;
  const std::string_view key =
      several_ ? as_netstrings(scratch.parts, scratch.room) : scratch.parts.front().text;
  return {.key = key, .why = nullptr, .empty = empty};
}

}  // namespace bloomery
