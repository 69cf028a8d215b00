// What main knows of a command: its flags, its words, and how to run it.
//
// Each command is one file: a struct for the values of its flags, the table of the flags, and the
// work. Work says no by throwing Failure; main turns that into a sentence and exit code 2.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tools/cli/flags/operands.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {

// What scripts test. Never renumber.
enum class Exit : int {
  good = 0,
  nothing_found = 1,  // check: no line was printed; count, remove, fold: nothing to do
  error = 2,
  overfull = 3,  // with --strict only; also: half a line or more is probably wrong
};

struct Command {
  std::string name;
  std::string summary;  // a line in the list of commands
  std::string usage;    // what follows "bloomery "
  std::string story;    // what --help says after the flags: how it works, exit codes, examples
  Flags flags = {};
  Operands operands = {};  // where the words that are not flags go
  std::function<Exit(Messages&)> run;
  std::string absent = {};  // why this build cannot run it; else empty
};

Command dedup_command();
Command build_command();
Command add_command();
Command remove_command();
Command check_command();
Command count_command();
Command plan_command();
Command info_command();
Command merge_command();
Command fold_command();
Command verify_command();
Command seal_command();
Command unseal_command();
Command serve_command();  // serve/serve_command.cpp
Command ints_command();
Command bench_command();  // bench.cpp, or no_bench.cpp without BLOOMERY_BUILD_BENCH
// These tell about all commands, themselves included; the list must outlive them.
Command help_command(const std::vector<Command>& commands);
Command completions_command(const std::vector<Command>& commands);
Command man_command(const std::vector<Command>& commands);

}  // namespace bloomery::cli
