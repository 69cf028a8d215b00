#include "false_matches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <tools/cli/sets/set_file.hpp>

#include "units.hpp"

namespace bloomery::cli {
namespace {

// The rate from the bits, where that can matter: counting them reads the whole set, or a part of
// it from a server. The formula is for the keys that were added, and wrong where a server was not
// told of some, or where an overfull set took new keys for old ones.
double rate_of(const AnySet& set, const AskedLines& asked) {
  if (set.exact() || asked.matched == 0) return 0;
  const double formula = set.expected_rate_now();
  if (set.overfull()) return measured(set).rate_now();
  if (asked.absent() == 0) return formula;
  constexpr double surely_little = told_from / 1000;
  if (!set.shared() && expected_false(asked, formula) < surely_little) return formula;
  return measured(set).rate_now();
}

}  // namespace

void FalseMatches::add(const std::string& name, const AnySet& set, const AskedLines& asked) {
  add(name, rate_of(set, asked), set.overfull(), asked);
  at_most_ |= set.lists().has_value();
}

void FalseMatches::add(const std::string& name, double rate, bool overfull,
                       const AskedLines& asked) {
  joint_.join(rate);
  sets_.push_back({name, rate, expected_false(asked, rate), overfull});
}

void FalseMatches::of_all(const AskedLines& asked) {
  expected_ = expected_false(asked, joint_.rate());
}

const FalseMatches::OfSet& FalseMatches::worst() const {
  return *std::max_element(sets_.begin(), sets_.end(), [](const OfSet& one, const OfSet& other) {
    return one.rate < other.rate;
  });
}

std::string FalseMatches::cause() const {
  return fmt::format("{} has a false-positive rate of {}{}", worst().name, print_rate(worst().rate),
                     sets_.size() > 1 ? ", more than the other sets" : "");
}

std::string FalseMatches::about() const {
  return (at_most_ ? "at most about " : "about ") + print_about(expected_);
}

std::string FalseMatches::advice() const {
  return worst().overfull ? "it is overfull: build a larger set" : "build it with a lower --rate";
}

}  // namespace bloomery::cli
