#include "key_flags.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>

#include "command.hpp"
#include "escapes.hpp"
#include "suggest.hpp"

namespace bloomery::cli {
namespace {

// "1,3" --> 1 3
void add_numbers(std::vector<std::size_t>& numbers, std::string_view flag, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::size_t number = 0;
    const auto [stop, wrong] = std::from_chars(at, end, number);
    if (wrong != std::errc{} || number == 0 || (stop != end && *stop != ','))
      refuse(fmt::format("{} does not take '{}'; give a number from 1, or several as in 1,3", flag,
                         text));
    numbers.push_back(number);
    if (stop == end) return;
    at = stop + 1;
  }
}

FieldRules csv_rules(const KeyFlags& flags) {
  if (flags.columns.empty())
    refuse("--csv needs --column NAME, the column to take (with --no-header, its number)");
  FieldRules rules{.part = KeyPart::csv};
  if (!flags.headless) {
    rules.columns = flags.columns;
    return rules;
  }
  for (const std::string& column : flags.columns)
    add_numbers(rules.fields, "--column with --no-header", column);
  return rules;
}

}  // namespace

void add_key_flags(CLI::App& parser, KeyFlags& flags, const std::string& skipped) {
  parser
      .add_option("-k,--field", flags.fields,
                  "the key is this field, or these: 1,3; give it again for several")
      ->type_name("N")
      ->expected(1)
      ->take_all();
  parser
      .add_option("-t,--separator", flags.separator,
                  "what separates fields, such as ':' or '\\t'; else blanks, in CSV a comma")
      ->type_name("STR");
  parser.add_flag("--csv", flags.csv, "the input is CSV with a header; the key is a --column");
  parser
      .add_option("--column", flags.columns, "CSV: the column to take; give it again for several")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  parser.add_flag("--no-header", flags.headless,
                  "CSV: there is no header; columns are given by number");
  parser
      .add_option("--json-key", flags.json_keys,
                  "the key is at this path of a JSON line; give it again for several")
      ->type_name(".a.b")
      ->expected(1)
      ->take_all();
  parser.add_flag("--skip-bad", flags.skip_bad, "pass over lines without such a key; " + skipped);
  parser
      .add_option("--normalize", flags.normalize,
                  "spell keys in one way: trim, case, email, url or crawl; stored in the set file")
      ->type_name("PROFILE");
  parser
      .add_option("--empty", flags.empty,
                  "records with an empty or null key: all kept, as nobody's; dropped; or one key")
      ->type_name("keep|drop|one");
}

EmptyKeys empty_keys_of(const KeyFlags& flags) {
  if (!flags.empty) return flags.part_of_line() ? EmptyKeys::keep : EmptyKeys::one;
  if (*flags.empty == "keep") return EmptyKeys::keep;
  if (*flags.empty == "drop") return EmptyKeys::drop;
  if (*flags.empty == "one") return EmptyKeys::one;
  refuse(unknown_value("--empty", *flags.empty, std::vector<std::string>{"keep", "drop", "one"}));
}

FieldCutter cutter_of(const KeyFlags& flags) {
  if (!flags.fields.empty() + flags.csv + !flags.json_keys.empty() > 1)
    refuse("--field, --csv and --json-key each say where the key is; give one of them");
  if (!flags.csv && (!flags.columns.empty() || flags.headless))
    refuse("--column and --no-header are for --csv");
  if (flags.separator && flags.fields.empty() && !flags.csv)
    refuse("--separator is for --field and --csv");
  if (flags.skip_bad && !flags.part_of_line())
    refuse("--skip-bad is for --field, --csv and --json-key; a whole line is always a key");
  FieldRules rules;
  if (flags.csv) rules = csv_rules(flags);
  if (!flags.fields.empty()) rules.part = KeyPart::fields;
  for (const std::string& field : flags.fields) add_numbers(rules.fields, "--field", field);
  if (!flags.json_keys.empty()) rules = {.part = KeyPart::json, .json_paths = flags.json_keys};
  if (flags.separator) rules.separator = unescaped("--separator", *flags.separator);
  return FieldCutter::make(std::move(rules)).value();
}

LineRules line_rules_of(const LineFlags& lines, const FieldCutter& cutter) {
  LineRules rules{.delimiter = delimiter_of(lines), .decode = decoder_of(lines)};
  rules.csv_separator = cutter.csv_separator();
  rules.header = cutter.has_header();
  if (rules.csv_separator && rules.delimiter != "\n")
    refuse("records of --csv end with a newline; leave --null and --delimiter out");
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
        fmt::format("{}: its keys were {}, so they can not be normalised as '{}'; leave "
                    "--normalize out",
                    path,
                    stored.empty() ? std::string("taken as they are")
                                   : fmt::format("normalised as '{}'", stored),
                    *flags.normalize));
  return known;
}

}  // namespace bloomery::cli
