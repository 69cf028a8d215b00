#include "operands.hpp"

#include <fmt/format.h>

#include <string_view>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {
namespace {

// A value that may be left out is given as --flag=VALUE only; the next word is another word.
bool takes_value(const Flag* flag) { return flag != nullptr && flag->needs_value(); }

// Whether the value of the flag (or of the last of several short ones, as in -fo) is the next word.
bool value_follows(std::string_view word, const Flags& flags) {
  if (word.starts_with("--"))
    return word.find('=') == std::string_view::npos && takes_value(find_flag(flags, word));
  for (std::size_t i = 1; i < word.size(); ++i) {
    // What follows in the same word is the value.
    if (takes_value(find_flag(flags, std::string{'-', word[i]}))) return i + 1 == word.size();
  }
  return false;
}

[[noreturn]] void refuse_missing(const std::string& name, const std::string& command) {
  refuse(fmt::format("{0}: {1} is required; 'bloomery {0} -h' shows the usage", command, name));
}

}  // namespace

Operands Operands::after(Single first, Operands more) {
  more.needed.push_back(std::move(first));
  return more;
}

void Operands::take(std::span<const std::string> words, const std::string& command) const {
  for (const Single& single : needed) {
    if (unless != nullptr && !unless->empty()) break;
    if (words.empty()) refuse_missing(single.name, command);
    *single.into = words.front();
    words = words.subspan(1);
  }
  if (!needed_rest.empty() && words.empty()) refuse_missing(needed_rest, command);
  if (rest != nullptr)
    rest->assign(words.begin(), words.end());
  else if (!words.empty())
    refuse(fmt::format("unexpected argument '{}' for '{}'; 'bloomery {} -h' shows the usage",
                       words.front(), command, command));
}

Words split_words(std::span<char*> words, const Flags& flags) {
  Words split;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      split.operands.insert(split.operands.end(), words.begin() + static_cast<long>(i) + 1,
                            words.end());
      break;
    }
    if (word.size() < 2 || word.front() != '-') {
      split.operands.emplace_back(word);
      continue;
    }
    split.flags.emplace_back(word);
    if (value_follows(word, flags) && i + 1 < words.size()) split.flags.emplace_back(words[++i]);
  }
  return split;
}

}  // namespace bloomery::cli
