// Are the places where keys land evenly spread? Families of keys that weak hashing clusters.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <bloomery/hash.hpp>

namespace bloomery::detail {

// Calls each(name, hashes) for sequential integers, multiples of powers of two, and strings with a
// common beginning.
template <class Each>
void for_each_key_family(std::size_t count, Each&& each) {
  const Hasher hasher;
  std::vector<Hash> hashes(count);
  for (std::size_t i = 0; i < count; ++i) hashes[i] = hasher(i);
  each("sequential integers", hashes);
  for (const unsigned j : {12, 20, 40}) {
    for (std::size_t i = 0; i < count; ++i) hashes[i] = hasher(std::uint64_t{i} << j);
    each("multiples of a power of two", hashes);
  }
  const std::string prefix = "http://example.org/a/rather/long/common/path/";
  for (std::size_t i = 0; i < count; ++i) hashes[i] = hasher(prefix + std::to_string(i));
  each("strings with a common beginning", hashes);
}

// A span without real bytes, for kinds that are asked only where keys fall.
inline std::span<std::byte> lent_in_name(std::uint64_t bytes) {
  alignas(64) static std::byte place[64];
  return {place, bytes};
}

// Chi-square of the counts against an even spread, within five spreads of its mean.
inline void expect_even(const std::vector<std::uint64_t>& counts) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  const double even = total / static_cast<double>(counts.size());
  ASSERT_GE(even, 10) << "too few for a chi-square";
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - even;
    sum += off * off / even;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  EXPECT_NEAR(sum, freedom, 5 * std::sqrt(2 * freedom));
}

}  // namespace bloomery::detail
