#include "source_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <bloomery/detail/engines/keys/csv.hpp>
#include <bloomery/engines/keys/json_path.hpp>

namespace bloomery::cli {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./:,=@+-").find(c) != std::string_view::npos;
}

// A backslash and what cannot be printed become \\ and \xHH.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\')
      shown += "\\\\";
    else if (byte < 0x20 || byte == 0x7f)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  return shown;
}

std::string unprintable(std::string_view shown) {
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = shown.data() + i + 2;
    if (shown[i] != '\\' || i + 1 == shown.size()) {
      text += shown[i];
    } else if (shown[i + 1] == 'x' && i + 3 < shown.size() &&
               std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      text += static_cast<char>(byte);
      i += 3;
    } else {
      text += shown[++i];
    }
  }
  return text;
}

// As a shell takes it.
std::string as_word(std::string_view text) {
  const std::string shown = printable(text);
  if (!shown.empty() && std::all_of(shown.begin(), shown.end(), is_plain)) return shown;
  std::string word = "'";
  for (const char c : shown) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

// The words of as_word, taken apart again.
std::vector<std::string> words_of(std::string_view source) {
  std::vector<std::string> words;
  bool inside = false;
  bool begun = false;
  std::string word;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '\'') {
      inside = !inside;
      begun = true;
    } else if (!inside && c == ' ') {
      if (begun) words.push_back(unprintable(std::exchange(word, {})));
      begun = false;
    } else if (!inside && c == '\\' && i + 1 < source.size()) {
      word += source[++i];
      begun = true;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push_back(unprintable(word));
  return words;
}

// -- one spelling for each ------------------------------------------------------------------------

using Spans = std::vector<FieldSpan>;

// Numbers from the front that follow each other are one range: the key is the same.
Spans joined(const Spans& spans) {
  Spans joined;
  for (const FieldSpan span : spans) {
    const bool follows = !joined.empty() && joined.back().last > 0 && span.last > 0 &&
                         span.first == joined.back().last + 1;
    if (follows)
      joined.back().last = span.last;
    else
      joined.push_back(span);
  }
  return joined;
}

std::string spelled(const Spans& spans) {
  std::string text;
  for (const FieldSpan span : joined(spans)) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", span.first);
    if (span.is_one()) continue;
    if (span.last < 0)
      text += "-";
    else
      text += fmt::format("{}{}", span.last == span.first + 1 ? "," : "-", span.last);
  }
  return text;
}

// Empty: not understood.
Spans spans_of(std::string_view text) {
  Spans spans;
  for (const std::string& part : csv_split(text, ',')) {
    const char* const end = part.data() + part.size();
    FieldSpan span = 1;
    auto read = std::from_chars(part.data(), end, span.first);
    span.last = span.first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-') {
      span.last = -1;
      if (++read.ptr != end) read = std::from_chars(read.ptr, end, span.last);
    }
    if (read.ec != std::errc{} || read.ptr != end) return {};
    spans.push_back(span);
  }
  return spans;
}

// A name that would be taken for a list is quoted as in CSV.
std::string spelled_column(const std::string& name) {
  if (name.find(',') == std::string::npos && !name.starts_with('"')) return as_word(name);
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return as_word(text + '"');
}

std::string spelled_columns(const std::string& word) {
  auto names = csv_split(word, ',');
  if (names.empty()) names = {word};
  std::string text;
  for (const std::string& name : names) text += " --column " + spelled_column(name);
  return text;
}

std::string spelled_path(const std::string& text) {
  const auto path = parse_json_path(text);
  if (!path) return as_word(text);
  std::string spelled;
  for (const auto& step : *path) {
    if (const auto* place = std::get_if<std::size_t>(&step)) {
      spelled += fmt::format("{}[{}]", spelled.empty() ? "." : "", *place);
      continue;
    }
    const std::string& name = std::get<std::string>(step);
    const bool bare =
        !name.empty() && name.find_first_of(".[") == std::string::npos && !name.starts_with('"');
    spelled += '.';
    if (bare) {
      spelled += name;
      continue;
    }
    spelled += '"';
    for (const char c : name)
      spelled += c == '"' || c == '\\' ? fmt::format("\\{}", c) : fmt::format("{}", c);
    spelled += '"';
  }
  return as_word(spelled);
}

