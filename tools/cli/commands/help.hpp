// The help texts: short for -h, long for --help, made from the tables of flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "command.hpp"

namespace bloomery::cli {

std::string command_help(const Command& command, HelpLength length);
std::string program_help(std::span<const Command> commands, HelpLength length);
// "unknown command 'dedpu'. Did you mean 'dedup'? ..."
std::string no_such_command(const std::string& word, std::span<const Command> commands);
// What holds for all commands: input and output, units, exit codes, environment.
std::string_view conventions();

}  // namespace bloomery::cli
