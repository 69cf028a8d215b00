// bloomery completions: what a shell needs to complete the words of a command line.
//
// Made from the same descriptions as --help, so that they cannot disagree: the commands, the flags
// of each, the words that a flag takes (kinds, formats), names of files elsewhere.
// See:     completions_test.py, which asks the shells themselves.
#include <fmt/format.h>

#include <memory>

#include <tools/cli/flags/flag_facts.hpp>
#include <tools/cli/flags/suggest.hpp>

#include "command.hpp"

namespace bloomery::cli {
namespace {

using Commands = std::vector<Command>;

constexpr const char* story =
    R"(Prints a script for the shell. Packages put it where the shell finds it:
  bash   share/bash-completion/completions/bloomery
  zsh    share/zsh/site-functions/_bloomery
  fish   share/fish/vendor_completions.d/bloomery.fish

Exit codes: 0 good, 2 error.

Examples:
  source <(bloomery completions bash)        # in ~/.bashrc
  source <(bloomery completions zsh)         # in ~/.zshrc, after compinit
  bloomery completions fish > ~/.config/fish/completions/bloomery.fish
)";

// What may stand where no flag is: words for the first, or file names, or nothing.
std::vector<std::string> operand_words(const Command& command) {
  const auto& needed = command.operands.needed;
  return needed.empty() ? std::vector<std::string>() : needed.front().words;
}

bool takes_files(const Command& command) {
  if (command.operands.rest != nullptr) return true;
  const auto& needed = command.operands.needed;
  return !needed.empty() && needed.front().words.empty();
}

// Inside '...', for bash and zsh.
std::string quoted_for_sh(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted;
}

std::vector<std::string> names_of(const Commands& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

// -- bash -----------------------------------------------------------------------------------------

constexpr std::string_view bash_head = R"(# bash completion for bloomery; needs nothing but bash.
_bloomery() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} flags= valued= values= operand= rest=@nothing
  COMPREPLY=()
  # bash takes --flag=value for three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";

constexpr std::string_view bash_tail = R"(  esac
  if [[ -z $values && $cur == -* ]]; then
    values=$flags
  elif [[ -z $values ]]; then
    values=$rest
    if [[ -n $operand ]]; then
      values=$operand
      local i word
      for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ " $valued " == *" $word "* ]]; then
          ((i++))
          [[ ${COMP_WORDS[i]} == = ]] && ((i++))
        elif [[ $word != -?* ]]; then
          values=$rest
        fi
      done
    fi
  fi
  case $values in
    @files) ;; # what bash completes by itself
    @nothing) compopt +o default 2>/dev/null ;;
    *)
      compopt +o default 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
      ;;
  esac
} && complete -o default -F _bloomery bloomery
)";

std::string bash_values(const FlagFacts& flag) {
  if (flag.file) return "@files";
  if (flag.words.empty()) return "@nothing";
  return fmt::format("'{}'", fmt::join(flag.words, " "));
}

std::string bash_command(const Command& command) {
  std::vector<std::string> names;
  std::vector<std::string> valued;
  std::string cases;
  for (const FlagFacts& flag : flag_facts(command.flags)) {
    for (const std::string& name : flag.names()) names.push_back(name);
    if (flag.value != FlagValue::needed) continue;
    for (const std::string& name : flag.names()) valued.push_back(name);
    cases += fmt::format("        {}) values={} ;;\n", fmt::join(flag.names(), " | "),
                         bash_values(flag));
  }
  std::string text =
      fmt::format("    {})\n      flags='{}'\n", command.name, fmt::join(names, " "));
  if (!valued.empty()) text += fmt::format("      valued='{}'\n", fmt::join(valued, " "));
  if (const auto words = operand_words(command); !words.empty())
    text += fmt::format("      operand='{}'\n", fmt::join(words, " "));
  if (takes_files(command)) text += "      rest=@files\n";
  if (!cases.empty()) text += "      case $prev in\n" + cases + "      esac\n";
  return text + "      ;;\n";
}

std::string bash_script(const Commands& commands) {
  std::string text(bash_head);
  text += fmt::format("  if ((COMP_CWORD == 1)); then\n    command=\n    rest='{}'\n  fi\n",
                      fmt::join(names_of(commands), " "));
  text += "  case $command in\n    '') flags='-h --help -V --version' ;;\n";
  for (const Command& command : commands) text += bash_command(command);
  return text + std::string(bash_tail);
}

// -- zsh ------------------------------------------------------------------------------------------

constexpr std::string_view zsh_head = R"(#compdef bloomery
# zsh completion for bloomery.
_bloomery() {
  local context state state_descr line
  local -a commands
  typeset -A opt_args
  _arguments -C \
    '(- *)-h[the commands]' \
    '(- *)--help[the commands and the conventions]' \
    '(- *)'{-V,--version}'[the version]' \
    '1:command:->command' \
    '*::argument:->argument'
  case $state in
    command)
      commands=(
)";

constexpr std::string_view zsh_tail = R"(      esac
      ;;
  esac
}

# Found by its name on fpath, or sourced.
if [[ $funcstack[1] == _bloomery ]]; then
  _bloomery "$@"
else
  compdef _bloomery bloomery
fi
)";

std::string zsh_description(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "[" + quoted_for_sh(escaped) + "]";
}

