#include "key_flags.hpp"

#include <fmt/format.h>

#include <charconv>

#include <tools/cli/report/refuse.hpp>

#include "escapes.hpp"
#include "suggest.hpp"

namespace bloomery::cli {
namespace {

// "1,3" --> 1 3    "2-4" --> 2 to 4    "2-" --> 2 to the last    "-1" --> the last
void add_spans(std::vector<FieldSpan>& spans, std::string_view flag, std::string_view text) {
  const auto refuse_it = [&] {
    refuse(
        fmt::format("{} does not take '{}'; give a number from 1, -1 for the last, a range as in "
                    "2-4 or 2-, or several of these as in 1,3",
                    flag, text));
  };
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    FieldSpan span = 0;
    const auto [stop, wrong] = std::from_chars(at, end, span.first);
    if (wrong != std::errc{} || span.first == 0) refuse_it();
    at = stop;
    span.last = span.first;
    if (at != end && *at == '-') {
      span.last = -1;
      if (++at != end && *at != ',') {
        const auto [behind, bad] = std::from_chars(at, end, span.last);
        if (bad != std::errc{} || span.last <= 0 || span.first < 0 || span.last < span.first)
          refuse_it();
        at = behind;
      }
    }
    spans.push_back(span);
    if (at == end) return;
    if (*at++ != ',') refuse_it();
  }
}

// "1,3" --> 1 3
void add_numbers(std::vector<FieldSpan>& numbers, std::string_view flag, std::string_view text) {
  const std::size_t before = numbers.size();
  const bool digits = text.find_first_not_of("0123456789,") == std::string_view::npos;
  if (digits) add_spans(numbers, flag, text);
  if (!digits || numbers.size() == before)
    refuse(fmt::format("{} does not take '{}'; give a number from 1, or several as in 1,3", flag,
                       text));
}

FieldRules column_rules(const KeyFlags& flags) {
  if (flags.csv && flags.tsv)
    refuse("--csv and --tsv are two ways to write columns; give one of them");
  if (flags.columns.empty())
    refuse(fmt::format("{} needs --column NAME, the column to take, or its number",
                       flags.csv ? "--csv" : "--tsv"));
  FieldRules rules{.part = flags.csv ? KeyPart::csv : KeyPart::tsv};
  if (!flags.headless) {
    rules.columns = flags.columns;
    return rules;
  }
  for (const std::string& column : flags.columns)
    add_numbers(rules.fields, "--column with --no-header", column);
  return rules;
}

}  // namespace

Flags key_flags(KeyFlags& flags, const std::string& skipped) {
  return {
      {"-k,--field", "N",
       "the key is this field, or these: 1,3; 2- from the second on, -1 the last one",
       &flags.fields},
      {"-t,--separator", "STR",
       "what separates fields, such as ':' or '\\t'; else blanks, in CSV a comma",
       &flags.separator},
      {"--csv", "", "the input is CSV with a header; the key is a --column", &flags.csv},
      {"--tsv", "", "the same with tabs, and without quotes", &flags.tsv},
      {"--column", "NAME", "the column to take, by name or number, or several: a,b",
       &flags.columns},
      {"--no-header", "", "CSV and TSV without a header; columns are given by number",
       &flags.headless},
      {"--json-key", ".a.b", "the key is at this path of a JSON line; give it again for several",
       &flags.json_keys},
      {"--skip-bad", "", "skip lines without such a key; " + skipped, &flags.skip_bad},
      {"--normalize", "PROFILE",
       "spell keys in one way: trim, case, email, url or crawl; stored in the set file",
       &flags.normalize},
      {"--empty", "keep|drop|one",
       "records with an empty or null key: keep all, drop all, or take them as one key",
       &flags.empty},
  };
}

Flag same_keys_flag(KeyFlags& flags) {
  return {"--same-keys", "",
          "believe that keys are written as those of F, whatever F was made from",
          &flags.same_keys};
}

EmptyKeys empty_keys_of(const KeyFlags& flags) {
  if (!flags.empty) return flags.part_of_line() ? EmptyKeys::keep : EmptyKeys::one;
  if (*flags.empty == "keep") return EmptyKeys::keep;
  if (*flags.empty == "drop") return EmptyKeys::drop;
  if (*flags.empty == "one") return EmptyKeys::one;
  refuse(unknown_value("--empty", *flags.empty, std::vector<std::string>{"keep", "drop", "one"}));
}

FieldCutter cutter_of(const KeyFlags& flags) {
  const bool columns = flags.csv || flags.tsv;
  if (!flags.fields.empty() + columns + !flags.json_keys.empty() > 1)
    refuse("--field, --csv, --tsv and --json-key each say where the key is; give one of them");
  if (!columns && (!flags.columns.empty() || flags.headless))
    refuse("--column and --no-header are for --csv and --tsv");
  if (flags.tsv && flags.separator) refuse("the separator of --tsv is the tab; give --csv with -t");
  if (flags.separator && flags.fields.empty() && !flags.csv)
    refuse("--separator is for --field and --csv");
  if (flags.skip_bad && !flags.part_of_line())
    refuse("--skip-bad is for --field, --csv, --tsv and --json-key; a whole line is always a key");
  FieldRules rules;
  if (columns) rules = column_rules(flags);
  if (!flags.fields.empty()) rules.part = KeyPart::fields;
  for (const std::string& field : flags.fields) add_spans(rules.fields, "--field", field);
  if (!flags.json_keys.empty()) rules = {.part = KeyPart::json, .json_paths = flags.json_keys};
  if (flags.separator) rules.separator = unescaped("--separator", *flags.separator);
  return FieldCutter::make(std::move(rules)).value();
}

LineRules line_rules_of(const LineFlags& lines, const FieldCutter& cutter) {
  LineRules rules{.delimiter = delimiter_of(lines), .decode = decoder_of(lines)};
  rules.csv_separator = cutter.csv_separator();
  rules.header = cutter.has_header();
  const KeyPart part = cutter.rules().part;
  if ((part == KeyPart::csv || part == KeyPart::tsv) && rules.delimiter != "\n")
    refuse(fmt::format("records of {} end with a newline; leave --null and --delimiter out",
                       part == KeyPart::csv ? "--csv" : "--tsv"));
  return rules;
}

std::optional<Normalizer> normalizer_of(const KeyFlags& flags) {
  if (!flags.normalize) return std::nullopt;
  const auto found = Normalizer::find(*flags.normalize);
  if (!found) refuse(fmt::format("--normalize: {}", found.error().sentence));
  return *found;
}

std::optional<Normalizer> normalizer_of(const KeyFlags& flags, const AnySet& set,
                                        const std::string& path) {
  const std::string& stored = set.rules().normalisation;
  const auto asked = normalizer_of(flags);
  std::optional<Normalizer> known;
  if (!stored.empty()) {
    const auto found = Normalizer::find(stored);
    if (!found)
      refuse(
          fmt::format("{}: its keys were normalised as '{}', which this version does not know; use "
                      "the program that made the set",
                      path, stored));
    known = *found;
  }
  // "url" asks for what the set has, whatever its version.
  if (flags.normalize && (!known || (known->name() != asked->name() &&
                                     !known->name().starts_with(*flags.normalize + "/"))))
    refuse(
        fmt::format("{}: its keys were {}, so they cannot be normalised as '{}'; leave "
                    "--normalize out",
                    path,
                    stored.empty() ? std::string("taken as they are")
                                   : fmt::format("normalised as '{}'", stored),
                    *flags.normalize));
  return known;
}

}  // namespace bloomery::cli
