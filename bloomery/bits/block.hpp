// The block laws, in scalar code: which bits of one block a remixed hash owns.
// Every kernel is a copy of these that must agree bit for bit (kernels_test).
//
// LINE, 512 bits = 8 lanes of 64, for the blocked kind. Probes go round the lanes, eight to a
// round; each probe owns one bit of its lane:
//
//    remix 63 ........................... 16 15 13 12 ........ 0
//          lane 7 | ... | lane 1 | lane 0   start   unspent
//          6 bits each: which of its 64
//
// A full round takes all eight lanes. A last round of r < 8 probes takes lanes start, start + 1,
// ... (mod 8). So k probes are k different bits (k <= 8), any k from 1 to 16 works, and both adding
// and asking are one load, one mask, one test of a whole line.
// Nine-bit positions anywhere in the line need the same space (9.95 bits a key at 1 %) but scatter
// when adding; always taking all eight lanes needs 10.10.
//
// SPLIT, 256 bits = 8 words of 32, for the split-block kind: Parquet's law, one bit per word chosen
// by the top five bits of the low half of the hash times that word's salt.
//
// See: docs/format.md "Bit laws"; golden_test pins the bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <bloomery/hash/odd_constants.hpp>

namespace bloomery {

inline constexpr std::size_t lanes_per_line = 8;
inline constexpr std::size_t line_bytes = 64;
inline constexpr unsigned line_bits = 512;
inline constexpr unsigned max_line_probes = 16;

struct LineMask {
  std::array<std::uint64_t, lanes_per_line> lanes{};
};

namespace detail {

inline void mark_round(LineMask& mask, std::uint64_t remixed, unsigned probes) {
  const unsigned start = probes == lanes_per_line ? 0 : (remixed >> 13) & 7;
  for (unsigned i = 0; i < probes; ++i) {
    const unsigned lane = (start + i) % lanes_per_line;
    mask.lanes[lane] |= std::uint64_t{1} << ((remixed >> (16 + 6 * lane)) & 63);
  }
}

}  // namespace detail

// The bits of one line owned by a hash with these two remixes: the first pays for probes 0 to 7,
// the second for 8 to 15.
inline LineMask line_mask(std::uint64_t first, std::uint64_t second, unsigned probes) {
  LineMask mask;
  detail::mark_round(mask, first, probes < 8 ? probes : 8);
  if (probes > 8) detail::mark_round(mask, second, probes - 8);
  return mask;
}

inline bool line_has(const std::uint64_t* line, const LineMask& mask) {
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < lanes_per_line; ++i) missing |= mask.lanes[i] & ~line[i];
  return missing == 0;
}

inline void line_mark(std::uint64_t* line, const LineMask& mask) {
  for (std::size_t i = 0; i < lanes_per_line; ++i) line[i] |= mask.lanes[i];
}

inline constexpr std::size_t split_words = 8;
inline constexpr std::size_t split_bytes = 32;

constexpr std::uint32_t split_bit(std::uint32_t low_half, std::size_t word) {
  return std::uint32_t{1} << ((low_half * split_salts[word]) >> 27);
}

}  // namespace bloomery
