// How many of a set's matches are probably false, computed from the lines that were absent.
//
//    lines asked = members + nonmembers a member always matches absent = nonmembers * (1 - rate) a
//    nonmember matches at the false-positive rate false = nonmembers * rate = absent * rate / (1 -
//    rate)
//
// No member is ever absent, so the absent lines alone tell how many nonmembers there were.
// Limits:  an expectation over different lines. A line that is asked again gets the same answer
//          again, so with repeats the true number is further away from it. Keys of an allow list,
//          which never match, count as nonmembers: with them it is an upper bound.
// Threads: any number.
// See:     tests/engines/expected_false_test.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bloomery::inline v0::detail {

// Lines that have a key, and those of them that matched.
struct AskedLines {
  std::uint64_t lines = 0;
  std::uint64_t matched = 0;
  std::uint64_t absent() const { return lines - matched; }
};

// Above this rate few nonmembers are found absent, and how many is mostly chance. So one more
// absent line is assumed, which is the mean if all numbers of nonmembers are equally likely.
inline constexpr double crowded_rate = 0.5;

inline double expected_false(const AskedLines& asked, double rate) {
  const auto matched = static_cast<double>(asked.matched);
  if (asked.matched == 0 || rate <= 0) return 0;
  // Written so that a rate that is not a number is the worst one.
  if (!(rate < 1)) return matched;
  const double absent = static_cast<double>(asked.absent()) + (rate < crowded_rate ? 0 : 1);
  return std::min(matched, absent * rate / (1 - rate));
}

// The rate at which at least one of several sets matches a nonmember: 1 - prod(1 - r).
class JointRate {
 public:
  void join(double rate) { stopped_ += std::log1p(-std::min(rate, 1.0)); }
  double rate() const { return -std::expm1(stopped_); }

 private:
  double stopped_ = 0;  // logarithm of the chance that no set passes it
};

}  // namespace bloomery::inline v0::detail
