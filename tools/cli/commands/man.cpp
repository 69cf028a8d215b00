// bloomery man: the manual page, in the language of man(7).
//
// Made from the same descriptions as --help, so that they cannot disagree.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include <tools/cli/flags/flag_facts.hpp>

#include "command.hpp"
#include "help.hpp"

namespace bloomery::cli {
namespace {

constexpr const char* story =
    R"(Prints the manual page, for all commands. Packages put it where `man bloomery`
finds it: share/man/man1/bloomery.1

Exit codes: 0 good, 2 error.

Examples:
  bloomery man | man -l -
)";

// So that no letter of the text is taken for a request: a point or an apostrophe at the begin of a
// line, a backslash, and the hyphens and quotes that are typed as they are.
std::string roff(std::string_view text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    line_begins = c == '\n';
    switch (c) {
      case '\\': safe += "\\e"; break;
      case '-': safe += "\\-"; break;
      case '\'': safe += "\\(aq"; break;
      case '`': safe += "\\(ga"; break;
      case '^': safe += "\\(ha"; break;
      case '~': safe += "\\(ti"; break;
      default: safe += c;
    }
  }
  return safe;
}

// A paragraph, in lines of a length that editors and the linter of man pages like.
std::string filled(std::string_view text) {
  constexpr std::size_t most = 72;
  std::string lines;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = roff(text.substr(at, end - at));
    const bool breaks = line > 0 && line + 1 + word.size() > most;
    if (line > 0) lines += breaks ? '\n' : ' ';
    line = breaks ? word.size() : line + 1 + word.size();
    lines += word;
    at = end + 1;
  }
  return lines;
}

// Lines as they are, broken where they are.
std::string as_typed(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  while (text.starts_with('\n')) text.remove_prefix(1);
  return fmt::format(".nf\n{}\n.fi\n", roff(text));
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }
std::string slanted(std::string_view text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string flag_text(const FlagFacts& flag) {
  std::string names;
  for (const std::string& name : flag.names()) names += (names.empty() ? "" : ", ") + bold(name);
  if (flag.value == FlagValue::needed) names += " " + slanted(flag.value_name);
  if (flag.value == FlagValue::optional) names += "[=" + slanted(flag.value_name) + "]";
  return fmt::format(".TP\n{}\n{}\n", names, filled(flag.description));
}

// A story has tables and examples between its paragraphs: all of it is kept as it is.
std::string command_text(const Command& command) {
  std::string text = fmt::format(".SS {}\n", roff(command.name));
  text += fmt::format("{}\n.PP\n{}\n", bold("bloomery " + command.usage), filled(command.summary));
  for (const FlagFacts& flag : flag_facts(command.flags)) text += flag_text(flag);
  return text + ".PP\n" + as_typed(command.story);
}

std::string page(const std::vector<Command>& commands) {
  std::string text = fmt::format(
      ".TH BLOOMERY 1 {} \"bloomery {}\"\n"
      ".SH NAME\nbloomery \\- have I seen this line before?\n"
      ".SH SYNOPSIS\n{} {} [{}] [{}...]\n"
      ".SH DESCRIPTION\n"
      "Bloom filters and bitmaps on the command line:\nbillions of lines in a few bits each.\n",
      BLOOMERY_DATE, BLOOMERY_VERSION, bold("bloomery"), slanted("COMMAND"), slanted("FLAGS"),
      slanted("FILE"));
  for (const Command& command : commands)
    text += fmt::format(".TP\n{}\n{}\n", bold(command.name), filled(command.summary));
  text += ".SH COMMANDS\n";
  for (const Command& command : commands) text += command_text(command);
  return text + ".SH CONVENTIONS\n" + as_typed(conventions());
}

}  // namespace

Command man_command(const std::vector<Command>& commands) {
  return {
      .name = "man",
      .summary = "the manual page",
      .usage = "man",
      .story = story,
      .run =
          [&commands](Messages&) {
            print_out(page(commands));
            return Exit::good;
          },
  };
}

}  // namespace bloomery::cli
