// From a key to its hash: the only way in which keys enter an approximate set.
//
//    text, bytes --> XXH3-64 (fast) or SipHash-1-3 (hardened) --> Hash
//    integers    --> the same, over 8 little-endian bytes, sign-extended
//    integers    --> Ordinal, unhashed, for the exact maps
//
// Prefer to give sets your keys and let them hash; hash yourself where several sets are asked for
// one key. A type of your own is a key once a function says which integer, text or bytes it is
// hashed as. The function lies in the namespace of the type, where argument-dependent lookup finds
// it:
//
// Example:
//    #include <bloomery/set.hpp>
//    namespace shop {
//    struct Item { std::uint32_t store; std::uint32_t number; };
//    std::uint64_t bloomery_key(const Item& item) {
//      return std::uint64_t{item.store} << 32 | item.number; }
//    }
//    const Hasher hasher(7);                       // a seed; Hasher(secret) is hardened
//    Set<BlockedBloom> seen({.keys = 1'000, .rate = 0.01}, hasher);
//    seen.add(shop::Item{7, 42});                  // as add(7 << 32 | 42): the set holds integers
//    const Hash hash = hasher(shop::Item{7, 42});
//    if (seen.may_contain(hash)) crawl("seen");    // hashed once, asked of many sets
//
// It may return anything that is a key by itself: std::string_view, std::string,
// std::array<std::byte, 12>. A struct is never hashed as it lies in memory: padding bytes differ
// between equal values, and a key would not be found again.
//
// The functions never change: a saved set is useless under another hash. The output of XXH3 is
// frozen since libxxhash 0.8.0; hash_golden_test pins the values.
// Errors:  none; a type without bloomery_key does not compile.
// Limits:  `fast` does not protect against people who choose keys that collide; `hardened` does.
//          64 bits: an absent key shares all of them with one of n keys with chance n / 2^64.
// Threads: a Hasher is a value; any number may use one.
// See:     docs/library.md "Keys".
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

#include <bloomery/detail/hash/siphash.hpp>
#include <bloomery/detail/hash/steady.hpp>
#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/detail/hash/xxh3_word.hpp>

namespace bloomery::inline v0 {

using detail::SecretKey;

// Sixty-four well-mixed bits of a key. Never an integer that merely has 64 bits.
struct Hash {
  std::uint64_t bits = 0;
  friend constexpr auto operator<=>(const Hash&, const Hash&) = default;
};

// A key's 128 bits, for the exact hash set. Ordered by its high half first.
struct WideHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const WideHash&, const WideHash&) = default;
};

// An integer that is not hashed. Exact maps take these, never a Hash: a bitmap that is asked with
// hashes would give meaningless answers.
struct Ordinal {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const Ordinal&, const Ordinal&) = default;
};

// Integers that may be keys. bool and the character types are refused: they are nearly always a
// mistake (a string literal that decayed, a comparison).
template <class T>
concept IntegerKey =
    std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> &&
    !std::same_as<std::remove_cv_t<T>, char> && !std::same_as<std::remove_cv_t<T>, wchar_t> &&
    !std::same_as<std::remove_cv_t<T>, char8_t> && !std::same_as<std::remove_cv_t<T>, char16_t> &&
    !std::same_as<std::remove_cv_t<T>, char32_t> && sizeof(T) <= 8;

template <class T>
concept TextKey =
    std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

// Vectors, arrays and spans of bytes: std::byte or unsigned char.
template <class T>
concept BytesKey = !TextKey<T> && std::ranges::contiguous_range<const T> &&
                   (std::same_as<std::ranges::range_value_t<T>, std::byte> ||
                    std::same_as<std::ranges::range_value_t<T>, unsigned char>);

// Types with a function bloomery_key (see above), which is asked before anything else.
template <class T>
concept UserKey = (std::is_class_v<T> || std::is_enum_v<T>)&&requires(const T& key) {
  requires IntegerKey<std::remove_cvref_t<decltype(bloomery_key(key))>> ||
      TextKey<std::remove_cvref_t<decltype(bloomery_key(key))>> ||
      BytesKey<std::remove_cvref_t<decltype(bloomery_key(key))>>;
};

// What a Set takes as a key and hashes itself.
template <class T>
concept Hashable = IntegerKey<T> || TextKey<T> || BytesKey<T> || UserKey<T>;

enum class HashMode : std::uint8_t {
  fast = 1,      // XXH3-64 with a public seed
  hardened = 2,  // SipHash-1-3 with a secret key
};

class Hasher {
 public:
  // Seed 0 unless told otherwise, so that any two sets can be united.
  explicit constexpr Hasher(std::uint64_t seed = 0) : flip_(detail::xxh3_flip(seed)), seed_(seed) {}
  static constexpr Hasher hardened(SecretKey key) {
    Hasher hasher;
    hasher.mode_ = HashMode::hardened;
    hasher.key_ = key;
    return hasher;
  }

