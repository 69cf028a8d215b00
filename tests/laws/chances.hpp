// How likely is a measured number of hits under a given rate?
#pragma once

#include <cmath>
#include <cstdint>

namespace bloomery::detail {

// The distance from the expected number of hits, in standard deviations.
inline double spreads_from(std::uint64_t hits, std::uint64_t asked, double rate) {
  const double expected = static_cast<double>(asked) * rate;
  const double spread = std::sqrt(expected * (1 - rate));
  const double distance = static_cast<double>(hits) - expected;
  return spread > 0 ? distance / spread : distance;
}

// The chance of at least `hits` under Binomial(asked, rate), summed term by term.
inline double chance_of_at_least(std::uint64_t hits, std::uint64_t asked, double rate) {
  if (hits == 0) return 1;
  if (rate <= 0) return 0;
  const auto n = static_cast<double>(asked);
  double sum = 0;
  for (auto j = static_cast<double>(hits); j <= n; ++j) {
    const double term = std::exp(std::lgamma(n + 1) - std::lgamma(j + 1) - std::lgamma(n - j + 1) +
                                 j * std::log(rate) + (n - j) * std::log1p(-rate));
    sum += term;
    if (j > n * rate && term < sum * 1e-9) break;
  }
  return sum;
}

// Within five spreads on either side. Where fewer than 50 hits are expected the spread says little,
// and the exact line of the same chance (Clopper and Pearson) takes its place.
inline bool is_likely(std::uint64_t hits, std::uint64_t asked, double rate) {
  constexpr double beyond_five_spreads = 2.9e-7;
  if (static_cast<double>(asked) * rate >= 50) return std::abs(spreads_from(hits, asked, rate)) < 5;
  const double above = chance_of_at_least(hits, asked, rate);
  const double below = 1 - chance_of_at_least(hits + 1, asked, rate);
  return above > beyond_five_spreads && below > beyond_five_spreads;
}

}  // namespace bloomery::detail
