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
//       A key that vanishes with a rest can not be held: its class is taken out again, and it and
//       the classes after it are bumped
//    3. from the last row to the first, each row follows from the 63 after it; rows that nobody
//       leads are 0
//
// An equation's bit for row i is bit i % 64, whatever its start: two of them subtract without a
// shift. A key goes past some forty rows that are led; so as soon as four rows side by side (a
// quad) are, their sixteen sums are kept, and four rows go by at the price of one.
// The bits depend on the set of keys alone, not on their order.
// Limits:  scratch is 16 bytes a row and 8 a key of one shard.
// Threads: one solver for each; solvers may work on different shards of one layer at once.
// See:     arXiv 2109.01892; ribbon_test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <bloomery/hash/hash.hpp>
#include <bloomery/sets/ribbon_layer.hpp>

namespace bloomery {

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
  struct Equation {
    std::uint64_t coefficients = 0;  // 0: none
    std::uint64_t answer = 0;
    Equation operator^(const Equation& other) const {
      return {coefficients ^ other.coefficients, answer ^ other.answer};
    }
  };
  // Equations that go side by side, since each waits for its memory at every step.
  static constexpr std::size_t side_by_side = 4;
  struct Few {
    std::array<std::uint64_t, side_by_side> coefficients;
    std::array<std::uint64_t, side_by_side> answers;
    std::array<std::uint64_t, side_by_side> rows;  // where the windows begin
  };
  static constexpr std::uint64_t quad_rows = 4;
  // A stretch and the windows that begin in it reach over 48 quads.
  static constexpr std::uint64_t quads = 64;

  void sort(const RibbonLayer& layer, std::span<const Hash> keys);
  void forget_quads_after(std::uint64_t row);
  // `asked` has a one for each column that the keys are asked for.
  bool insert(const RibbonLayer& layer, std::span<const Hash> keys, std::uint64_t asked);
  bool insert_few(const RibbonLayer& layer, std::span<const Hash> keys, std::uint64_t asked);
  void pass_led_rows(Few& few) const;
  bool place(Equation equation, std::uint64_t row, std::uint64_t asked);
  bool is_repeated(const RibbonLayer& layer, Hash key) const;
  void sum_quad(std::uint64_t quad);
  void take_out();
  bool is_summed(std::uint64_t quad) const { return led_[quad % quads] == quad_rows; }
  void substitute_back(const RibbonLayer& layer, std::uint64_t shard,
                       std::span<std::uint64_t> layer_words) const;

  static_assert(sizeof(Equation) == row_bytes);
  std::vector<Equation> leading_;  // the equation that leads each row
  std::vector<Hash> sorted_;       // by stretch, class and octet
  std::vector<std::size_t> ends_;  // of each octet in sorted_
  // Rows that the class in hand leads: no more than its starts and the windows reach.
  std::array<std::uint64_t, RibbonLayer::stretch_starts + RibbonLayer::window_rows> placed_rows_{};
  std::size_t placed_ = 0;
  std::size_t redundant_ = 0;  // said nothing new: copies of a key, and the odd lucky one
  std::size_t repeats_ = 0;    // copies among them
  std::array<std::uint8_t, quads> led_{};  // rows of each quad that are led, by quad % quads
  std::array<std::array<Equation, 16>, quads> sums_{};  // of the quads that are led wholly
};

}  // namespace bloomery
