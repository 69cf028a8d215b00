#include <bloomery/engines/keys/fields.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include <bloomery/detail/engines/keys/csv.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {
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

void split_at_blanks(std::string_view record, std::vector<std::string_view>& fields) {
  for (std::size_t at = 0; at < record.size();) {
    const std::size_t start = at;
    while (at < record.size() && !is_blank(record[at])) ++at;
    if (at > start) fields.push_back(record.substr(start, at - start));
    while (at < record.size() && is_blank(record[at])) ++at;
  }
}

void split_at(std::string_view record, std::string_view separator,
              std::vector<std::string_view>& fields) {
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = record.find(separator, start);
    if (end == std::string_view::npos) break;
    fields.push_back(record.substr(start, end - start));
    start = end + separator.size();
  }
  fields.push_back(record.substr(start));
}

// Decimal digits and nothing else, from 1; else 0.
std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [stop, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  return wrong == std::errc{} && stop == text.data() + text.size() ? number : 0;
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

// "a,b" as a shell takes it: '"a,b"'
std::string as_csv(const std::string& name) {
  std::string text = "'\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"'";
}

// Columns of one header. A name wins over a number. A word with a comma is always a list, as CSV
// has it, so that the same flag never means one column in one file and two in another.
class ColumnFinder {
 public:
  ColumnFinder(std::vector<std::string> names, std::string_view file)
      : names_(std::move(names)), file_(file) {}

  CsvColumns columns;
  std::string how;  // n: by name, #: by number, a blank behind each word

  Result<void> find(const std::string& word) {
    std::vector<std::string> list = csv_split(word, ',');
    if (list.empty()) list = {word};
    const bool name = is_name(word);
    if (name && (list.size() > 1 || (list[0] != word && is_name(list[0]))))
      return refusal(quoted(word) +
                     " is the name of one column, and would be read as a list; write " +
                     as_csv(word) + " for that column, or name each of the others by itself");
    for (const std::string& part : name ? std::vector{word} : list)
      if (auto taken = take(part); !taken) return taken;
    how += ' ';
    return {};
  }

 private:
  Error refusal(const std::string& sentence) const {
    return {Code::bad_input, file_ + ": " + sentence};
  }
  bool is_name(const std::string& word) const {
    return std::find(names_.begin(), names_.end(), word) != names_.end();
  }

  Result<void> take(const std::string& word) {
    const auto found = std::find(names_.begin(), names_.end(), word);
    if (found == names_.end()) {
      const std::size_t number = number_of(word);
      if (number == 0 || number > names_.size())
        return refusal("the header has no column " + quoted(word) + "; it has " + listed(names_));
      columns.push_back(number - 1);
      how += '#';
      return {};
    }
    if (std::find(found + 1, names_.end(), word) != names_.end())
      return refusal("more than one column is called " + quoted(word) +
                     "; give the number of the one that is meant");
    columns.push_back(static_cast<std::size_t>(found - names_.begin()));
    how += 'n';
    return {};
  }

  const std::vector<std::string> names_;
  const std::string file_;
};

}  // namespace

Result<FieldCutter> FieldCutter::make(FieldRules rules) {
  const auto refusal = [](const char* sentence) { return Error{Code::bad_input, sentence}; };
  FieldCutter cutter;
  for (const FieldSpan span : rules.fields) {
    if (span.first == 0 || span.last == 0) return refusal("fields are numbered from 1");
    // From the front to the last is the only way to have both.
    const bool both = (span.first > 0) != (span.last > 0);
    if (both ? span.last != -1 : span.first > span.last)
      return refusal("a range of fields ends before it begins");
    cutter.spans_ |= !span.is_one_from_the_front();
  }
  if (rules.part == KeyPart::fields && rules.fields.empty()) return refusal("no field is given");
  if (rules.part == KeyPart::csv || rules.part == KeyPart::tsv) {
    if (rules.columns.empty() == rules.fields.empty())
      return refusal("columns are named by the header or numbered, one of the two");
    if (cutter.spans_) return refusal("columns are taken one by one, from the front");
    if (rules.separator.empty()) rules.separator = rules.part == KeyPart::csv ? "," : "\t";
    if (rules.part == KeyPart::tsv && rules.separator != "\t")
      return refusal("the separator of TSV is the tab");
    if (rules.separator.size() != 1 || !is_csv_separator(rules.separator[0]))
      return refusal("the separator of CSV is one byte that is not a quote or a line end");
    for (const FieldSpan field : rules.fields)
      cutter.numbered_.push_back(static_cast<std::size_t>(field.first - 1));
  }
  if (rules.part == KeyPart::json) {
    if (rules.json_paths.empty()) return refusal("no path is given");
    for (const std::string& text : rules.json_paths) {
      auto path = parse_json_path(text);
      if (!path) return path.error();
      cutter.paths_.push_back(std::move(*path));
    }
  }
  cutter.lone_field_ = rules.part == KeyPart::fields && rules.fields.size() == 1 && !cutter.spans_;
  // What a rule can take decides, not what a record has: x alone of "2-" is 1:x, too.
  cutter.several_ = rules.fields.size() + rules.json_paths.size() > 1 ||
                    (rules.fields.size() == 1 && !rules.fields[0].is_one());
  cutter.rules_ = std::move(rules);
  return cutter;
}

