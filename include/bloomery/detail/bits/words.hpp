// Bits side by side in 64-bit words: get, set, clear, count, walk.
//
//    bit b lives in word b / 64 at place b % 64, lowest first:   | 63 ... b ... 1 0 |
//
// Threads: the _shared forms may be called by any number at once and lose no bit; relaxed order is
//          enough, since a reader that misses a fresh bit only answers "absent" a little longer.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <bloomery/detail/bits/kernels.hpp>

namespace bloomery::inline v0::detail {

using Words = std::span<std::uint64_t>;
using ConstWords = std::span<const std::uint64_t>;

inline constexpr std::uint64_t word_bits = 64;

constexpr std::uint64_t words_for(std::uint64_t bits) {
  return bits / word_bits + (bits % word_bits != 0);
}

inline bool get_bit(ConstWords words, std::uint64_t bit) {
  return (words[bit / word_bits] >> (bit % word_bits)) & 1;
}

// Returns whether the bit was set before; so do the three below.
inline bool set_bit(Words words, std::uint64_t bit) {
  const std::uint64_t mask = std::uint64_t{1} << (bit % word_bits);
  std::uint64_t& word = words[bit / word_bits];
  const bool before = (word & mask) != 0;
  word |= mask;
  return before;
}

inline bool clear_bit(Words words, std::uint64_t bit) {
  const std::uint64_t mask = std::uint64_t{1} << (bit % word_bits);
  std::uint64_t& word = words[bit / word_bits];
  const bool before = (word & mask) != 0;
  word &= ~mask;
  return before;
}

inline std::uint64_t load_shared(const std::uint64_t& word) {
  // C++20 has no atomic_ref to const; nothing is written through this one.
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
}

// ORs `mask` in and returns which of its bits were set before. Skips the write when all were:
// a line that is only read stays shared between the cores.
inline std::uint64_t or_shared(std::uint64_t& word, std::uint64_t mask) {
  const std::uint64_t before = load_shared(word);
  if ((before & mask) == mask) return mask;
  return std::atomic_ref(word).fetch_or(mask, std::memory_order_relaxed) & mask;
}

inline bool get_bit_shared(ConstWords words, std::uint64_t bit) {
  return (load_shared(words[bit / word_bits]) >> (bit % word_bits)) & 1;
}

inline bool set_bit_shared(Words words, std::uint64_t bit) {
  return or_shared(words[bit / word_bits], std::uint64_t{1} << (bit % word_bits)) != 0;
}

inline std::uint64_t count_ones(ConstWords words) {
  return kernels().count_ones(words.data(), words.size());
}

// Calls each(member). False: it returned false, which stops the walk. A function that returns
// nothing never stops it.
template <class Each, class Member>
bool goes_on(Each& each, const Member& member) {
  if constexpr (std::same_as<std::invoke_result_t<Each&, const Member&>, bool>) {
    return each(member);
  } else {
    each(member);
    return true;
  }
}

}  // namespace bloomery::inline v0::detail
