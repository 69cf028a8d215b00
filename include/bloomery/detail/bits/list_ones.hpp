// The ones of many words, in ascending order: to a function, or to an array.
//
//    words --64 at a time, a kernel--> places --first bit added--> function or array
//
// The kernel lists where the ones are without a branch on each of them, which takes a third of the
// time of a loop over the bits where one in a hundred is set (docs/benchmarks.md).
// Threads: functions of their arguments; the words must not change meanwhile.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::size_t listed_places = listed_words * word_bits;

// Calls `each(bit)` for every one of a word whose first bit is `base`; false: it returned false.
template <class Each>
bool for_each_one_of(std::uint64_t word, std::uint64_t base, Each& each) {
  for (; word != 0; word &= word - 1)
    if (!goes_on(each, base + static_cast<std::uint64_t>(std::countr_zero(word)))) return false;
  return true;
}

// Calls `each(bit)` for every bit that is one, in ascending order, until it returns false. Ones may
// be listed up to 64 words before their turn.
template <class Each>
void for_each_one(ConstWords words, Each&& each) {
  const auto list_ones = kernels().list_ones;
  if (list_ones == nullptr) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (!for_each_one_of(words[i], i * word_bits, each)) return;
    return;
  }
  std::uint32_t places[listed_places];
  for (std::size_t i = 0; i < words.size(); i += listed_words) {
    const std::size_t n = std::min(listed_words, words.size() - i);
    const std::size_t ones = list_ones(&words[i], n, 0, places);
    for (std::size_t k = 0; k < ones; ++k)
      if (!goes_on(each, i * word_bits + places[k])) return;
  }
}

// The kernel that lists places as integers of this type.
template <class T>
auto kernel_listing() {
  if constexpr (std::same_as<T, std::uint32_t>)
    return kernels().list_ones;
  else
    return kernels().list_ones_wide;
}

// Writes low + bit for every bit from `first` on that is one, in ascending order, as many as `to`
// holds; returns how many. T is an unsigned integer of 32 or 64 bits, and holds all of them.
template <class T>
std::size_t copy_ones(ConstWords words, std::uint64_t first, std::uint64_t low, std::span<T> to) {
  const auto list_ones = kernel_listing<T>();
  T* at = to.data();
  T* const end = at + to.size();
  const auto put = [&](std::uint64_t bit) {
    if (at == end) return false;
    *at++ = static_cast<T>(low + bit);
    return true;
  };
  std::size_t i = first / word_bits;
  if (first % word_bits != 0 && i < words.size()) {
    const std::uint64_t rest = words[i] & (~std::uint64_t{0} << (first % word_bits));
    for_each_one_of(rest, i * word_bits, put);
    ++i;
  }
  // Straight to its place while there is room for any number of ones.
  if (list_ones != nullptr)
    for (; i < words.size(); i += listed_words) {
      const std::size_t n = std::min(listed_words, words.size() - i);
      if (static_cast<std::size_t>(end - at) < n * word_bits) break;
      at += list_ones(&words[i], n, static_cast<T>(low + i * word_bits), at);
    }
  if (i < words.size() && at != end)
    for_each_one(words.subspan(i), [&](std::uint64_t bit) { return put(i * word_bits + bit); });
  return static_cast<std::size_t>(at - to.data());
}

}  // namespace bloomery::inline v0::detail
