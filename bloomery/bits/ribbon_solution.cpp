#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/ribbon_band.hpp>
#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Eight bits to the low bits of eight bytes, times 255.
constexpr auto byte_masks = [] {
  std::array<std::uint64_t, 256> masks{};
  for (std::size_t bits = 0; bits < masks.size(); ++bits)
    for (unsigned i = 0; i < 8; ++i)
      if ((bits >> i & 1) != 0) masks[bits] |= std::uint64_t{0xff} << (8 * i);
  return masks;
}();

// Bit j of byte i goes to bit i of byte j.
constexpr std::uint64_t transposed(std::uint64_t square) {
  const auto swap = [&](std::uint64_t mask, unsigned shift) {
    const std::uint64_t differing = (square ^ (square >> shift)) & mask;
    square ^= differing ^ (differing << shift);
  };
  swap(0x00aa'00aa'00aa'00aa, 7);
  swap(0x0000'cccc'0000'cccc, 14);
  swap(0x0000'0000'f0f0'f0f0, 28);
  return square;
}

// Eight columns on their way from the last row to the first, a byte for each row. The sum of any of
// the rows of an octet is looked up:
//
//    row = answer ^ sums[1][byte 1] ^ ... ^ sums[7][byte 7]      of the coefficients
//          ^ sums[8][the bits of byte 0 before the row]          which stand for the rows 64 later
//          ^ the rows of its own octet after it
class EightColumns {
 public:
  void begin_octet() {
    if (newest_ == 0) {
      std::copy_n(sums_.begin(), octets_in_window, sums_.end() - octets_in_window);
      newest_ = sums_.size() - octets_in_window;
    }
    --newest_;
    rows_ = 0;
    own_ = 0;
  }
  // Row i of the octet; its coefficients begin with those of the octet.
  void add_row(unsigned i, std::uint64_t coefficients, std::uint64_t answer) {
    const auto* const sums = &sums_[newest_];
    const std::uint64_t own = coefficients & 0xff;
    std::uint64_t row = answer ^ sums[8][own & ((1U << i) - 1)];
#pragma GCC unroll 8
    for (unsigned later = 1; later < 8; ++later)
      row ^= sums[later][coefficients >> (8 * later) & 0xff];
    rows_ |= (row & 0xff) << (8 * i);
    own_ |= own << (8 * i);
  }
  // Returns the rows, a byte each.
  std::uint64_t end_octet() {
    // Bit i of byte j: row j is a part of row i.
    const std::uint64_t parts = transposed(own_);
#pragma GCC unroll 8
    for (unsigned j = 7; j > 0; --j)
      rows_ ^= byte_masks[parts >> (8 * j) & ((1U << j) - 1)] & all_bytes(row(j));
    sum_octet();
    return rows_;
  }

 private:
  static constexpr std::size_t octets_in_window = 8;

  static std::uint64_t all_bytes(std::uint64_t byte) { return byte * 0x0101'0101'0101'0101; }
  std::uint64_t row(unsigned i) const { return rows_ >> (8 * i) & 0xff; }

  // Eight sums to a word: the first eight are of rows 0 to 2, and rows 3 to 7 say which word.
  void sum_octet() {
    const std::uint64_t first = row(0) * 0x0100'0100'0100'0100 ^ row(1) * 0x0101'0000'0101'0000 ^
                                row(2) * 0x0101'0101'0000'0000;
    const std::uint64_t second = first ^ all_bytes(row(3));
    const std::uint64_t four[] = {first, second, first ^ all_bytes(row(4)),
                                  second ^ all_bytes(row(4))};
    std::uint8_t* next = sums_[newest_].data();
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; ++k) {
      const std::uint64_t others = ((k & 1) != 0 ? all_bytes(row(5)) : 0) ^
                                   ((k & 2) != 0 ? all_bytes(row(6)) : 0) ^
                                   ((k & 4) != 0 ? all_bytes(row(7)) : 0);
#pragma GCC unroll 4
      for (const std::uint64_t one : four) {
        const std::uint64_t word = one ^ others;
        std::memcpy(next, &word, sizeof word);
        next += sizeof word;
      }
    }
  }

  std::array<std::array<std::uint8_t, 256>, 64> sums_{};  // of each octet, the newest lowest
  std::size_t newest_ = 64 - octets_in_window;
  std::uint64_t rows_ = 0;
  std::uint64_t own_ = 0;  // byte i: the coefficients of row i within the octet
};

}  // namespace

void ribbon_substitute_by_bytes(const RibbonEquation* leading, const RibbonBlocks& blocks) {
  for (unsigned column = 0; column < blocks.columns + (blocks.wide != 0); column += 8) {
    EightColumns eight;
    for (std::uint64_t block = blocks.count; block-- > 0;) {
      std::array<std::uint64_t, 8> words{};  // one column each
      for (unsigned octet = 8; octet-- > 0;) {
        const RibbonEquation* const leaders = leading + block * word_bits + octet * 8;
        eight.begin_octet();
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; ++i)
          eight.add_row(i, std::rotr(leaders[i].coefficients, static_cast<int>(octet * 8)),
                        leaders[i].answer >> column & 0xff);
        const std::uint64_t bits = transposed(eight.end_octet());
        for (unsigned c = 0; c < 8; ++c) words[c] |= (bits >> (8 * c) & 0xff) << (8 * octet);
      }
      const unsigned columns = blocks.columns + (block < blocks.wide);
      if (column < columns)
        std::copy_n(words.begin(), std::min(8U, columns - column),
                    blocks.words + block * blocks.columns + std::min(block, blocks.wide) + column);
    }
  }
}

}  // namespace bloomery::inline v0::detail