std::string zsh_action(const FlagFacts& flag) {
  if (flag.file) return "_files";
  return flag.words.empty() ? " " : fmt::format("({})", fmt::join(flag.words, " "));
}

// '(-o --output)'{-o+,--output=}'[the set file to make]:F:_files'
std::string zsh_flag(const FlagFacts& flag) {
  std::vector<std::string> names;
  const bool needed = flag.value == FlagValue::needed;
  for (const std::string& name : flag.short_names)
    names.push_back("-" + name + (needed ? "+" : ""));
  for (const std::string& name : flag.long_names)
    names.push_back("--" + name + (needed ? "=" : flag.value == FlagValue::optional ? "=-" : ""));
  const std::string before = flag.repeats ? "*" : fmt::format("({})", fmt::join(flag.names(), " "));
  const std::string between =
      names.size() == 1 ? names.front() : fmt::format("'{{{}}}'", fmt::join(names, ","));
  std::string after = zsh_description(flag.description);
  if (needed) after += fmt::format(":{}:{}", flag.value_name, zsh_action(flag));
  if (flag.value == FlagValue::optional) after += fmt::format("::{}: ", flag.value_name);
  return fmt::format("            '{}{}{}' \\\n", before, between, after);
}

std::string zsh_command(const Command& command) {
  std::string text = fmt::format("        {})\n          _arguments -s -S \\\n", command.name);
  for (const FlagFacts& flag : flag_facts(command.flags)) text += zsh_flag(flag);
  const auto words = operand_words(command);
  if (!words.empty())
    text += fmt::format("            '1:{}:({})' \\\n", command.operands.needed.front().name,
                        fmt::join(words, " "));
  if (takes_files(command)) text += "            '*:FILE:_files' \\\n";
  // Ends the list, whatever its last line.
  return text + "            && return 0\n          ;;\n";
}

std::string zsh_script(const Commands& commands) {
  std::string text(zsh_head);
  for (const Command& command : commands)
    text += fmt::format("        '{}:{}'\n", command.name, quoted_for_sh(command.summary));
  text += "      )\n      _describe command commands\n      ;;\n    argument)\n";
  text += "      case $line[1] in\n";
  for (const Command& command : commands) text += zsh_command(command);
  return text + std::string(zsh_tail);
}

// -- fish -----------------------------------------------------------------------------------------

constexpr std::string_view fish_head = R"(# fish completion for bloomery.
# Which command is it? A file of that name further on is not one.
function __bloomery_command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end
function __bloomery_first
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test $words[2] = $argv[1]
end
function __bloomery_none
    test (count (commandline -opc)) -eq 1
end
complete -c bloomery -f
complete -c bloomery -n __bloomery_none -s h -d 'the commands'
complete -c bloomery -n __bloomery_none -l help -d 'the commands and the conventions'
complete -c bloomery -n __bloomery_none -s V -l version -d 'the version'
)";

std::string quoted_for_fish(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string fish_flag(const std::string& command, const FlagFacts& flag) {
  std::string text = fmt::format("complete -c bloomery -n '__bloomery_command {}'", command);
  for (const std::string& name : flag.short_names) text += " -s " + name;
  for (const std::string& name : flag.long_names) text += " -l " + name;
  if (flag.value == FlagValue::needed) {
    text += flag.file ? " -r -F" : " -x";
    if (!flag.words.empty()) text += fmt::format(" -a '{}'", fmt::join(flag.words, " "));
  }
  return text + fmt::format(" -d '{}'\n", quoted_for_fish(flag.description));
}

std::string fish_script(const Commands& commands) {
  std::string text(fish_head);
  for (const Command& command : commands) {
    const std::string name = command.name;
    text += fmt::format("complete -c bloomery -n __bloomery_none -a {} -d '{}'\n", name,
                        quoted_for_fish(command.summary));
    if (const auto words = operand_words(command); !words.empty())
      text += fmt::format("complete -c bloomery -n '__bloomery_first {}' -a '{}'\n", name,
                          fmt::join(words, " "));
    if (takes_files(command))
      text += fmt::format(
          "complete -c bloomery -n '__bloomery_command {0}{1}' -F\n", name,
          operand_words(command).empty() ? "" : fmt::format("; and not __bloomery_first {}", name));
    for (const FlagFacts& flag : flag_facts(command.flags)) text += fish_flag(name, flag);
  }
  return text;
}

const std::vector<std::string>& shells() {
  static const std::vector<std::string> names = {"bash", "zsh", "fish"};
  return names;
}

Exit run(const std::string& shell, const Commands& commands) {
  if (shell == "bash") {
    print_out(bash_script(commands));
  } else if (shell == "zsh") {
    print_out(zsh_script(commands));
  } else if (shell == "fish") {
    print_out(fish_script(commands));
  } else {
    refuse(fmt::format("unknown shell '{}'.{} The shells are bash, zsh and fish", shell,
                       did_you_mean(shell, shells())));
  }
  return Exit::good;
}

}  // namespace

Command completions_command(const std::vector<Command>& commands) {
  auto shell = std::make_shared<std::string>();
  return {
      .name = "completions",
      .summary = "words for a shell to complete",
      .usage = "completions bash|zsh|fish",
      .story = story,
      .operands = Operands::after({"SHELL", shell.get(), shells()}, {}),
      .run = [shell, &commands](Messages&) { return run(*shell, commands); },
  };
}

}  // namespace bloomery::cli
