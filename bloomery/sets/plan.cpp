#include <bloomery/detail/sets/plan.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/hash/real.hpp>

namespace bloomery::inline v0::detail {

Result<void> check_keys_and_rate(const Want& want) {
  if (want.keys == 0)
    return Error{Code::impossible, "a set for 0 keys holds nothing; ask for at least 1 key"};
  if (want.keys > (std::uint64_t{1} << 50))
    return Error{Code::impossible, std::to_string(want.keys) +
                                       " keys are more than 64-bit hashes can tell apart at any "
                                       "useful rate; the limit is 2^50"};
  // Written so that NaN fails too.
  if (!(want.rate >= plan::lowest_rate && want.rate <= plan::highest_rate))
    return Error{Code::impossible, "a rate of " + shown_rate(want.rate) +
                                       " is not between 1e-12 and 0.5; 0.01 means one false "
                                       "positive in a hundred absent keys"};
  return {};
}

Result<void> check_range(const Range& range, unsigned widest) {
  const std::string text = std::to_string(range.low) + ".." + std::to_string(range.high);
  if (range.high < range.low)
    return Error{Code::impossible, "the range " + text + " ends before it begins"};
  if (range.high - range.low >= std::uint64_t{1} << widest)
    return Error{Code::impossible, "the range " + text + " holds more than 2^" +
                                       std::to_string(widest) + " integers: too wide for a map"};
  return {};
}

Result<void> check_length(std::string_view kind, std::uint64_t shape_bytes,
                          std::uint64_t payload_bytes) {
  if (payload_bytes == shape_bytes) return {};
  return Error{Code::damaged, "a " + std::string(kind) + " set of this shape has " +
                                  std::to_string(shape_bytes) + " bytes, not " +
                                  std::to_string(payload_bytes)};
}

namespace plan {

double line_bit_spared(unsigned probes) {
  // A full round spares a bit unless its lane picks it: 63 / 64. A last round of r probes comes to
  // the lane with chance r / 8 first.
  const double full = probes / 8;
  const double last = probes % 8;
  return real::pow(63.0 / 64.0, full) * (1.0 - last / 512.0);
}

namespace {

double power(double base, unsigned exponent) {
  double result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

struct BlockRate {
  double rate;
  double rise;  // of the rate, by the mean
};

// The mean of f(j) over Poisson(mean) chances of j keys in a block, where f(j) is the chance that
// all the bits of an absent key are set: (1 - spared^j)^probes. poisson_mean() with f worked out
// from f of the neighbour: no logarithm a term, which makes it some ten times as fast. The
// derivative by the mean is the mean of f(j + 1) - f(j).
BlockRate block_rate(double mean, double spared, unsigned probes) {
  const double log_spared = real::log(spared);
  if (mean > 1e6) return {power(-real::expm1(mean * log_spared), probes), 0};
  const double mode = std::floor(mean);
  const double peak = mean > 0 ? real::exp(mode * real::log(mean) - mean - log_factorial(mode)) : 1;
  const double left_at_mode = real::exp(mode * log_spared);  // spared^j: bits that are not set
  const double at_mode = mode == 0 ? 0 : power(1 - left_at_mode, probes);
  double rate = 0;
  double shifted = 0;  // the mean of f(j + 1)
  double chance = peak;
  double left = left_at_mode;
  double here = at_mode;
  for (double j = mode; chance > 1e-18 * rate && chance > 1e-30;) {
    left *= spared;
    const double next = power(1 - left, probes);
    rate += chance * here;
    shifted += chance * next;
    here = next;
    chance *= mean / ++j;
  }
  chance = peak;
  left = left_at_mode;
  double next = at_mode;
  const double back = 1 / spared;
  for (double j = mode; j > 0 && chance * next > 1e-18 * rate;) {
    chance *= j / mean;
    left *= back;
    here = --j == 0 ? 0 : power(1 - left, probes);
    rate += chance * here;
    shifted += chance * next;
    next = here;
  }
  return {rate, shifted - rate};
}

// Rates from which on, downwards, one probe more lets a line hold more keys, and how many it holds
// there: 1 probe from the first, 2 from the second, ... 16 down to the last. plan_test compares all
// this with a search over every number of probes.
struct BestBelow {
  double rate;
  double mean;
};
constexpr BestBelow best_below[] = {
    {0.5, 354.891},
    {0.38092098238101207, 245.515},
    {0.18272260764377102, 142.390},
    {0.088279608834198026, 99.835},
    {0.042245028889257276, 76.2217},
    {0.019875990571345634, 61.0475},
    {0.0091464838091772586, 50.3831},
    {0.0040988848384929206, 42.4211},
    {0.0020901256940906426, 37.3084},
    {0.00088344692082778997, 32.1572},
    {0.00036024117845543383, 27.9137},
    {0.00014136305950274673, 24.3499},
    {5.3274854219788036e-05, 21.3119},
    {1.9251259113232863e-05, 18.6920},
    {6.6626519444132199e-06, 16.4125},
    {2.2068790274881216e-06, 14.4159},
    {1e-12, 2.55276},
};
static_assert(std::size(best_below) == max_line_probes + 1);

unsigned best_probes(double rate) {
  unsigned probes = 1;
  while (probes < max_line_probes && rate <= best_below[probes].rate) ++probes;
  return probes;
}

// How many keys a line holds at this rate: Newton's method on logarithms, from a straight line
// between the rows above. Then the search among lines per key that earlier versions made, step by
// step, without working out a rate at each: sets that were planned alike must have equal shapes.
double mean_at(double rate, unsigned probes) {
  const BestBelow& from = best_below[probes - 1];
  const BestBelow& to = best_below[probes];
  const double slope = real::log(to.mean / from.mean) / real::log(to.rate / from.rate);
  const double spared = line_bit_spared(probes);
  double mean = from.mean * real::pow(rate / from.rate, slope);
  for (int round = 0; round < 20; ++round) {
    const BlockRate now = block_rate(mean, spared, probes);
    const double step = real::log(now.rate / rate) * now.rate / (now.rise * mean);
    mean *= real::exp(-step);
    if (std::abs(step) < 1e-7) break;  // the next one would be the square of it
  }
  return 1 / smallest(1e-4, 4, [&](double lines) { return lines * mean >= 1; });
}

}  // namespace

double line_rate(double mean, unsigned probes) {
  return block_rate(mean, line_bit_spared(probes), probes).rate;
}

FullestLine fullest_line(double rate, unsigned most_probes) {
  const unsigned probes = std::min(best_probes(rate), most_probes);
  FullestLine best{probes, mean_at(rate, probes)};
  // Next to a row of the table the last digits decide; the fewer probes win a tie.
  const double& fewer_from = best_below[probes - 1].rate;
  if (probes > 1 && rate > fewer_from * (1 - 1e-6)) {
    const double mean = mean_at(rate, probes - 1);
    if (mean >= best.mean) best = {probes - 1, mean};
  }
  if (probes < most_probes && rate < best_below[probes].rate * (1 + 1e-6)) {
    const double mean = mean_at(rate, probes + 1);
    if (mean > best.mean) best = {probes + 1, mean};
  }
  return best;
}

double split_rate(double mean) { return block_rate(mean, 31.0 / 32.0, 8).rate; }

}  // namespace plan
}  // namespace bloomery::inline v0::detail
