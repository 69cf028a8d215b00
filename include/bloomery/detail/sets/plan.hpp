// The mathematics of planning: from what the user wants to a size, and back.
//
// n keys, m bits, k probes, p the false-positive rate:
//
//    classic    m = -n ln p / ln^2 2      k = m/n ln 2      p = (1 - e^(-kn/m))^k
//    blocked    the number j of keys in a block is Poisson(n / blocks) distributed, and p is the
//               mean over j. The classic formula gives too low a rate there: at 10 bits a key and
//               1 % most false positives come from the fullest blocks.
//
// Limits: rates from 1e-12 to 0.5; below that the 64 bits of a hash are the limit, above it a set
//         is not worth its bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>

#include <bloomery/detail/hash/real.hpp>
#include <bloomery/error.hpp>
#include <bloomery/want.hpp>

namespace bloomery::inline v0::detail {

// Refuses keys and rates that no approximate set can have; the sentence says what to write.
Result<void> check_keys_and_rate(const Want& want);
// A rate as a sentence names it, in the fewest digits that are the same number. A file of its own:
// where std::to_chars of a double brings 100 KB of tables, a program has another.
std::string shown_rate(double rate);
// Refuses ranges that end before they begin or hold more than 2^widest integers.
Result<void> check_range(const Range& range, unsigned widest);
// Refuses a payload that is not just as long as the shape says; `kind` names it in the sentence.
Result<void> check_length(std::string_view kind, std::uint64_t shape_bytes,
                          std::uint64_t payload_bytes);

namespace plan {

inline constexpr double ln2 = std::numbers::ln2;
inline constexpr double lowest_rate = 1e-12;
inline constexpr double highest_rate = 0.5;

// From so many units (lines, blocks) on a multiple of 16, so that a set can be folded in half four
// times (sets/fold.hpp).
inline constexpr std::uint64_t foldable(std::uint64_t units, std::uint64_t from = 256) {
  return units < from ? units : (units + 15) / 16 * 16;
}

inline double classic_bits(double keys, double rate) {
  return -keys * real::log(rate) / (ln2 * ln2);
}

inline double classic_rate(double keys, double bits, double probes) {
  return real::pow(-real::expm1(-probes * keys / bits), probes);
}

// ln(n!) by Stirling's series, exact to 1e-9 from 20 on. Not std::lgamma, which writes to a global
// variable and so is a race between two threads that plan.
inline double log_factorial(double n) {
  double sum = 0;
  for (; n < 20; ++n) sum -= real::log(n + 1);
  return sum + n * real::log(n) - n + 0.5 * real::log(2 * std::numbers::pi * n) + 1 / (12 * n) -
         1 / (360 * n * n * n);
}

// The mean of f(j) over Poisson(mean) chances of j, summed outwards from the likeliest j until the
// rest cannot matter: f(j) <= 1, and rates down to 1e-12 need about ten spreads.
template <class F>
double poisson_mean(double mean, F&& f) {
  if (mean > 1e6) return f(mean);  // the spread is below a thousandth there
  const double mode = std::floor(mean);
  const double peak = mean > 0 ? real::exp(mode * real::log(mean) - mean - log_factorial(mode)) : 1;
  double sum = peak * f(mode);
  double chance = peak;
  for (double j = mode + 1; chance > 1e-22; ++j) {
    chance *= mean / j;
    sum += chance * f(j);
  }
  chance = peak;
  for (double j = mode; j > 0 && chance > 1e-22; --j) {
    chance *= j / mean;
    sum += chance * f(j - 1);
  }
  return sum;
}

// The rate of one 512-bit line with k probes (block.hpp), with `mean` keys in a line.
double line_rate(double mean, unsigned probes);
// The chance that one key leaves a given bit of its line alone.
double line_bit_spared(unsigned probes);
struct FullestLine {
  unsigned probes;
  double mean;  // keys in a line
};
// The number of probes, at most `most_probes`, with which a line can hold the most keys at this
// rate, and how many.
FullestLine fullest_line(double rate, unsigned most_probes);
// The rate of a 256-bit split block, with `mean` keys in a block.
double split_rate(double mean);

// The smallest x in [low, high] with holds(x), for a condition that stays true once it is.
template <class Holds>
double smallest(double low, double high, Holds&& holds) {
  for (int step = 0; step < 64 && high - low > 1e-9 * high; ++step) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace plan

// Fills in what the want leaves open for this kind, from its memory: any two of keys, rate and
// memory give the third. All three given: memory is a cap. Kinds that are planned from a range
// take the want as it is.
template <class K>
Result<Want> complete(Want want) {
  if (want.memory_bytes == 0 || want.range.given()) return want;
  const auto fits = [&](const Want& tried) {
    const auto shape = K::plan(tried);
    return shape && K::bytes(*shape) <= want.memory_bytes;
  };
  if (want.keys == 0 && want.rate == 0)
    return Error{Code::impossible,
                 "memory alone does not define a set; give keys or a rate with it"};
  if (want.keys == 0) {
    // The most keys that fit: bisect between 1 and one per bit, or 2^50, which is the limit anyway.
    std::uint64_t low = 0;
    std::uint64_t high = std::min(want.memory_bytes, std::uint64_t{1} << 47) * 8;
    while (low < high) {
      Want tried = want;
      tried.keys = high - (high - low) / 2;
      if (fits(tried))
        low = tried.keys;
      else
        high = tried.keys - 1;
    }
    want.keys = low;
    if (low == 0) return Error{Code::impossible, "no key fits that memory at this rate"};
  } else if (want.rate == 0) {
    // The lowest rate that fits. Bytes need not fall steadily as the rate rises (blocked takes one
    // line instead of two at 1e-4), so step up from the lowest and bisect the first step that fits.
    const auto rate_fits = [&](double log_rate) {
      Want tried = want;
      tried.rate = real::exp(log_rate);
      return fits(tried);
    };
    const double highest = real::log(plan::highest_rate);
    double low = real::log(plan::lowest_rate);
    double high = low;
    while (high < highest && !rate_fits(high)) {
      low = high;
      high = std::min(highest, high + 0.25);
    }
    want.rate = std::min(plan::highest_rate, real::exp(plan::smallest(low, high, rate_fits)));
  }
  if (!fits(want))
    return Error{Code::impossible, "that many keys at that rate do not fit that memory"};
  return want;
}

}  // namespace bloomery::inline v0::detail
