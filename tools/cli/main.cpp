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

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/error.hpp>

#include <tools/cli/commands/command.hpp>
#include <tools/cli/commands/help.hpp>
#include <tools/cli/flags/operands.hpp>
#include <tools/cli/flags/parser.hpp>
#include <tools/cli/flags/suggest.hpp>
#include <tools/cli/report/messages.hpp>
#include <tools/cli/sets/mapped_set.hpp>
#include <tools/cli/sets/set_file.hpp>

namespace bloomery::cli {
namespace {

void name_commands(std::vector<Command>& commands) {
  commands.push_back(dedup_command());
  commands.push_back(build_command());
  commands.push_back(add_command());
  commands.push_back(remove_command());
  commands.push_back(check_command());
  commands.push_back(count_command());
  commands.push_back(plan_command());
  commands.push_back(info_command());
  commands.push_back(merge_command());
  commands.push_back(fold_command());
  commands.push_back(verify_command());
  commands.push_back(seal_command());
  commands.push_back(unseal_command());
  commands.push_back(serve_command());
  commands.push_back(ints_command());
  commands.push_back(bench_command());
  commands.push_back(help_command(commands));
  commands.push_back(completions_command(commands));
  commands.push_back(man_command(commands));
  for (Command& command : commands) {
    command.flags.push_back({"-h", "", "this text", HelpLength::brief});
    command.flags.push_back(
        {"--help", "", "more: how it works, exit codes, examples", HelpLength::full});
  }
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

bool asks_help(std::span<char*> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const char* word) {
    return std::strcmp(word, "-h") == 0 || std::strcmp(word, "--help") == 0;
  });
}

Exit run_command(const Command& command, std::span<char*> arguments, Messages& messages) {
  // Its flags are not known here, so that none is refused before it.
  if (!command.absent.empty() && !asks_help(arguments)) refuse(command.absent);
  Words words = split_words(arguments, command.flags);
  if (const auto help = parse_flags(command.name, command.flags, std::move(words.flags))) {
    print_out(command_help(command, *help));
    return Exit::good;
  }
  command.operands.take(words.operands, command.name);
  if (const char* refused = kernels_refused()) refuse(refused);
  const Exit exit = command.run(messages);
  expect_mapped_unchanged();
  return exit;
}

Exit run(std::span<char*> arguments, Messages& messages) {
  std::vector<Command> commands;
  name_commands(commands);
  if (arguments.size() < 2) {
    messages.plain(program_help(commands, HelpLength::brief));
    return Exit::error;
  }
  const std::string first = arguments[1];
  if (first == "--version" || first == "-V" || first == "-h" || first == "--help")
    return answer_program_flags(first, commands);
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& one) { return one.name == first; });
  if (command == commands.end()) return refuse_first_word(first, commands, messages);
  return run_command(*command, arguments.subspan(2), messages);
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

std::atomic<bool> memory_was_refused{false};
std::terminate_handler end_otherwise = std::abort;

// As without a handler, but noted.
void refuse_memory() {
  memory_was_refused = true;
  throw std::bad_alloc();
}

// Functions of other libraries that must not throw end the program when memory is refused:
// simdjson, while it looks for its kernels. Nothing has been written by then that has a name. Such
// an exception is either caught already or still on its way.
[[noreturn]] void end_without_memory() {
  const bool thrown = std::current_exception() != nullptr || std::uncaught_exceptions() > 0;
  if (!memory_was_refused || !thrown) end_otherwise();
  constexpr std::string_view sentence =
      "bloomery: error: the system does not give that much memory\n";
  static_cast<void>(!write(STDERR_FILENO, sentence.data(), sentence.size()));
  _exit(static_cast<int>(Exit::error));
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
  // A write to a pipe without a reader must be an error that we see, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  // Likewise a file that may not grow beyond `ulimit -f`.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(bloomery::cli::refuse_memory);
  bloomery::cli::end_otherwise = std::set_terminate(bloomery::cli::end_without_memory);
  bloomery::cli::explain_bus_errors();
  bloomery::cli::occupy_closed_descriptors();
  bloomery::cli::Messages messages;
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  bloomery::cli::Exit exit = bloomery::cli::run_and_catch(arguments, messages);
  exit = bloomery::cli::close_stdout(exit, messages);
  return static_cast<int>(exit);
}
