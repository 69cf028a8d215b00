// From the words of a command line to the targets of a table of flags.
//
// parser.cpp is the only file that knows CLI11: reading that header costs more than most commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flag.hpp"

namespace bloomery::cli {

// Refuses, in sentences that name `command`, a flag that is unknown, lacks its value or was given
// twice. If help was asked for, tells how much; what the targets hold then means nothing.
std::optional<HelpLength> parse_flags(const std::string& command, const Flags& flags,
                                      std::vector<std::string> words);

}  // namespace bloomery::cli
