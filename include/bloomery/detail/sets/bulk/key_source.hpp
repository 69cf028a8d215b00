// A span of keys as the inputs of a kind, some at a time: what the pipeline draws from.
//
//    ReadyInputs<Input>   they are inputs already
//    Integers<T>          hashed, as many at once as the CPU can
//    Texts<T, Input>      hashed one by one, their bytes prefetched some steps before
//    Ordinals<T>          integers as themselves; those outside the range stand at its low end and
//                         have no place
//
// Limits:  borrows the keys.
// Threads: a value; any number may draw from one.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

// make(first, n, out) writes the inputs of keys [first, first + n); have_place(first, n) tells
// which of n <= 64 keys have a place in the set at all.
template <class S, class Input>
concept KeySource = requires(const S source, std::size_t first, std::size_t n, Input* out) {
  { source.size() } -> std::same_as<std::size_t>;
  source.make(first, n, out);
  { source.have_place(first, n) } -> std::same_as<std::uint64_t>;
};

inline constexpr std::uint64_t all_have_place = ~std::uint64_t{0};

template <class Input>
class ReadyInputs {
 public:
  explicit ReadyInputs(std::span<const Input> inputs) : inputs_(inputs) {}

  std::size_t size() const { return inputs_.size(); }
  const Input* inputs() const { return inputs_.data(); }
  void make(std::size_t first, std::size_t n, Input* out) const {
    std::copy_n(inputs_.data() + first, n, out);
  }
  std::uint64_t have_place(std::size_t, std::size_t) const { return detail::all_have_place; }

 private:
  std::span<const Input> inputs_;
};

// Integers that are hashed to 64 bits.
template <IntegerKey T>
class Integers {
 public:
  Integers(std::span<const T> keys, const Hasher& hasher) : keys_(keys), hasher_(hasher) {}

  std::size_t size() const { return keys_.size(); }
  void make(std::size_t first, std::size_t n, Hash* out) const {
    const T* keys = keys_.data() + first;
    if (hasher_.mode() != HashMode::fast) {
      for (std::size_t i = 0; i < n; ++i) out[i] = hasher_(keys[i]);
      return;
    }
    auto* hashes = reinterpret_cast<std::uint64_t*>(out);
    if constexpr (std::same_as<std::make_unsigned_t<T>, std::uint64_t>) {
      kernels().hash_words(reinterpret_cast<const std::uint64_t*>(keys), n, hasher_.seed(), hashes);
    } else {
      for (std::size_t i = 0; i < n; ++i) hashes[i] = Hasher::widen(keys[i]);
      kernels().hash_words(hashes, n, hasher_.seed(), hashes);
    }
  }
  std::uint64_t have_place(std::size_t, std::size_t) const { return detail::all_have_place; }

  // For fused steps (kernels.hpp): a step of keys as words, in `room` or where they lie.
  bool hashed_by_kernels() const { return hasher_.mode() == HashMode::fast; }
  std::uint64_t flip() const { return hasher_.flip(); }
  const std::uint64_t* words(std::size_t first, std::uint64_t (&room)[step_keys]) const {
    const T* keys = keys_.data() + first;
    if constexpr (std::same_as<std::make_unsigned_t<T>, std::uint64_t>)
      return reinterpret_cast<const std::uint64_t*>(keys);
    for (std::size_t i = 0; i < step_keys; ++i) room[i] = Hasher::widen(keys[i]);
    return room;
  }

 private:
  std::span<const T> keys_;
  Hasher hasher_;
};

// Strings and byte spans, and integers for sets of 128-bit hashes.
template <Hashable T, class Input>
class Texts {
 public:
  Texts(std::span<const T> keys, const Hasher& hasher) : keys_(keys), hasher_(hasher) {}

  std::size_t size() const { return keys_.size(); }
  void make(std::size_t first, std::size_t n, Input* out) const {
    for (std::size_t i = first; i < first + n; ++i) {
      if (i + texts_ahead < keys_.size()) call_for(keys_[i + texts_ahead]);
      if constexpr (std::same_as<Input, WideHash>)
        *out++ = hasher_.wide(keys_[i]);
      else
        *out++ = hasher_(keys_[i]);
    }
  }
  std::uint64_t have_place(std::size_t, std::size_t) const { return detail::all_have_place; }

