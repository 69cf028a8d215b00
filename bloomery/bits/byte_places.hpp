// From a mask of 64 bytes to the places of its ones, for the rows of kernels that compare so many
// at once.
//
// Local to the file that includes it, as quotient_law.hpp is: each row has a copy compiled for its
// CPU, and none is handed to another.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery {
namespace {

// Writes them behind the `found` that are there, counted from `base`; returns how many there are
// then. Most masks of text have one or two ones: those are written without a look, so there must be
// room for two.
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
}  // namespace bloomery
