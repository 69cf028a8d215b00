#include "parser.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include <tools/cli/report/refuse.hpp>

#include "flag_facts.hpp"
#include "suggest.hpp"

namespace bloomery::cli {
namespace {

// What CLI11 is told about a flag, by where its value goes.
struct Tell {
  CLI::App& parser;
  const Flag& flag;

  void operator()(bool* into) const { parser.add_flag(flag.names, *into, flag.help); }
  void operator()(Word* into) const {
    CLI::Option* option = parser.add_option(flag.names, *into, flag.help);
    if (!flag.needs_value()) option->expected(0, 1);
  }
  void operator()(std::vector<std::string>* into) const {
    parser.add_option(flag.names, *into, flag.help)->expected(1)->take_all();
  }
  void operator()(HelpLength length) const {
    if (length == HelpLength::brief)
      parser.set_help_flag(flag.names, flag.help);
    else
      parser.set_help_all_flag(flag.names, flag.help);
  }
};

void tell_flags(CLI::App& parser, const Flags& flags) {
  parser.set_help_flag();
  // So that CLI11 collects them all; refuse_repeats() says which may come again.
  parser.option_defaults()->take_last();
  for (const Flag& flag : flags) std::visit(Tell{parser, flag}, flag.into);
  // CLI11 takes the value [a,b] of a flag that may come again for the two values a and b: a file or
  // a column that is called [a] could not be named, and another would be read in its place.
  for (CLI::Option* option : parser.get_options()) option->allow_extra_args(false);
}

// The sentence for an unknown flag, or nothing if CLI11 found something else.
std::string unknown_flag(const CLI::App& parser, const Flags& flags) {
  const std::string name = parser.get_name();
  const std::vector<std::string> unknown = parser.remaining();
  if (unknown.empty()) return "";
  std::vector<std::string> known;
  for (const FlagFacts& flag : flag_facts(flags))
    for (const std::string& long_name : flag.long_names) known.push_back("--" + long_name);
  const std::string flag = unknown.front().substr(0, unknown.front().find('='));
  return fmt::format("'{}' has no flag '{}'.{} 'bloomery {} -h' lists them", name, flag,
                     did_you_mean(flag, known), name);
}

// CLI11's own words are for programmers ("1 required TEXT missing").
std::string usage_sentence(const CLI::ParseError& error, const CLI::App& parser,
                           const Flags& flags) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    if (std::string sentence = unknown_flag(parser, flags); !sentence.empty()) return sentence;
  }
  const std::string text = error.what();
  const std::string name = parser.get_name();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return fmt::format("{} needs a value; 'bloomery {} -h' shows which",
                       text.substr(0, text.find(':')), name);
  return fmt::format("{}: {}; 'bloomery {} -h' shows the usage", name, text, name);
}

// A flag that takes one value is given once: it is unknown which of two was meant. Those whose
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

}  // namespace

std::optional<HelpLength> parse_flags(const std::string& command, const Flags& flags,
                                      std::vector<std::string> words) {
  CLI::App parser("", command);
  tell_flags(parser, flags);
  // As CLI11 likes them.
  std::reverse(words.begin(), words.end());
  try {
    parser.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return HelpLength::brief;
  } catch (const CLI::CallForAllHelp&) {
    return HelpLength::full;
  } catch (const CLI::ParseError& error) {
    refuse(usage_sentence(error, parser, flags));
  }
  refuse_repeats(parser);
  return std::nullopt;
}

}  // namespace bloomery::cli