 private:
  static constexpr std::size_t texts_ahead = 48;

  // The first two cache lines, into the L2 cache, which can have more misses in flight; the
  // hardware prefetcher continues with longer texts.
  [[gnu::always_inline]] static void call_for(const T& key) {
    if constexpr (TextKey<T>) {
      const std::string_view text = key;
      __builtin_prefetch(text.data(), 0, 2);
      __builtin_prefetch(text.data() + std::min<std::size_t>(text.size(), 64), 0, 2);
    }
  }

  std::span<const T> keys_;
  Hasher hasher_;
};

// The value of an integer key, negative ones at the upper end.
template <class T>
std::uint64_t ordinal_value(const T& key) {
  if constexpr (std::same_as<T, Ordinal>)
    return key.value;
  else
    return static_cast<std::uint64_t>(key);
}

// Whether low <= key <= high for all keys. The range is narrower than 2^63, so a key outside leaves
// the highest bit in its distance to one of the ends: no branch, and blocks of a known length,
// which compilers turn into vectors.
template <class T>
bool all_between(std::span<const T> keys, std::uint64_t low, std::uint64_t high) {
  assert(high - low < std::uint64_t{1} << 63 && "maps are narrower");
  std::uint64_t outside = 0;
  const auto look_at = [&](const T& key) {
    const std::uint64_t value = ordinal_value(key);
    outside |= (value - low) | (high - value);
    if constexpr (std::signed_integral<T>) outside |= value;
  };
  constexpr std::size_t block = 32;
  std::size_t i = 0;
  for (; keys.size() - i >= block; i += block)
    for (std::size_t k = 0; k < block; ++k) look_at(keys[i + k]);
  for (; i < keys.size(); ++i) look_at(keys[i]);
  return outside >> 63 == 0;
}

// Integers as themselves, for the exact maps.
template <class T>
class Ordinals {
 public:
  Ordinals(std::span<const T> keys, std::uint64_t low, std::uint64_t high)
      : keys_(keys), low_(low), high_(high), all_inside_(all_between(keys, low, high)) {}

  std::size_t size() const { return keys_.size(); }
  void make(std::size_t first, std::size_t n, Ordinal* out) const {
    const T* keys = keys_.data() + first;
    if (all_inside_)
      for (std::size_t i = 0; i < n; ++i) out[i] = {ordinal_value(keys[i])};
    else
      for (std::size_t i = 0; i < n; ++i)
        out[i] = {has_place(keys[i]) ? ordinal_value(keys[i]) : low_};
  }
  std::uint64_t have_place(std::size_t first, std::size_t n) const {
    if (all_inside_) return detail::all_have_place;
    std::uint64_t inside = 0;
    for (std::size_t i = 0; i < n; ++i) inside |= std::uint64_t{has_place(keys_[first + i])} << i;
    return inside;
  }

 private:
  bool has_place(const T& key) const {
    if constexpr (std::signed_integral<T>)
      if (key < 0) return false;
    return ordinal_value(key) - low_ <= high_ - low_;
  }

  std::span<const T> keys_;
  std::uint64_t low_;
  std::uint64_t high_;
  bool all_inside_;
};

// The source for keys of this type as hashes of 64 or 128 bits.
template <class Input, class T>
auto hashed_source(std::span<const T> keys, const Hasher& hasher) {
  if constexpr (std::same_as<T, Input>)
    return ReadyInputs<Input>(keys);
  else if constexpr (IntegerKey<T> && std::same_as<Input, Hash>)
    return Integers<T>(keys, hasher);
  else
    return Texts<T, Input>(keys, hasher);
}

// The source for keys of this type in a set of this kind.
template <class K, class T>
auto source_of(const K& kind, std::span<const T> keys, const Hasher& hasher) {
  if constexpr (std::same_as<typename K::Input, Ordinal>)
    return Ordinals<T>(keys, kind.shape().low, kind.shape().high);
  else
    return hashed_source<typename K::Input>(keys, hasher);
}

}  // namespace bloomery::inline v0::detail
