// What is told of matches that are probably false: by check, count and remove.
//
//    FalseMatches found;
//    found.add("seen.set", set, {lines, matched});        each set that was asked
//    found.of_all({lines, matched});                      what one of them matched
//    if (found.worth_telling()) messages.warning(...)
//
// If the set is wrong: this says how often, on average; it cannot say which lines.
// Limits:  see engines/dedup/expected_false.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/expected_false.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

// From half a line on it is told.
constexpr double told_from = 0.5;

class FalseMatches {
 public:
  struct OfSet {
    std::string name;
    double rate;
    double expected;
    bool overfull;
  };

  void add(const std::string& name, const AnySet& set, const AskedLines& asked);
  // Of a set whose rate was looked at before it changed.
  void add(const std::string& name, double rate, bool overfull, const AskedLines& asked);
  // Matches of any of them; call it after the last add().
  void of_all(const AskedLines& asked);

  double expected() const { return expected_; }
  bool worth_telling() const { return expected_ >= told_from; }
  const std::vector<OfSet>& each() const { return sets_; }

  // "seen.set has a false-positive rate of 56 %", or which of several passes most.
  std::string cause() const;
  // "build a larger set", "build it with a lower --rate"
  std::string advice() const;
  // "about 43,900", or "at most about" where keys of an allow list may be among the absent lines.
  std::string about() const;

 private:
  const OfSet& worst() const;

  std::vector<OfSet> sets_;
  JointRate joint_;
  double expected_ = 0;
  bool at_most_ = false;
};

}  // namespace bloomery::cli
