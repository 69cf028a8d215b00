// The command `bloomery`: names the commands, reads the command line, turns failures into sentences
// and exit codes.
//
//    0 good    1 nothing found    2 error, also of usage    3 with --strict: overfull,
//                                                                 or a line is probably wrong
//
// A reader that goes away (`| head`) ends a command quietly with 0: whoever closed the pipe has
// what they wanted.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/error.hpp>

#include <tools/cli/commands/command.hpp>
#include <tools/cli/commands/help.hpp>
#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/sets/mapped_set.hpp>
#include <tools/cli/sets/set_file.hpp>

namespace bloomery::cli {
namespace {

void name_commands(CLI::App& program, std::vector<Command>& commands) {
  commands.push_back(dedup_command(program));
  commands.push_back(build_command(program));
  commands.push_back(add_command(program));
  commands.push_back(remove_command(program));
  commands.push_back(check_command(program));
  commands.push_back(count_command(program));
  commands.push_back(plan_command(program));
  commands.push_back(info_command(program));
  commands.push_back(merge_command(program));
  commands.push_back(fold_command(program));
  commands.push_back(verify_command(program));
  commands.push_back(ints_command(program));
  commands.push_back(bench_command(program));
  commands.push_back(help_command(program, commands));
  commands.push_back(completions_command(program, commands));
  commands.push_back(man_command(program, commands));
  for (Command& command : commands) {
    command.parser->set_help_flag("-h", "this text");
    command.parser->set_help_all_flag("--help", "more: how it works, exit codes, examples");
  }
}

std::vector<std::string> flags_of(const CLI::App& parser) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : parser.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

// The sentence for an unknown flag, or nothing if CLI11 found something else.
std::string unknown_flag(const Command& command) {
  const std::string name = command.parser->get_name();
  const std::vector<std::string> unknown = command.parser->remaining();
  if (unknown.empty()) return "";
  const std::string flag = unknown.front().substr(0, unknown.front().find('='));
  return fmt::format("'{}' has no flag '{}'.{} 'bloomery {} -h' lists them", name, flag,
                     did_you_mean(flag, flags_of(*command.parser)), name);
}

// CLI11's own words are for programmers ("1 required TEXT missing").
std::string usage_sentence(const CLI::ParseError& error, const Command& command) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (std::string sentence = unknown_flag(command); !sentence.empty()) return sentence;
  }
  const std::string text = error.what();
  const std::string name = command.parser->get_name();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return fmt::format("{} needs a value; 'bloomery {} -h' shows which",
                       text.substr(0, text.find(':')), name);
  return fmt::format("{}: {}; 'bloomery {} -h' shows the usage", name, text, name);
}

Exit answer_program_flags(std::string_view word, std::span<const Command> commands) {
  if (word == "--version" || word == "-V")
    print_out(fmt::format("bloomery {}\n", BLOOMERY_VERSION));
  else
    print_out(program_help(commands, word == "--help" ? HelpLength::full : HelpLength::brief));
  return Exit::good;
}

Exit refuse_first_word(const std::string& word, std::span<const Command> commands,
                       Messages& messages) {
  if (word.starts_with('-')) {
    const std::vector<std::string> flags = {"--help", "--version"};
    messages.error(
        fmt::format("a command comes first, not the flag '{}'.{} 'bloomery -h' lists "
                    "the commands",
                    word, did_you_mean(word, flags)));
  } else {
    messages.error(no_such_command(word, commands));
  }
  return Exit::error;
}

// A flag that takes one value is given once: which of two was meant, nobody can know. Those whose
// values combine say take_all(); --quiet twice is --quiet.
void refuse_repeats(const CLI::App& parser) {
  for (const CLI::Option* option : parser.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) continue;
    const bool valued = option->get_items_expected_max() > 0;
    if (values.size() < 2 ||
        (!valued && std::equal(values.begin() + 1, values.end(), values.begin())))
      continue;
    std::string name = option->get_name(false, true);
    std::replace(name.begin(), name.end(), ',', '/');
    refuse(fmt::format("{} was given {} times, and takes one value; give it once", name,
                       values.size()));
  }
}

