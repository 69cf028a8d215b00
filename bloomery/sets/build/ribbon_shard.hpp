// Solves one shard of a ribbon layer: finds bits such that every key that is not bumped gets its
// fingerprint, and marks the starts whose keys are.
//
//    1. sort the keys by stretch; in a stretch the last class of starts comes first, and in a class
//       the starts rise, eight at a time
//    2. insert class by class; a key is an equation over 64 rows. Subtract the equations that lead
//       the rows it has until it leads a free row:
//
//          . . 1 0 1 1 0 1 . .            the row at its start is led: subtract that equation and
//          . . . . 1 0 1 1 0 1 .          go on from the first row that is left
//
//       A key whose equation becomes 0 = 1 cannot be held: its class is taken out again, and it and
//       the classes after it are bumped
//    3. from the last row to the first, each row follows from the 63 after it; rows that nobody
//       leads are 0
//
// An equation's bit for row i is bit i % 64, whatever its start: two of them subtract without a
// shift. A key goes past some forty rows that are led; so as soon as four rows side by side (a
// quad) are, their sixteen sums are kept, and four rows go by at the price of one.
// Steps 2 and 3 are kernels: bits/ribbon_band.cpp and bits/ribbon_solution.cpp are their law.
// The bits depend on the set of keys alone, not on their order.
// Limits:  scratch is 16 bytes a row and 8 a key of one shard.
// Threads: one solver for each; solvers may work on different shards of one layer at once.
// See:     arXiv 2109.01892; ribbon_test, ribbon_band_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <bloomery/detail/bits/ribbon_band.hpp>
#include <bloomery/detail/sets/build/ribbon_layer.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class RibbonShardSolver {
 public:
  static constexpr std::uint64_t row_bytes = 16;  // of scratch

  struct Tally {
    std::size_t bumped = 0;   // now the first of `keys`, as the next layer sees them
    std::size_t repeats = 0;  // copies of keys that were not bumped
  };

  // `keys` are all that fall into the shard, as this layer sees them; their order is lost. Writes
  // the marks and blocks of the shard and nothing else of `layer_words`.
  Tally solve(const RibbonLayer& layer, std::uint64_t shard, std::span<Hash> keys,
              std::span<std::uint64_t> layer_words);

 private:
  void sort(const RibbonLayer& layer, std::span<const Hash> keys);
  void forget_quads_after(std::uint64_t row);
  bool insert(std::span<Hash> keys);
  bool insert_in_order(std::span<const Hash> keys);
  void take_out();

  static_assert(sizeof(RibbonEquation) == row_bytes);
  RibbonBand band_;
  std::vector<RibbonEquation> leading_;  // the equation that leads each row
  std::vector<Hash> sorted_;             // by stretch, class and octet
  std::vector<std::size_t> ends_;        // of each octet in sorted_
  std::size_t repeats_ = 0;              // copies of keys
};

}  // namespace bloomery::inline v0::detail
