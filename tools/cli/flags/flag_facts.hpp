// The flags of a command, as help, completions and manual need it.
//
//    {"-o,--output", "FILE", ...}            names -o, --output; value FILE; a file
//    {"--color", "auto|always|never", ...}   value; its words are auto, always, never
#pragma once

#include <string>
#include <vector>

#include "flag.hpp"

namespace bloomery::cli {

enum class FlagValue {
  none,
  optional,  // --flag or --flag=VALUE
  needed,
};

struct FlagFacts {
  std::vector<std::string> short_names;  // "o"
  std::vector<std::string> long_names;   // "output"
  std::string description;
  FlagValue value = FlagValue::none;
  std::string value_name;          // "FILE"
  std::vector<std::string> words;  // all that the value may be; empty if the list would be long
  bool file = false;               // the value names a file
  bool repeats = false;            // may be given several times, and all count

  // "-o", "--output".
  std::vector<std::string> names() const;
};

// In the order of the table.
std::vector<FlagFacts> flag_facts(const Flags& flags);

}  // namespace bloomery::cli
