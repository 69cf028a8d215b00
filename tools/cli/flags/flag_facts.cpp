#include "flag_facts.hpp"

#include <CLI/App.hpp>
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

FlagFacts facts_of(const CLI::Option& option) {
  FlagFacts facts;
  facts.short_names = option.get_snames();
  facts.long_names = option.get_lnames();
  facts.description = option.get_description();
  if (option.get_items_expected_max() == 0) return facts;
  facts.value = option.get_items_expected_min() > 0 ? FlagValue::needed : FlagValue::optional;
  facts.value_name = option.get_type_name();
  facts.words = words_of(facts.value_name);
  facts.file = names_file(facts.value_name);
  facts.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return facts;
}

}  // namespace

std::vector<std::string> FlagFacts::names() const {
  std::vector<std::string> all;
  for (const std::string& name : short_names) all.push_back("-" + name);
  for (const std::string& name : long_names) all.push_back("--" + name);
  return all;
}

std::vector<FlagFacts> flag_facts(const CLI::App& parser) {
  const auto named = [](const CLI::Option* option) { return option->nonpositional(); };
  std::vector<FlagFacts> all;
  for (const CLI::Option* option : parser.get_options(named)) all.push_back(facts_of(*option));
  return all;
}

}  // namespace bloomery::cli
