#include "tally_flags.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include <tools/cli/report/refuse.hpp>
#include <tools/cli/report/units.hpp>

#include "dedup_flags.hpp"

namespace bloomery::cli {
namespace {

bool counts(const TallyFlags& flags) { return flags.count || flags.top; }

// The one that was given, as typed; empty: none.
std::string named(const TallyFlags& flags) {
  std::vector<std::string> given;
  if (flags.distinct) given.push_back("--distinct");
  if (counts(flags)) given.push_back(flags.count ? "--count" : "--top");
  if (flags.unique) given.push_back("--unique");
  if (flags.keep && *flags.keep != "first") given.push_back("--keep " + *flags.keep);
  if (given.size() > 1)
    refuse(fmt::format("{} and {} each say what is printed; give one of them", given[0], given[1]));
  return given.empty() ? "" : given[0];
}

void refuse_beside(bool given, const std::string& flag, std::string_view other,
                   std::string_view why) {
  if (given) refuse(fmt::format("{} cannot be used with {}: {}", flag, other, why));
}

}  // namespace

Flags tally_flags(TallyFlags& flags) {
  return {
      {"--distinct", "", "print only how many different lines there are, one number",
       &flags.distinct},
      {"-c,--count", "", "print how often each different line came: COUNT, a tab, the line",
       &flags.count},
      {"--top", "N", "count, and print the N most frequent, most frequent first", &flags.top},
      {"-u,--unique", "", "print only the lines that came exactly once", &flags.unique},
      {"--keep", "first|last",
       "which of equal lines is printed, in its place: the first (the default) or last",
       &flags.keep},
  };
}

std::optional<TallyRules> tallies_of(const TallyFlags& flags) {
  if (flags.keep && *flags.keep != "first" && *flags.keep != "last")
    refuse(fmt::format("--keep does not take '{}'; give first or last", *flags.keep));
  static_cast<void>(named(flags));
  if (counts(flags))
    return TallyRules{.print = TallyPrint::counts,
                      .top = flags.top ? parse_keys("--top", *flags.top).value() : 0};
  if (flags.unique) return TallyRules{.print = TallyPrint::once};
  if (flags.keep == "last") return TallyRules{.print = TallyPrint::last};
  return std::nullopt;
}

void expect_tallies(const DedupFlags& flags) {
  const bool exact = tallies_of(flags.tally).has_value();
  const std::string flag = named(flags.tally);
  if (flag.empty()) return;
  refuse_beside(flags.state.has_value(), flag, "--state",
                "a state remembers lines that were printed, and this is an answer about all lines "
                "of one run; leave --state out, or drop known lines with --against F");
  refuse_beside(flags.window.has_value(), flag, "--window",
                "a window forgets lines, and this is an answer about all of them");
  refuse_beside(flags.repeated, flag, "--repeated", "each says what is printed");
  refuse_beside(flags.dups.has_value(), flag, "--dups",
                "repeats are known at the end only; run dedup twice");
  const bool prints_lines = exact && !counts(flags.tally);
  refuse_beside(flags.in_place && !prints_lines, flag, "--in-place",
                "the file would be replaced by counts; use --output");
  refuse_beside(flags.in_place && flags.files.size() > 1, flag, "--in-place and several files",
                "a line of one file may come again in the next; give one file, or use --output");
  refuse_beside(exact && (flags.size.rate || flags.size.keys || flags.size.memory), flag,
                "--rate, --keys and --memory",
                "it is exact, and takes 35 to 46 bytes of memory for each different line");
}

}  // namespace bloomery::cli