std::string column_flags(const FieldRules& rules) {
  std::string words = rules.part == KeyPart::csv ? "--csv" : "--tsv";
  if (rules.columns.empty()) {
    words += " --no-header --column ";
    for (const FieldSpan field : rules.fields)
      words += fmt::format("{}{}", words.ends_with(' ') ? "" : ",", field.first);
  }
  for (const std::string& column : rules.columns) words += spelled_columns(column);
  if (rules.part == KeyPart::csv && rules.separator != ",")
    words += " -t " + as_word(rules.separator);
  return words;
}

std::string flags_of(const FieldRules& rules) {
  switch (rules.part) {
    case KeyPart::whole_line: return "";
    case KeyPart::fields:
      return "-k " + spelled(rules.fields) +
             (rules.separator.empty() ? "" : " -t " + as_word(rules.separator));
    case KeyPart::csv:
    case KeyPart::tsv: return column_flags(rules);
    case KeyPart::json: {
      std::string words;
      for (const std::string& path : rules.json_paths)
        words += (words.empty() ? "--json-key " : " --json-key ") + spelled_path(path);
      return words;
    }
  }
  return "";
}

bool takes_value(const std::string& flag) {
  return flag == "-k" || flag == "-t" || flag == "-d" || flag == "--column" || flag == "--json-key";
}

std::string respelled_value(const std::string& flag, const std::string& value, bool headless) {
  if (flag == "--column" && !headless) return spelled_columns(value);
  std::string text = " " + flag + " ";
  if (flag == "--json-key") return text + spelled_path(value);
  const Spans spans = flag == "-k" ? spans_of(value) : Spans{};
  return text + (spans.empty() ? as_word(value) : spelled(spans));
}

}  // namespace

std::string source_text(const FieldCutter& cutter, const LineRules& lines, WholeLines whole) {
  const char* const name = whole == WholeLines::list ? "list" : "lines";
  std::string words = cutter.whole_line() ? name : flags_of(cutter.rules());
  if (lines.delimiter == std::string(1, '\0'))
    words += " -0";
  else if (lines.delimiter != "\n")
    words += " -d " + as_word(lines.delimiter);
  return words;
}

std::string respelled_source(const std::string& source) {
  const auto words = words_of(source);
  const bool headless = std::find(words.begin(), words.end(), "--no-header") != words.end();
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!takes_value(words[i])) {
      text += " " + as_word(words[i]);
      continue;
    }
    if (i + 1 == words.size()) return source;
    text += respelled_value(words[i], words[i + 1], headless);
    ++i;
  }
  return text.empty() ? source : text.substr(1);
}

std::string source_in_words(const std::string& source) {
  if (is_list_source(source)) return "a " + source + " of whole lines";
  return source.starts_with("lines") ? "whole " + source : source;
}

bool is_list_source(std::string_view source) {
  return source == "list" || source.starts_with("list ");
}

std::optional<KeyParts> parts_of(const std::string& source) {
  const auto words = words_of(respelled_source(source));
  if (words.empty()) return std::nullopt;
  if (words[0] == "lines" || words[0] == "list") return KeyParts{};
  std::size_t least = 0;
  std::size_t most = 0;
  bool range = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!takes_value(words[i])) continue;
    const std::string& flag = words[i];
    const std::string& value = words[++i];
    if (flag == "-t" || flag == "-d") continue;
    const bool numbers =
        flag == "-k" ||
        (flag == "--column" && std::find(words.begin(), words.end(), "--no-header") != words.end());
    for (const FieldSpan span : numbers ? spans_of(value) : Spans{FieldSpan(1)}) {
      const bool open = span.first > 0 && span.last < 0;
      const auto count = open ? 1 : static_cast<std::size_t>(span.last - span.first) + 1;
      range |= open;
      least += count;
      most = open || most == any_number ? any_number : most + count;
    }
  }
  if (least == 0) return std::nullopt;
  return KeyParts{range || least > 1, least, most};
}

std::string parts_in_words(const KeyParts& parts) {
  if (!parts.several) return "one part";
  if (parts.most == any_number)
    return parts.least == 1 ? "any number of parts" : fmt::format("{} parts or more", parts.least);
  return fmt::format("{} parts", parts.least);
}

}  // namespace bloomery::cli
