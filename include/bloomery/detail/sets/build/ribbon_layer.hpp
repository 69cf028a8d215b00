// One layer of a ribbon: where a hash falls in it, and how its bits are laid out.
//
//    hash --high word of hash * shards--> shard     the fraction that is left * starts --> start
//
//    start s asks the 64 rows from s on, those whose bit of the coefficients is one:
//
//    rows    0       64      128     192        a block is 64 rows: one word for each column, so a
//            |block 0|block 1|block 2| ...      window of 64 rows lies in two blocks side by side
//                  |<-- s ... s+63 -->|
//    starts  |<--- stretch 0 --->|<- 1 ...      128 starts share a mark of two bits: keys whose
//             ^^^^ bumped                       start is among the first 0, 24, 48 or all 128 of
//                                               it were bumped and live in the next layer
//
//    words   | marks, shard by shard | to a cache line | blocks, shard by shard |
//
// The first stretches of a shard are wide: one column more, which halves the rate there. So the
// mean can have any value, not just the powers of two.
// Limits:  at most 2^26 rows in a shard, 2^46 blocks, 48 columns: sound() is the check.
// See:     ribbon.hpp; ribbon_shard.hpp solves for the bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include <bloomery/detail/bits/ribbon.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

// The numbers of a layer. Everything but the first four follows from them.
class RibbonLayer {
 public:
  static constexpr std::uint64_t window_rows = 64;
  static constexpr std::uint64_t stretch_starts = 128;
  static constexpr unsigned classes = 3;  // of starts in a stretch, by the marks that bump them
  static constexpr unsigned wide_unit = 1U << 16;  // `wide` counts the wide stretches in these

  static constexpr std::uint64_t most_shards = std::uint64_t{1} << 40;
  static constexpr std::uint64_t most_shard_blocks = std::uint64_t{1} << 20;
  static constexpr std::uint64_t most_blocks = std::uint64_t{1} << 46;
  static constexpr unsigned most_columns = 48;

  // Where a hash falls.
  struct Place {
    std::uint64_t shard;
    std::uint64_t start;
  };

  RibbonLayer() = default;
  RibbonLayer(std::uint64_t shards, std::uint64_t blocks, unsigned columns, unsigned wide)
      : shards_(shards), blocks_(blocks), columns_(columns) {
    if (empty()) return;
    starts_ = blocks * window_rows - (window_rows - 1);
    stretches_ = (starts_ + stretch_starts - 1) / stretch_starts;
    wide_stretches_ = (stretches_ * wide + wide_unit - 1) / wide_unit;
    // The windows of the last wide stretch end in the block after it.
    if (wide_stretches_ != 0)
      wide_blocks_ = std::min(blocks, wide_stretches_ * (stretch_starts / word_bits) + 1);
    mark_words_ = words_for(2 * stretches_);
    shard_words_ = blocks * columns + wide_blocks_;
    // On a cache line, unless the layer is so small that a line counts.
    solution_at_ = std::max(ribbon::words_before, shards * mark_words_);
    if (solution_at_ >= 8) solution_at_ = (solution_at_ + 7) / 8 * 8;
  }

  static bool sound(std::uint64_t shards, std::uint64_t blocks, unsigned columns, unsigned wide) {
    return shards <= most_shards && blocks <= most_shard_blocks && (shards == 0) == (blocks == 0) &&
           shards * blocks <= most_blocks && columns >= 1 && columns <= most_columns &&
           wide < wide_unit;
  }

  bool empty() const { return shards_ == 0; }
  std::uint64_t shards() const { return shards_; }
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t rows() const { return blocks_ * window_rows; }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t stretches() const { return stretches_; }
  std::uint64_t wide_stretches() const { return wide_stretches_; }
  std::uint64_t wide_blocks() const { return wide_blocks_; }
  unsigned narrow_columns() const { return columns_; }
  unsigned columns_of(std::uint64_t stretch) const {
    return columns_ + (stretch < wide_stretches_);
  }
  unsigned columns_of_block(std::uint64_t block) const { return columns_ + (block < wide_blocks_); }
  std::uint64_t words() const { return empty() ? 0 : solution_at_ + shards_ * shard_words_; }

  Place place(Hash hash) const {
    return {mulhi(hash.bits, shards_), mulhi(hash.bits * shards_, starts_)};
  }
  std::uint64_t marks_at(std::uint64_t shard) const { return shard * mark_words_; }
  std::uint64_t mark_words() const { return mark_words_; }
  std::uint64_t block_at(std::uint64_t shard, std::uint64_t block) const {
    return solution_at_ + shard * shard_words_ + block * columns_ + std::min(block, wide_blocks_);
  }

  // The starts of a stretch below this were bumped: 0, 24, 48 or 128.
  static constexpr std::uint64_t bumped_below(std::uint64_t mark) {
    return (0x80'30'18'00U >> (8 * mark)) & 0xff;
  }
  bool bumped(const std::uint64_t* words, Place place) const {
    const std::uint64_t stretch = place.start / stretch_starts;
    const std::uint64_t word = words[marks_at(place.shard) + stretch / 32];
    return place.start % stretch_starts < bumped_below(word >> (2 * (stretch % 32)) & 3);
  }

  std::uint64_t fingerprint(Hash hash) const { return ribbon::fingerprint(hash, columns_); }
  // The hash that the next layer sees: where the bumped keys fall there has nothing to do with
  // where they fell here.
  static Hash next(Hash hash) { return {remix({hash.bits ^ (hash.bits >> 32)}, 8)}; }

 private:
  std::uint64_t shards_ = 0;
  std::uint64_t blocks_ = 0;  // in a shard, as all that follow
  unsigned columns_ = 1;      // of the narrow stretches
  std::uint64_t starts_ = 0;
  std::uint64_t stretches_ = 0;
  std::uint64_t wide_stretches_ = 0;
  std::uint64_t wide_blocks_ = 0;
  std::uint64_t mark_words_ = 0;
  std::uint64_t shard_words_ = 0;
  std::uint64_t solution_at_ = 0;
};

}  // namespace bloomery::inline v0::detail
