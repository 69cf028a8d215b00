// What main knows of a command: its parser, its words, and how to run it.
//
// Each command is one file: a struct of its flags, one function that tells CLI11 about them, and
// the work. Work says no by throwing Failure; main turns that into a sentence and exit code 2.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tools/cli/flags/operands.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/refuse.hpp>

namespace CLI {
class App;
}

namespace bloomery::cli {

// What scripts test. Never renumber.
enum class Exit : int {
  good = 0,
  nothing_found = 1,  // check: no line was printed; count, remove, fold: nothing to do
  error = 2,
  overfull = 3,  // with --strict only; also: half a line or more is probably wrong
};

struct Command {
  CLI::App* parser;
  std::string usage;  // what follows "bloomery "
  std::string story;  // what --help says after the flags: how it works, exit codes, examples
  Operands operands;  // where the words that are no flags go
  std::function<Exit(Messages&)> run;
};

Command dedup_command(CLI::App& program);
Command build_command(CLI::App& program);
Command add_command(CLI::App& program);
Command remove_command(CLI::App& program);
Command check_command(CLI::App& program);
Command count_command(CLI::App& program);
Command plan_command(CLI::App& program);
Command info_command(CLI::App& program);
Command merge_command(CLI::App& program);
Command fold_command(CLI::App& program);
Command verify_command(CLI::App& program);
Command ints_command(CLI::App& program);
Command bench_command(CLI::App& program);
// These tell about all commands, themselves included; the list must outlive them.
Command help_command(CLI::App& program, const std::vector<Command>& commands);
Command completions_command(CLI::App& program, const std::vector<Command>& commands);
Command man_command(CLI::App& program, const std::vector<Command>& commands);

}  // namespace bloomery::cli