  constexpr HashMode mode() const { return mode_; }
  constexpr std::uint64_t seed() const { return seed_; }
  // What the kernels that hash integers need of the seed (xxh3_word.hpp).
  constexpr std::uint64_t flip() const { return flip_; }
  constexpr SecretKey key() const { return key_; }
  friend constexpr bool operator==(const Hasher&, const Hasher&) = default;

  template <Hashable T>
  Hash operator()(const T& key) const {
    if constexpr (UserKey<T>) {
      return (*this)(bloomery_key(key));
    } else if constexpr (IntegerKey<T>) {
      return of_word(widen(key));
    } else if constexpr (TextKey<T>) {
      const std::string_view text = key;
      return of_bytes(text.data(), text.size());
    } else {
      return of_bytes(std::ranges::data(key), std::ranges::size(key));
    }
  }

  // The same where mode() is known to be fast.
  template <Hashable T>
  Hash fast(const T& key) const {
    if constexpr (UserKey<T>) {
      return fast(bloomery_key(key));
    } else if constexpr (IntegerKey<T>) {
      return {detail::xxh3_of_word(widen(key), flip_)};
    } else if constexpr (TextKey<T>) {
      const std::string_view text = key;
      return {detail::xxh3_64(text.data(), text.size(), seed_)};
    } else {
      return {detail::xxh3_64(std::ranges::data(key), std::ranges::size(key), seed_)};
    }
  }

  template <Hashable T>
  WideHash wide(const T& key) const {
    if constexpr (UserKey<T>) {
      return wide(bloomery_key(key));
    } else if constexpr (IntegerKey<T>) {
      return wide_of_word(widen(key));
    } else if constexpr (TextKey<T>) {
      const std::string_view text = key;
      return wide_of_bytes(text.data(), text.size());
    } else {
      return wide_of_bytes(std::ranges::data(key), std::ranges::size(key));
    }
  }

  // An integer as the eight bytes that are hashed: sign-extended.
  template <IntegerKey T>
  static constexpr std::uint64_t widen(T key) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
    else
      return key;
  }

  // Lets a reader check that it has the right secret, without storing the secret: SipHash of a
  // fixed text under the key. 0 in fast mode.
  std::uint64_t key_check() const {
    constexpr std::string_view text = "bloomery key check";
    return mode_ == HashMode::fast ? 0 : detail::siphash13(text.data(), text.size(), key_);
  }

 private:
  Hash of_word(std::uint64_t word) const {
    if (mode_ == HashMode::fast) [[likely]]
      return {detail::xxh3_of_word(word, flip_)};
    return hardened_of_word(word);
  }
  // Takes a copy: if its address were taken, the word would have to be in memory for the fast hash.
  [[gnu::noinline, gnu::cold]] Hash hardened_of_word(std::uint64_t word) const {
    return hardened_of_bytes(&word, sizeof word);
  }
  Hash of_bytes(const void* bytes, std::size_t length) const {
    if (mode_ == HashMode::fast) [[likely]]
      return {detail::xxh3_64(bytes, length, seed_)};
    return hardened_of_bytes(bytes, length);
  }
  // Out of line, so that loops over the fast hash stay short.
  [[gnu::noinline, gnu::cold]] Hash hardened_of_bytes(const void* bytes, std::size_t length) const {
    return {detail::siphash13(bytes, length, key_)};
  }

  WideHash wide_of_word(std::uint64_t word) const {
    if (mode_ == HashMode::fast) [[likely]] {
      detail::TwoWords both = detail::xxh3_128_of_word(word, seed_);
      detail::keep_in_registers(both);
      return {both.high, both.low};
    }
    return {hardened_of_word(word).bits, other_half_of_word(word)};
  }
  WideHash wide_of_bytes(const void* bytes, std::size_t length) const {
    if (mode_ == HashMode::fast) [[likely]] {
      detail::TwoWords both = detail::xxh3_128(bytes, length, seed_);
      detail::keep_in_registers(both);
      return {both.high, both.low};
    }
    return {hardened_of_bytes(bytes, length).bits, other_half_of_bytes(bytes, length)};
  }
  // The two halves are independent: the second under the key with every bit inverted. One call for
  // each: if a call returned both, the compiler would keep them in memory, for fast hashes
  // too.
  [[gnu::noinline, gnu::cold]] std::uint64_t other_half_of_word(std::uint64_t word) const {
    return other_half_of_bytes(&word, sizeof word);
  }
  [[gnu::noinline, gnu::cold]] std::uint64_t other_half_of_bytes(const void* bytes,
                                                                 std::size_t length) const {
    return detail::siphash13(bytes, length, SecretKey{~key_.low, ~key_.high});
  }

  HashMode mode_ = HashMode::fast;
  detail::Steady flip_;  // of the seed, for integers
  std::uint64_t seed_ = 0;
  SecretKey key_{};
};

namespace detail {

// Hashes as the bare words that kernels read.
inline const std::uint64_t* bare_words(const Hash* hashes) {
  static_assert(sizeof(Hash) == sizeof(std::uint64_t) && std::is_standard_layout_v<Hash>);
  return reinterpret_cast<const std::uint64_t*>(hashes);
}

}  // namespace detail
}  // namespace bloomery::inline v0
