#include "help.hpp"

#include <fmt/format.h>

#include <memory>

#include <tools/cli/flags/flag_facts.hpp>
#include <tools/cli/flags/suggest.hpp>

namespace bloomery::cli {
namespace {

constexpr std::size_t text_column = 27;
constexpr std::size_t last_column = 99;

// Words from `text_column` on, broken before `last_column`.
std::string wrapped(const std::string& head, const std::string& text) {
  std::string lines;
  std::string line = head;
  if (line.size() + 2 > text_column) {
    lines += line + "\n";
    line.clear();
  }
  line.resize(text_column, ' ');
  bool first_word = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!first_word && line.size() + 1 + word.size() > last_column) {
      lines += line + "\n";
      line.assign(text_column, ' ');
      first_word = true;
    }
    line += (first_word ? "" : " ") + word;
    first_word = false;
    at = end + 1;
  }
  return lines + line + "\n";
}

std::string flag_line(const FlagFacts& flag) {
  std::string names = flag.short_names.empty() ? "    " : "";
  for (const std::string& name : flag.names()) names += name + ", ";
  names.erase(names.find_last_not_of(", ") + 1);
  if (flag.value == FlagValue::needed) names += " " + flag.value_name;
  if (flag.value == FlagValue::optional) names += "[=" + flag.value_name + "]";
  return wrapped("  " + names, flag.description);
}

std::string flag_lines(const Flags& flags) {
  std::string lines;
  for (const FlagFacts& flag : flag_facts(flags)) lines += flag_line(flag);
  return lines;
}

constexpr std::string_view convention_text = R"(
Data goes to standard output, everything else to standard error.
FILE may be - for standard input, which is also read when no FILE is given.

Units: keys are decimal (10M = 10,000,000), memory is binary (2G = 2 GiB),
rates are 0.01, 1e-3, 0.1% or 1/1000.

Exit codes: 0 good, 1 nothing found, 2 error; 3, with --strict only, a set is
overfull, or half a line or more is probably lost or wrong.

Environment:
  NO_COLOR       no colours when set
  BLOOMERY_CPU   scalar, avx2, avx512 or neon: which kernels to use; all give the same answers
)";

constexpr const char* help_story =
    R"(Without a COMMAND it tells what `bloomery --help` does.

Exit codes: 0 good, 2 error.

Examples:
  bloomery help dedup
)";

}  // namespace

std::string command_help(const Command& command, HelpLength length) {
  std::string text = fmt::format("usage: bloomery {}\n\n{}\n\n{}", command.usage, command.summary,
                                 flag_lines(command.flags));
  if (length == HelpLength::full) text += "\n" + command.story;
  return text;
}

std::string program_help(std::span<const Command> commands, HelpLength length) {
  std::string text =
      "usage: bloomery COMMAND [FLAGS] [FILE...]\n\n"
      "Have I seen this line before? Bloom filters and bitmaps on the command line.\n\n";
  for (const Command& command : commands)
    text += fmt::format("  {:<11} {}\n", command.name, command.summary);
  text +=
      "\n'bloomery COMMAND -h' lists the flags of a command, '--help' or 'bloomery help COMMAND' "
      "explains it.\n";
  if (length == HelpLength::full) text += convention_text;
  return text;
}

std::string_view conventions() { return convention_text; }

std::string no_such_command(const std::string& word, std::span<const Command> commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return fmt::format("unknown command '{}'.{} 'bloomery -h' lists them", word,
                     did_you_mean(word, names));
}

Command help_command(const std::vector<Command>& commands) {
  auto words = std::make_shared<std::vector<std::string>>();
  const auto run = [words, &commands](Messages&) {
    if (words->size() > 1)
      refuse(fmt::format("unexpected argument '{}'; 'bloomery help COMMAND' explains one command",
                         words->at(1)));
    if (words->empty()) {
      print_out(program_help(commands, HelpLength::full));
      return Exit::good;
    }
    for (const Command& command : commands) {
      if (command.name != words->front()) continue;
      print_out(command_help(command, HelpLength::full));
      return Exit::good;
    }
    refuse(no_such_command(words->front(), commands));
  };
  return {
      .name = "help",
      .summary = "explain a command, as its --help does",
      .usage = "help [COMMAND]",
      .story = help_story,
      .operands = {.rest = words.get()},
      .run = run,
  };
}

}  // namespace bloomery::cli
