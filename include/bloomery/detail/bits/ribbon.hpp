// The law of a ribbon: do the rows that a hash chooses add up to its fingerprint?
//
//    low[c]     ......1011 0110   the word of column c in the block of the first row
//    high[c]    ......            and in the next block
//    chosen           ^^^^ ^^^^   64 rows from `shift` on, those whose coefficient is one
//
//    bit c of the fingerprint = parity of the chosen bits of column c
//
// Eight columns go side by side in SSE2 registers, which every x86-64 has; kernels_avx512.cpp has
// them in one.
// See:     ribbon_layer.hpp for where the blocks are; ribbon_test pins the bits.
#pragma once

#include <cstdint>
#include <cstring>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {
namespace ribbon {

// Words in front of the first block, which may be read.
inline constexpr std::uint64_t words_before = 3;

// Bit i chooses row start + i; the first is always chosen, so that every window has a row.
inline std::uint64_t coefficients(Hash hash) {
  const std::uint64_t mixed = remix(hash, 6);
  return (mixed ^ (mixed >> 32)) | 1;
}

// Bit c is what column c must give. One bit more than the narrow stretches use.
inline std::uint64_t fingerprint(Hash hash, unsigned columns) {
  return remix(hash, 7) >> (63 - columns);
}

// The parities of four words as four bits: each word is halved by xor until it has 16 bits, and
// the four go on side by side in one word.
inline std::uint64_t parities(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  constexpr std::uint64_t low_half = 0xffff'ffff;
  constexpr std::uint64_t low_quarters = 0x0000'ffff'0000'ffff;
  const std::uint64_t ac = ((a ^ (a >> 32)) & low_half) | ((c ^ (c << 32)) & ~low_half);
  const std::uint64_t bd = ((b ^ (b >> 32)) & low_half) | ((d ^ (d << 32)) & ~low_half);
  std::uint64_t all = ((ac ^ (ac >> 16)) & low_quarters) | ((bd ^ (bd << 16)) & ~low_quarters);
  all ^= all >> 8;
  all ^= all >> 4;
  all ^= all >> 2;
  all ^= all >> 1;
  // Bits 0, 16, 32 and 48 to bits 48 to 51.
  return (all & 0x0001'0001'0001'0001) * 0x0001'0002'0004'0008 >> 48;
}

// Two words, and the same as four halves.
using Pair = std::uint64_t __attribute__((vector_size(16)));
using Halves = std::uint32_t __attribute__((vector_size(16)));

// The same for eight columns, two at a time.
inline std::uint64_t eight_parities(const std::uint64_t* low, const std::uint64_t* high,
                                    std::uint64_t chosen_low, std::uint64_t chosen_high) {
  const auto halved = [&](unsigned c) {
    Pair first;
    Pair second;
    std::memcpy(&first, low + c, sizeof first);
    std::memcpy(&second, high + c, sizeof second);
    const Pair chosen =
        (first & Pair{chosen_low, chosen_low}) ^ (second & Pair{chosen_high, chosen_high});
    return reinterpret_cast<Halves>(chosen ^ (chosen >> 32));
  };
  Halves a = __builtin_shufflevector(halved(0), halved(2), 0, 2, 4, 6);  // columns 0 1 2 3
  Halves b = __builtin_shufflevector(halved(4), halved(6), 0, 2, 4, 6);  // columns 4 5 6 7
  a ^= a >> 16;
  b ^= b >> 16;
  auto all = reinterpret_cast<Pair>((a & 0xffff) | (b << 16));  // 0 4 1 5 and 2 6 3 7
  all ^= all >> 8;
  all ^= all >> 4;
  all ^= all >> 2;
  all ^= all >> 1;
  constexpr std::uint64_t lowest = 0x0001'0001'0001'0001;
  // Bits 0 2 16 18 32 34 48 50 are columns 0 2 4 6 1 3 5 7; the product has them in order.
  const std::uint64_t spread = (all[0] & lowest) | (all[1] & lowest) << 2;
  return spread * 0x0001'0010'0002'0020 >> 48;
}

}  // namespace ribbon

// For a slot with columns.
inline bool ribbon_has(const RibbonView& view, const RibbonSlot& slot) {
  using namespace ribbon;
  const std::uint64_t chosen = coefficients({slot.hash});
  // The part of the window in the first block and the rest; two shifts, so that 64 is possible.
  const std::uint64_t chosen_low = chosen << slot.shift;
  const std::uint64_t chosen_high = chosen >> 1 >> (63 - slot.shift);
  const std::uint64_t* const low = view.words + slot.low;
  const std::uint64_t* const high = low + slot.step;
  const std::uint64_t wanted = fingerprint({slot.hash}, view.columns);
  const auto bits = [&](unsigned c) { return (low[c] & chosen_low) ^ (high[c] & chosen_high); };
  const auto four_right = [&](unsigned c) {
    const std::uint64_t got = parities(bits(c), bits(c + 1), bits(c + 2), bits(c + 3));
    return ((got ^ (wanted >> c)) & 0xf) == 0;
  };
  const auto eight_right = [&](unsigned c) {
    const std::uint64_t got = eight_parities(low + c, high + c, chosen_low, chosen_high);
    return ((got ^ (wanted >> c)) & 0xff) == 0;
  };
  const unsigned columns = slot.columns;
  // What is left over is asked together with some that were asked before. All of them: a branch on
  // what was read would be mispredicted for half of the keys.
  if (columns >= 8) {
    bool right = true;
    for (unsigned c = 0; c + 8 <= columns; c += 8) right &= eight_right(c);
    if (columns % 8 != 0) right &= eight_right(columns - 8);
    return right;
  }
  if (columns >= 8 - words_before) {
    // The words before a block are read too, and what comes of them is shifted out.
    const unsigned before = 8 - columns;
    const std::uint64_t got = eight_parities(low - before, high - before, chosen_low, chosen_high);
    return ((got ^ (wanted << before)) & (0xff << before & 0xff)) == 0;
  }
  if (columns == 4) return four_right(0);
  for (unsigned c = 0; c < columns; ++c)
    if (static_cast<unsigned>(__builtin_parityll(bits(c))) != (wanted >> c & 1)) return false;
  return true;
}

}  // namespace bloomery::inline v0::detail
