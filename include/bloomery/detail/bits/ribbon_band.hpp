// The equations of a shard of a ribbon while it is solved: a band, since an equation has ones in 64
// neighbouring rows only. sets/build/ribbon_shard.hpp tells what is done with it and why.
//
//    leading   the equation that leads each row: its first one is there. Row i is bit i % 64
//              whatever the start, so two equations subtract without a shift
//    sums      for four rows side by side that are all led (a quad): what clears them, by the
//              four bits that an equation has there
//
// This header is plain on purpose, as kernels.hpp is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery::inline v0::detail {

struct RibbonEquation {
  std::uint64_t coefficients;  // 0: none
  std::uint64_t answer;
};

struct RibbonBand {
  static constexpr std::uint64_t quad_rows = 4;
  // A stretch and the windows that begin in it reach over 48 quads.
  static constexpr std::uint64_t quads = 64;
  // Rows that a class of starts can lead: those starts and as far as their windows reach.
  static constexpr std::size_t most_placed = 192;

  struct alignas(64) Sums {
    std::uint64_t coefficients[16];
    std::uint64_t answers[16];
  };

  // Where a hash falls, as in ribbon_layer.hpp.
  std::uint64_t shards = 1;
  std::uint64_t starts = 1;
  std::uint32_t columns = 1;  // of the narrow stretches

  std::uint64_t asked = 0;            // a one for each column that the keys are asked for
  RibbonEquation* leading = nullptr;  // of the rows of the shard
  std::size_t placed = 0;             // rows that the current class leads
  std::uint64_t placed_rows[most_placed];
  std::uint8_t led[quads];  // rows of each quad that are led, by quad % quads
  Sums sums[quads];         // of the quads that are led wholly
};

// Where the solution goes: block after block of 64 rows, a word for each column.
struct RibbonBlocks {
  std::uint64_t* words;
  std::uint64_t count;
  std::uint64_t wide;  // the first `wide` blocks have one column more
  std::uint32_t columns;
};

}  // namespace bloomery::inline v0::detail
