// Small saturating counters packed in 64-bit words: they stop at their maximum and stay there.
//
//    4 bits:   | c15 | ... | c1 | c0 |      counter i is word i / 16, lowest first
//
// A saturated counter no longer knows how often it was raised, so it is never lowered again: from
// then on it may be too high, but never too low. Whole words are added and compared at once. Two
// fields have no spare bit between them, so the carry or borrow of each field's top bit is computed
// separately.
// Limits:  widths that divide 64 (4, 8, 16, 32 are used), and only whole words of them.
// Threads: the _shared forms may be called by any number at once; the rest by one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>

#include <bloomery/detail/bits/probes.hpp>
#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {

class Counters {
 public:
  Counters(Words words, unsigned counter_bits)
      : words_(words),
        counter_bits_(counter_bits),
        log_bits_(static_cast<unsigned>(std::countr_zero(counter_bits))),
        log_per_word_(6 - log_bits_),
        most_((std::uint64_t{1} << counter_bits) - 1),
        tops_(~std::uint64_t{0} / most_ << (counter_bits - 1)) {
    assert(std::has_single_bit(counter_bits) && counter_bits <= 32 && "a width that divides 64");
  }

  // The maximum, at which a counter stays.
  std::uint64_t most() const { return most_; }

  std::uint64_t get(std::uint64_t i) const {
    return field(words_[i >> log_per_word_], shift_of(i));
  }
  // Calls use with the width, which must be 8, 16 or 32, as a compile-time constant.
  template <class Use>
  [[gnu::always_inline]] auto with_width(Use&& use) const {
    if (counter_bits_ == 16) return use.template operator()<16>();
    return counter_bits_ == 8 ? use.template operator()<8>() : use.template operator()<32>();
  }
  // With the width as a compile-time constant, as all that end in <bits>.
  template <unsigned bits>
  std::uint64_t get_as(std::uint64_t i) const {
    return words_[i / per_word<bits>] >> (i % per_word<bits> * bits) & most_as<bits>;
  }
  std::uint64_t get_shared(std::uint64_t i) const {
    return field(load_shared(words_[i >> log_per_word_]), shift_of(i));
  }

