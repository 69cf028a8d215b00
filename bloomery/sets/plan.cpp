#include <bloomery/sets/plan.hpp>

#include <charconv>
#include <string>
#include <system_error>

namespace bloomery {
namespace {

std::string text_of(double rate) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, rate);
  return error == std::errc{} ? std::string(text, end) : "?";
}

}  // namespace

Result<void> check_keys_and_rate(const Want& want) {
  if (want.keys == 0)
    return Error{Code::impossible, "a set for 0 keys holds nothing; ask for at least 1 key"};
  if (want.keys > (std::uint64_t{1} << 50))
    return Error{Code::impossible, std::to_string(want.keys) +
                                       " keys are more than 64-bit hashes can tell apart at any "
                                       "useful rate; the limit is 2^50"};
  // Written so that NaN fails too.
  if (!(want.rate >= plan::lowest_rate && want.rate <= plan::highest_rate))
    return Error{Code::impossible, "a rate of " + text_of(want.rate) +
                                       " is not between 1e-12 and 0.5; 0.01 means that one "
                                       "stranger in a hundred passes"};
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
  return std::pow(63.0 / 64.0, full) * (1.0 - last / 512.0);
}

namespace {

// The mean over the keys of a block of (chance that a bit is set)^probes.
double block_rate(double mean, double spared, unsigned probes) {
  const double log_spared = std::log(spared);
  return poisson_mean(mean, [&](double keys) {
    const double set = -std::expm1(keys * log_spared);
    double all = 1;
    for (unsigned i = 0; i < probes; ++i) all *= set;
    return all;
  });
}

}  // namespace

double line_rate(double mean, unsigned probes) {
  return block_rate(mean, line_bit_spared(probes), probes);
}

FullestLine fullest_line(double rate, unsigned most_probes) {
  FullestLine best{1, 0};
  for (unsigned probes = 1; probes <= most_probes; ++probes) {
    // Lines per key falls as the rate is relaxed: look for the smallest.
    const double lines_per_key =
        smallest(1e-4, 4, [&](double lines) { return line_rate(1 / lines, probes) <= rate; });
    if (1 / lines_per_key > best.mean) best = {probes, 1 / lines_per_key};
  }
  return best;
}

double split_rate(double mean) { return block_rate(mean, 31.0 / 32.0, 8); }

}  // namespace plan
}  // namespace bloomery
