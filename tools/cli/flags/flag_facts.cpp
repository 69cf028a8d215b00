#include "flag_facts.hpp"

#include <algorithm>
#include <string_view>

#include "suggest.hpp"

namespace bloomery::cli {
namespace {

bool names_file(std::string_view value) {
  return value == "FILE" || value == "F" || value == "LIST";
}

// "a|b|c" are words; "N|24h" are examples, as capital letters show.
std::vector<std::string> words_of(const std::string& value) {
  if (value == "KIND") return kind_names();
  std::vector<std::string> words;
  const bool capitals =
      std::any_of(value.begin(), value.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (capitals || value.find('|') == std::string::npos) return words;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find('|', at), value.size());
    words.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// "-o,--output" --> o; output
void name(FlagFacts& facts, std::string_view names) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string_view one = names.substr(at, end - at);
    if (one.starts_with("--"))
      facts.long_names.emplace_back(one.substr(2));
    else
      facts.short_names.emplace_back(one.substr(1));
    at = end + 1;
  }
}

FlagFacts facts_of(const Flag& flag) {
  FlagFacts facts;
  name(facts, flag.names);
  facts.description = flag.help;
  if (flag.value.empty()) return facts;
  facts.value = flag.needs_value() ? FlagValue::needed : FlagValue::optional;
  facts.value_name = flag.value;
  if (!flag.needs_value()) facts.value_name = flag.value.substr(1, flag.value.size() - 2);
  facts.words = words_of(facts.value_name);
  facts.file = names_file(facts.value_name);
  facts.repeats = flag.repeats();
  return facts;
}

}  // namespace

std::vector<std::string> FlagFacts::names() const {
  std::vector<std::string> all;
  for (const std::string& name : short_names) all.push_back("-" + name);
  for (const std::string& name : long_names) all.push_back("--" + name);
  return all;
}

std::vector<FlagFacts> flag_facts(const Flags& flags) {
  std::vector<FlagFacts> all;
  for (const Flag& flag : flags) all.push_back(facts_of(flag));
  return all;
}

}  // namespace bloomery::cli
