// How lines become keys, as the commands are told: which part of a line, and how it is spelled.
//
//    FieldCutter cutter = cutter_of(flags.keys);
//    LineRules rules = line_rules_of(flags.lines, cutter);         CSV records are not lines
//    auto normalizer = normalizer_of(flags.keys, set, path);       what F says, and no other
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/engines/keys/key_maker.hpp>
#include <bloomery/text/lines.hpp>
#include <bloomery/text/normalize.hpp>

#include "flags.hpp"

namespace bloomery::cli {

struct KeyFlags {
  std::vector<std::string> fields;
  Word separator;
  bool csv = false;
  bool tsv = false;
  std::vector<std::string> columns;
  bool headless = false;
  std::vector<std::string> json_keys;
  bool skip_bad = false;
  Word normalize;
  Word empty;
  bool same_keys = false;

  bool part_of_line() const { return !fields.empty() || csv || tsv || !json_keys.empty(); }
};
// `skipped` tells what becomes of a record without a key that is skipped.
Flags key_flags(KeyFlags& flags, const std::string& skipped);

// For commands that use a set which is there already.
Flag same_keys_flag(KeyFlags& flags);

// Refuses flags that do not fit together.
FieldCutter cutter_of(const KeyFlags& flags);
// Delimiter, and for CSV its separator and header. --null and --delimiter do not go with CSV.
LineRules line_rules_of(const LineFlags& lines, const FieldCutter& cutter);

// What becomes of empty keys: what --empty says, else `keep` where a part of the line is the key;
// an empty line is a line like any other.
EmptyKeys empty_keys_of(const KeyFlags& flags);

// What --normalize asks for.
std::optional<Normalizer> normalizer_of(const KeyFlags& flags);
// What the set was made with. Refuses a profile that this program does not know, and a --normalize
// that is another.
std::optional<Normalizer> normalizer_of(const KeyFlags& flags, const AnySet& set,
                                        const std::string& path);

}  // namespace bloomery::cli
