// Turns a mask of 64 compared bytes into the places of its ones, for the vector kernels.
//
// Local to the file that includes it, as quotient_law.hpp is: each row of kernels has its own copy,
// compiled for its CPU, so the linker cannot give one row the copy of another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery::inline v0::detail {
namespace {

// Appends the places, counted from `base`, to the `found` ones in `places`; returns the new number.
// Most masks of text have one or two ones, so two places are always written without a branch:
// `places` must have room for two more.
inline std::size_t put_places(std::uint64_t mask, std::size_t base, std::uint32_t* places,
                              std::size_t found) {
  const auto count = static_cast<std::size_t>(__builtin_popcountll(mask));
  const auto put = [&](std::size_t at) {
    places[at] = static_cast<std::uint32_t>(
        base + static_cast<unsigned>(__builtin_ctzll(mask | (std::uint64_t{1} << 63))));
    mask &= mask - 1;
  };
  put(found);
  put(found + 1);
  for (std::size_t i = 2; i < count; ++i) put(found + i);
  return found + count;
}

}  // namespace
}  // namespace bloomery::inline v0::detail
