// A flag of a command, as data: parser, help, completions and manual are made from such tables.
//
//    {"-o,--output", "FILE", "write to this file", &flags.path}          one value, given once
//    {"--against", "F", "drop the lines of this set", &flags.against}    a vector: given often
//    {"--nodes", "[N]", "a set on N masters", &flags.nodes}              --nodes or --nodes=N
//    {"-f,--force", "", "replace the output", &flags.force}              no value
//    {"--color", "auto|always|never", "colours", &flags.colour}          words to complete
//
// Values are words as typed: the command reads them, so that every refusal is a sentence of ours.
// Limits:  no flag knows another; which go together, each command says in its expect_ functions.
// See:     parser.hpp, flag_facts.hpp; flags_test.py.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bloomery::cli {

using Word = std::optional<std::string>;

enum class HelpLength { brief, full };

// Where the value goes. A HelpLength: the flag asks for help.
using FlagTarget = std::variant<bool*, Word*, std::vector<std::string>*, HelpLength>;

struct Flag {
  std::string names;  // "-o,--output"
  std::string value;  // what the value is called; "" for none, "[N]" if it may be left out
  std::string help;
  FlagTarget into;

  bool needs_value() const { return !value.empty() && value.front() != '['; }
  bool repeats() const { return std::holds_alternative<std::vector<std::string>*>(into); }
};

using Flags = std::vector<Flag>;

// One flag, or the table of flags that several commands share.
struct FlagRow {
  FlagRow(std::string names, std::string value, std::string help, FlagTarget into)
      : flags{Flag{std::move(names), std::move(value), std::move(help), into}} {}
  FlagRow(Flag one) : flags{std::move(one)} {}
  FlagRow(Flags several) : flags(std::move(several)) {}

  Flags flags;
};
// One behind the other, in the order in which help shows them.
Flags joined(std::initializer_list<FlagRow> rows);

// The flag of this name, with its dashes; nullptr if there is none.
const Flag* find_flag(const Flags& flags, std::string_view name);

}  // namespace bloomery::cli
