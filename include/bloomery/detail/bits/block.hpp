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
#include <cstring>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::size_t lanes_per_line = 8;
inline constexpr std::size_t line_bytes = 64;
inline constexpr unsigned line_bits = 512;
inline constexpr unsigned max_line_probes = 16;

struct LineMask {
  std::array<std::uint64_t, lanes_per_line> lanes{};
};

// Calls visit(lane, place of the bit in it) for each probe of a round while it returns true;
// returns whether all did. The fields of the lanes are turned until the run's first comes first, so
// that each is found by the same shift.
template <class Visit>
bool each_place_of_round(std::uint64_t remixed, unsigned probes, Visit&& visit) {
  const unsigned start = probes == lanes_per_line ? 0 : (remixed >> 13) & 7;
  const std::uint64_t fields = remixed >> 16;
  std::uint64_t turned = fields >> (6 * start) | fields << (48 - 6 * start);
  for (unsigned i = 0; i < probes; ++i) {
    if (!visit((start + i) % lanes_per_line, turned & 63)) return false;
    turned >>= 6;
  }
  return true;
}

// Calls visit(lane, bit) for each of the bits of one line that a hash with these two remixes owns,
// while it returns true; returns whether all did. The first remix pays for probes 0 to 7, the
// second for 8 to 15.
template <class Visit>
bool each_line_probe(std::uint64_t first, std::uint64_t second, unsigned probes, Visit&& visit) {
  const auto visit_bit = [&](unsigned lane, std::uint64_t place) {
    return visit(lane, std::uint64_t{1} << place);
  };
  return each_place_of_round(first, probes < 8 ? probes : 8, visit_bit) &&
         (probes <= 8 || each_place_of_round(second, probes - 8, visit_bit));
}

// The same bits as one mask.
inline LineMask line_mask(std::uint64_t first, std::uint64_t second, unsigned probes) {
  LineMask mask;
  each_line_probe(first, second, probes, [&](unsigned lane, std::uint64_t bit) {
    mask.lanes[lane] |= bit;
    return true;
  });
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

// The chance that all probes of an absent key hit ones of this line: full rounds need all lanes,
// the last round a run of lanes, whose eight possible starts are equally likely. Two runs side by
// side in a vector of the compiler; each is multiplied and all are summed in one order.
inline double line_passing(const std::uint64_t* line, unsigned probes) {
  using Pair [[gnu::vector_size(16)]] = double;
  static_assert(lanes_per_line == 8);
  std::uint8_t ones[8];
  kernels().count_lanes(line, ones);
  double filled[16];  // twice, so that a run goes on at the first lane
  for (std::size_t i = 0; i < 8; ++i) filled[i] = filled[i + 8] = ones[i] / 64.0;
  const auto pair = [&](std::size_t at) {
    Pair both;
    std::memcpy(&both, filled + at, sizeof both);
    return both;
  };
  Pair a = {1, 1}, b = a, c = a, d = a;
  for (std::size_t i = 0; i < probes % 8; ++i) {
    a *= pair(i);
    b *= pair(i + 2);
    c *= pair(i + 4);
    d *= pair(i + 6);
  }
  const double runs = a[0] + a[1] + b[0] + b[1] + c[0] + c[1] + d[0] + d[1];
  const unsigned full = probes / 8;
  double whole = 1;
  for (std::size_t i = 0; full != 0 && i < 8; ++i) whole *= filled[i];
  return (full < 2 ? whole : whole * whole) * runs / 8;
}

inline constexpr std::size_t split_words = 8;
inline constexpr std::size_t split_bytes = 32;

constexpr std::uint32_t split_bit(std::uint32_t low_half, std::size_t word) {
  return std::uint32_t{1} << ((low_half * split_salts[word]) >> 27);
}

}  // namespace bloomery::inline v0::detail