bool FieldCutter::several_parts() const {
  const auto& columns = rules_.columns;
  return several_ || columns.size() > 1 ||
         (columns.size() == 1 && csv_split(columns[0], ',').size() > 1);
}

std::optional<char> FieldCutter::csv_separator() const {
  if (rules_.part != KeyPart::csv) return std::nullopt;
  return rules_.separator[0];
}

std::vector<std::string> FieldCutter::names_in(std::string_view header) const {
  // Spreadsheets begin UTF-8 with a byte order mark.
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);
  if (rules_.part == KeyPart::csv) return csv_split(header, rules_.separator[0]);
  if (header.ends_with('\r')) header.remove_suffix(1);
  std::vector<std::string> names;
  std::string_view name;
  for (std::size_t i = 1; separated_field(header, rules_.separator, i, name); ++i)
    names.emplace_back(name);
  return names;
}

Result<FieldCutter::Reading> FieldCutter::read_header(std::string_view header,
                                                      std::string_view file) const {
  assert(has_header() && "only a file with a header names its columns");
  ColumnFinder finder(names_in(header), file);
  for (const std::string& word : rules_.columns)
    if (auto found = finder.find(word); !found) return found.error();
  return Reading{std::move(finder.columns), std::move(finder.how)};
}

Result<CsvColumns> FieldCutter::columns_of(std::string_view header, std::string_view file) const {
  auto reading = read_header(header, file);
  if (!reading) return reading.error();
  return std::move(reading->columns);
}

std::string FieldCutter::reading_of(std::string_view header) const {
  const auto reading = read_header(header, "");
  return reading ? reading->how : "";
}

const char* FieldCutter::take_fields(std::string_view record, CutScratch& scratch) const {
  if (spans_) return take_spans(record, scratch);
  for (const FieldSpan span : rules_.fields) {
    const auto number = static_cast<std::size_t>(span.first);
    std::string_view& field = scratch.parts.emplace_back().text;
    const bool found = rules_.separator.empty()
                           ? blank_field(record, number, field)
                           : separated_field(record, rules_.separator, number, field);
    if (!found) return few_fields;
  }
  return nullptr;
}

// All fields are found first: numbers may count from the last.
const char* FieldCutter::take_spans(std::string_view record, CutScratch& scratch) const {
  std::vector<std::string_view>& fields = scratch.fields;
  fields.clear();
  if (rules_.separator.empty())
    split_at_blanks(record, fields);
  else
    split_at(record, rules_.separator, fields);
  const auto count = static_cast<std::int64_t>(fields.size());
  const auto place = [&](std::int64_t number) { return number > 0 ? number - 1 : count + number; };
  for (const FieldSpan span : rules_.fields) {
    const std::int64_t first = place(span.first);
    const std::int64_t last = place(span.last);
    if (first < 0 || last >= count || first > last) return few_fields;
    for (std::int64_t i = first; i <= last; ++i)
      scratch.parts.push_back({fields[static_cast<std::size_t>(i)]});
  }
  return nullptr;
}

const char* FieldCutter::take_columns(std::string_view record, const CsvColumns& columns,
                                      CutScratch& scratch) const {
  if (record.empty() || record == "\r") return blank_record;
  const bool quotes = rules_.part == KeyPart::csv;
  // In CSV a carriage return before the newline belongs to the end of the record.
  if (!quotes && record.ends_with('\r')) record.remove_suffix(1);
  for (const std::size_t column : columns) {
    std::string_view& field = scratch.parts.emplace_back().text;
    const bool found = quotes ? csv_field(record, rules_.separator[0], column, field)
                              : separated_field(record, rules_.separator, column + 1, field);
    if (!found) return few_fields;
    if (!quotes || !csv_quoted(field)) continue;
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

// Puts the parts into the scratch and returns nullptr, or returns why the record has no key.
const char* FieldCutter::take_parts(std::string_view record, const CsvColumns* columns,
                                    CutScratch& scratch) const {
  scratch.parts.clear();
  switch (rules_.part) {
    case KeyPart::whole_line: scratch.parts.push_back({record}); return nullptr;
    case KeyPart::fields: return take_fields(record, scratch);
    case KeyPart::csv:
    case KeyPart::tsv:
      assert((columns != nullptr || !has_header()) && "the columns of the file are known");
      return take_columns(record, has_header() ? *columns : numbered_, scratch);
    case KeyPart::json: return take_values(record, scratch);
  }
  return nullptr;
}

// The most common case, without the list of parts, with which it took a sixth longer.
Cut FieldCutter::cut_lone_field(std::string_view record) const {
  const auto number = static_cast<std::size_t>(rules_.fields[0].first);
  std::string_view field;
  const bool found = rules_.separator.empty()
                         ? blank_field(record, number, field)
                         : separated_field(record, rules_.separator, number, field);
  if (!found) return {.key = {}, .why = few_fields};
  return {.key = field, .why = nullptr, .empty = field.empty()};
}

Cut FieldCutter::cut(std::string_view record, const CsvColumns* columns, CutScratch& scratch,
                     const Normalizer* normalizer) const {
  if (lone_field_ && normalizer == nullptr) return cut_lone_field(record);
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
  const std::string_view key = several_ || scratch.parts.size() > 1
                                   ? as_netstrings(scratch.parts, scratch.room)
                                   : scratch.parts.front().text;
  return {.key = key, .why = nullptr, .empty = empty};
}

}  // namespace bloomery::inline v0::detail
