// The places of the ones in words that have few of them, for the vector kernels.
//
//    words     w0 = 0   w1   w2 = 0   w3     summary 0b1010: only w1 and w3 are looked at
//    places         64+.., 64+..       192+..
//
// Local to the file that includes it, as byte_places.hpp is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery::inline v0::detail {
namespace {

// Words with up to so many ones are taken apart one by one.
inline constexpr std::size_t few_ones = 8;

// The places of the ones in a byte, in ascending order; the rest of a row means nothing.
struct PlacesInByte {
  std::uint8_t rows[256][8];
};
constexpr PlacesInByte places_in_byte = [] {
  PlacesInByte made{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (std::uint8_t place = 0, n = 0; place < 8; ++place)
      if ((byte >> place & 1) != 0) made.rows[byte][n++] = place;
  return made;
}();

// Writes four places, whatever the number of ones: those behind the last one mean nothing. Returns
// the ones that are left.
template <class Place>
inline std::uint64_t put_four(std::uint64_t left, Place first, Place* to) {
  for (std::size_t k = 0; k < 4; ++k, left &= left - 1)
    to[k] = first + static_cast<unsigned>(__builtin_ctzll(left | (std::uint64_t{1} << 63)));
  return left;
}

// Takes the words of the summary in turn; many(word, first, places) those with many ones.
template <class Place, class Many>
std::size_t put_words(const std::uint64_t* words, std::uint64_t summary, Place base, Place* places,
                      Many many) {
  Place* to = places;
  for (; summary != 0; summary &= summary - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(summary));
    const Place first = base + i * 64;
    const auto ones = static_cast<std::size_t>(__builtin_popcountll(words[i]));
    if (ones > few_ones)
      many(words[i], first, to);
    else if (const std::uint64_t left = put_four(words[i], first, to); left != 0)
      put_four(left, first, to + 4);
    to += ones;
  }
  return static_cast<std::size_t>(to - places);
}

}  // namespace
}  // namespace bloomery::inline v0::detail