// CLI11 takes the value [a,b] of a flag that may come again for the two values a and b: a file or a
// column that is called [a] could not be named, and another would be read in its place.
void take_values_as_they_are(CLI::App& parser) {
  for (CLI::Option* option : parser.get_options()) option->allow_extra_args(false);
}

Exit run_command(CLI::App& program, const Command& command, std::span<char*> arguments,
                 Messages& messages) {
  take_values_as_they_are(*command.parser);
  Words words = split_words(arguments, *command.parser);
  words.flags.insert(words.flags.begin(), command.parser->get_name());
  // As CLI11 likes them.
  std::reverse(words.flags.begin(), words.flags.end());
  try {
    program.parse(std::move(words.flags));
  } catch (const CLI::CallForHelp&) {
    print_out(command_help(command, HelpLength::brief));
    return Exit::good;
  } catch (const CLI::CallForAllHelp&) {
    print_out(command_help(command, HelpLength::full));
    return Exit::good;
  } catch (const CLI::ParseError& error) {
    messages.error(usage_sentence(error, command));
    return Exit::error;
  }
  refuse_repeats(*command.parser);
  command.operands.take(words.operands, command.parser->get_name());
  if (const char* refused = kernels_refused()) refuse(refused);
  const Exit exit = command.run(messages);
  expect_mapped_unchanged();
  return exit;
}

Exit run(std::span<char*> arguments, Messages& messages) {
  CLI::App program("", "bloomery");
  program.set_help_flag();
  // So that CLI11 collects them all; refuse_repeats() says which may come again.
  program.option_defaults()->take_last();
  std::vector<Command> commands;
  name_commands(program, commands);
  if (arguments.size() < 2) {
    messages.plain(program_help(commands, HelpLength::brief));
    return Exit::error;
  }
  const std::string first = arguments[1];
  if (first == "--version" || first == "-V" || first == "-h" || first == "--help")
    return answer_program_flags(first, commands);
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& one) {
    return one.parser->get_name() == first;
  });
  if (command == commands.end()) return refuse_first_word(first, commands, messages);
  return run_command(program, *command, arguments.subspan(2), messages);
}

Exit run_and_catch(std::span<char*> arguments, Messages& messages) {
  try {
    return run(arguments, messages);
  } catch (const Failure& failure) {
    messages.error(failure.what());
  } catch (const std::bad_alloc&) {
    messages.error("the system does not give that much memory");
  } catch (const std::exception& exception) {
    messages.error(exception.what());
  }
  return Exit::error;
}

// Text that print_out gathered may fail as late as here: a full disk, a reader that has gone.
Exit close_stdout(Exit so_far, Messages& messages) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fclose(stdout) == 0 && !failed_before) return so_far;
  const int failed = errno;
  if (failed == EPIPE) return so_far;
  // A report that is lost must not look like a change that failed.
  messages.error(fmt::format(
      "standard output cannot be written: {}{}",
      failed == 0 ? "the system refused" : std::strerror(failed),
      last_saved().empty() ? "" : fmt::format("; {} was saved before that", last_saved())));
  return Exit::error;
}

// A standard descriptor that is closed would be taken by the first file that is opened, and our
// output would go into it. One that cannot be used makes the first use an error instead.
void occupy_closed_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    // The lowest free number is the one that is closed.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace
}  // namespace bloomery::cli

int main(int count, char** words) {
  // A write to a pipe without a reader shall be an error that we see, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  // Likewise a file that may not grow beyond `ulimit -f`.
  std::signal(SIGXFSZ, SIG_IGN);
  bloomery::cli::explain_bus_errors();
  bloomery::cli::occupy_closed_descriptors();
  bloomery::cli::Messages messages;
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  bloomery::cli::Exit exit = bloomery::cli::run_and_catch(arguments, messages);
  exit = bloomery::cli::close_stdout(exit, messages);
  return static_cast<int>(exit);
}
