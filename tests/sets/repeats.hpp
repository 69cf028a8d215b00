// Keys for tests of order: some twice, near and far apart, and one very often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace bloomery::detail {

inline std::vector<std::uint64_t> keys_with_repeats(std::size_t n, std::uint64_t range) {
  std::mt19937_64 random(n);
  std::vector<std::uint64_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t die = random() % 10;
    keys[i] = die == 0 && i > 0 ? keys[random() % i] : die == 1 ? 5 : random() % range;
  }
  return keys;
}

}  // namespace bloomery::detail