  // Both return the value before.
  std::uint64_t raise(std::uint64_t i) {
    std::uint64_t& word = words_[i >> log_per_word_];
    const std::uint64_t before = field(word, shift_of(i));
    word += std::uint64_t{before != most_} << shift_of(i);
    return before;
  }
  // Relaxed is enough: a counter that is only added to rises, and each call raises the word that it
  // has just read.
  std::uint64_t raise_shared(std::uint64_t i) {
    const unsigned shift = shift_of(i);
    std::atomic_ref word(words_[i >> log_per_word_]);
    std::uint64_t before = word.load(std::memory_order_relaxed);
    while (field(before, shift) != most_ &&
           !word.compare_exchange_weak(before, before + (std::uint64_t{1} << shift),
                                       std::memory_order_relaxed)) {
    }
    return field(before, shift);
  }
  // Raises the counters at these places, each once however often it is named. Read first, then
  // written: a counter that no longer has the value it was read with was raised a moment ago.
  // True: all were above zero.
  template <unsigned bits>
  bool raise_each(const std::uint64_t* places, std::uint32_t count) {
    assert(bits == counter_bits_ && "the width that these counters have");
    std::array<std::uint64_t, most_probes> before;
    bool above = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      before[i] = get_as<bits>(places[i]);
      above &= before[i] != 0;
    }
    for (std::uint32_t i = 0; i < count; ++i) raise_from<bits>(places[i], before[i]);
    return above;
  }
  // The same for those that have the smallest value among them, which is returned.
  template <unsigned bits>
  std::uint64_t raise_smallest(const std::uint64_t* places, std::uint32_t count) {
    const std::uint64_t before = smallest<bits>(places, count);
    for (std::uint32_t i = 0; i < count; ++i) raise_from<bits>(places[i], before);
    return before;
  }
  template <unsigned bits>
  std::uint64_t smallest(const std::uint64_t* places, std::uint32_t count) const {
    std::uint64_t least = most_as<bits>;
    for (std::uint32_t i = 0; i < count; ++i) least = std::min(least, get_as<bits>(places[i]));
    return least;
  }

  void lower(std::uint64_t i) {
    std::uint64_t& word = words_[i >> log_per_word_];
    const std::uint64_t before = field(word, shift_of(i));
    assert(before != 0 && "a counter at zero is not lowered");
    word -= std::uint64_t{before != most_} << shift_of(i);
  }

  [[gnu::always_inline]] void prefetch(std::uint64_t i) const {
    __builtin_prefetch(&words_[i >> log_per_word_], 0, 2);
  }

  // How many counters are not zero; how many are saturated.
  std::uint64_t count_nonzero() const {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words_)
      count += static_cast<std::uint64_t>(std::popcount(nonzero_tops(word)));
    return count;
  }
  std::uint64_t count_stuck() const {
    std::uint64_t below = 0;
    for (const std::uint64_t word : words_)
      below += static_cast<std::uint64_t>(std::popcount(nonzero_tops(~word)));
    return size() - below;
  }
  std::uint64_t size() const { return words_.size() << log_per_word_; }

  // Adds counter by counter; a sum beyond the maximum becomes the maximum.
  void add(const Counters& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = sum_of(words_[i], other.words_[i]);
  }
  // Keeps the smaller of each two counters.
  void keep_smaller(const Counters& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] = smaller_of(words_[i], other.words_[i]);
  }
  void fill() { std::ranges::fill(words_, ~std::uint64_t{0}); }

 private:
  template <unsigned bits>
  static constexpr std::uint64_t most_as = (std::uint64_t{1} << bits) - 1;
  template <unsigned bits>
  static constexpr std::uint64_t per_word = 64 / bits;
  // One more, if it has this value and is not saturated. Written in any case: a branch would be
  // mispredicted half of the time.
  template <unsigned bits>
  void raise_from(std::uint64_t i, std::uint64_t before) {
    std::uint64_t& word = words_[i / per_word<bits>];
    const unsigned shift = static_cast<unsigned>(i % per_word<bits> * bits);
    const bool rises = (((word >> shift) ^ before) & most_as<bits>) == 0 && before != most_as<bits>;
    word += std::uint64_t{rises} << shift;
  }

  unsigned shift_of(std::uint64_t i) const {
    return static_cast<unsigned>(i & ((std::uint64_t{1} << log_per_word_) - 1)) << log_bits_;
  }
  std::uint64_t field(std::uint64_t word, unsigned shift) const { return (word >> shift) & most_; }

  // All ones in the fields whose top bit is set in `tops`.
  std::uint64_t whole_fields(std::uint64_t tops) const {
    return (tops >> (counter_bits_ - 1)) * most_;
  }
  // The top bit of each field that is not zero: a low part that is not zero carries into it.
  std::uint64_t nonzero_tops(std::uint64_t word) const {
    return (((word & ~tops_) + ~tops_) | word) & tops_;
  }
  std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t sum = ((a & ~tops_) + (b & ~tops_)) ^ ((a ^ b) & tops_);
    const std::uint64_t carries = ((a & b) | ((a | b) & ~sum)) & tops_;
    return sum | whole_fields(carries);
  }
  std::uint64_t smaller_of(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t difference = ((a | tops_) - (b & ~tops_)) ^ ((a ^ ~b) & tops_);
    const std::uint64_t borrows = ((~a & b) | (~(a ^ b) & difference)) & tops_;
    const std::uint64_t a_is_less = whole_fields(borrows);
    return (a & a_is_less) | (b & ~a_is_less);
  }

  Words words_;
  unsigned counter_bits_;
  unsigned log_bits_;
  unsigned log_per_word_;
  std::uint64_t most_;
  std::uint64_t tops_;
};

}  // namespace bloomery::inline v0::detail
