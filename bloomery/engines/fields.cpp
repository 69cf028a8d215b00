#include <bloomery/engines/fields.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
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
    auto path = parse_json_path(rules.json_path);
    if (!path) return path.error();
    cutter.path_ = std::move(*path);
  }
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

// One field is the key as it stands; several are joined in the scratch. at(i, place) gives the i-th
// field, written to `place` if it has to be changed; false: the record has none.
template <class FieldAt>
Cut FieldCutter::join(std::size_t count, std::size_t most_bytes, CutScratch& scratch,
                      FieldAt&& at) const {
  char* const place = scratch.room.reserve(most_bytes);
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) place[used++] = field_joint;
    std::string_view field;
    if (!at(i, place + used, field)) return {{}, few_fields};
    if (field.data() != place + used) {
      if (count == 1) return {field, nullptr};
      std::memcpy(place + used, field.data(), field.size());
    }
    used += field.size();
  }
  return {scratch.room.keep(place, used), nullptr};
}

Cut FieldCutter::cut_fields(std::string_view record, CutScratch& scratch) const {
  const auto field_at = [&](std::size_t i, char*, std::string_view& field) {
    if (rules_.separator.empty()) return blank_field(record, rules_.fields[i], field);
    return separated_field(record, rules_.separator, rules_.fields[i], field);
  };
  // The same field may be asked for twice.
  const std::size_t count = rules_.fields.size();
  return join(count, count == 1 ? 0 : count * (record.size() + 1), scratch, field_at);
}

Cut FieldCutter::cut_csv(std::string_view record, const CsvColumns& columns,
                         CutScratch& scratch) const {
  const char separator = rules_.separator[0];
  if (record.empty() || record == "\r") return {{}, blank_record};
  const auto field_at = [&](std::size_t i, char* place, std::string_view& field) {
    if (!csv_field(record, separator, columns[i], field)) return false;
    if (csv_quoted(field)) field = {place, csv_unquote(field, place)};
    return true;
  };
  const std::size_t count = columns.size();
  return join(count, count * (record.size() + 1), scratch, field_at);
}

Cut FieldCutter::cut(std::string_view record, const CsvColumns* columns,
                     CutScratch& scratch) const {
  switch (rules_.part) {
    case KeyPart::whole_line: break;
    case KeyPart::fields: return cut_fields(record, scratch);
    case KeyPart::csv:
      assert((columns != nullptr || !has_header()) && "the columns of the file are known");
      return cut_csv(record, has_header() ? *columns : numbered_, scratch);
    case KeyPart::json: {
      if (!scratch.json) scratch.json.emplace();
      const auto found = scratch.json->find(record, path_, scratch.room);
      return {found.key, found.why};
    }
  }
  return {record, nullptr};
}

}  // namespace bloomery
