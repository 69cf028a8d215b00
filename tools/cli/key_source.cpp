#include "key_source.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "command.hpp"

namespace bloomery::cli {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_./:,=@+-").find(c) != std::string_view::npos;
}

// A backslash and what can not be printed become \\ and \xHH.
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

std::string as_words(const std::vector<FieldSpan>& fields) {
  std::string words;
  for (const FieldSpan span : fields) {
    words += fmt::format("{}{}", words.empty() ? "" : ",", span.first);
    if (!span.is_one()) words += span.last < 0 ? "-" : fmt::format("-{}", span.last);
  }
  return words;
}

std::string column_flags(const FieldRules& rules) {
  std::string words = rules.part == KeyPart::csv ? "--csv" : "--tsv";
  if (rules.columns.empty()) words += " --no-header --column " + as_words(rules.fields);
  for (const std::string& column : rules.columns) words += " --column " + as_word(column);
  if (rules.part == KeyPart::csv && rules.separator != ",")
    words += " -t " + as_word(rules.separator);
  return words;
}

std::string flags_of(const FieldRules& rules) {
  switch (rules.part) {
    case KeyPart::whole_line: return "";
    case KeyPart::fields:
      return "-k " + as_words(rules.fields) +
             (rules.separator.empty() ? "" : " -t " + as_word(rules.separator));
    case KeyPart::csv:
    case KeyPart::tsv: return column_flags(rules);
    case KeyPart::json: {
      std::string words;
      for (const std::string& path : rules.json_paths)
        words += (words.empty() ? "--json-key " : " --json-key ") + as_word(path);
      return words;
    }
  }
  return "";
}

std::string in_words(const std::string& source) {
  return source.starts_with("lines") ? "whole " + source : source;
}

std::string shown_time(std::uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "a time beyond all calendars";
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", parts);
}

}  // namespace

std::string key_source_of(const FieldCutter& cutter, const LineRules& lines) {
  std::string words = cutter.whole_line() ? "lines" : flags_of(cutter.rules());
  if (lines.delimiter == std::string(1, '\0'))
    words += " -0";
  else if (lines.delimiter != "\n")
    words += " -d " + as_word(lines.delimiter);
  return words;
}

void expect_source(AnySet& set, const std::string& path, const FieldCutter& cutter,
                   const LineRules& lines) {
  const std::string source = key_source_of(cutter, lines);
  std::string& stored = set.rules().made_from;
  if (stored.empty() && cutter.several_parts() && set.adds() > 0)
    refuse(
        fmt::format("{} does not say what its keys were made from, and versions before this one "
                    "joined several parts in another way; begin another state",
                    path));
  if (!stored.empty() && stored != source)
    refuse(
        fmt::format("{} remembers the keys of {}, and this run has those of {}: no line would be "
                    "known again. Give the same flags, or another state",
                    path, in_words(stored), in_words(source)));
  stored = source;
}

void expect_one_part(const FieldCutter& cutter, const std::string& list) {
  if (!cutter.several_parts()) return;
  refuse(fmt::format(
      "{0} is a list of whole lines, and a key of several parts is none of them: nothing "
      "could match. Give one part, or make a set with 'bloomery build' and the same flags",
      list));
}

void expect_clock(const AnySet& set, const std::string& path) {
  using namespace std::chrono;
  const auto now = static_cast<std::uint64_t>(
      duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  if (set.time_told() <= now + set.time_span() / 3) return;
  refuse(
      fmt::format("{} was told that it is {}, and the clock says {}: until then it would forget "
                  "nothing. Set the clock right, or begin another state",
                  path, shown_time(set.time_told()), shown_time(now)));
}

}  // namespace bloomery::cli
