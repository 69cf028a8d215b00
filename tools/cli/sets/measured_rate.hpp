// The rate of a set, measured: so many strangers asked, so many let through.
//
// Strangers are random texts of 16 bytes from a seed that is told. That one of N is a member of a
// set of n keys has a chance of N * n / 2^128; below 1e-20 for a thousand billion asked of a
// billion.
// Limits:  exact kinds have no rate to measure.
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>

#include <bloomery/any_set.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

struct Measurement {
  std::uint64_t strangers = 0;
  std::uint64_t passed = 0;

  double rate() const;
  // Where the true rate is, 95 times of 100 (Wilson's interval: sound also when none passed).
  double low() const;
  double high() const;
};

// So many that the interval is about 5 % of the rate to each side, at this false-positive rate.
std::uint64_t strangers_to_measure(double rate);

// Asks `most` strangers, or as many as fit into `seconds`; those of one seed are always the same.
// `each` hears how many were asked, now and then.
Measurement measure_rate(const AnySet& set, std::uint64_t seed, std::uint64_t most, double seconds,
                         const std::function<void(std::uint64_t)>& each);

}  // namespace bloomery::cli
