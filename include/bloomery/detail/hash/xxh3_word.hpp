// XXH3-64 and XXH3-128 of one 8-byte integer: the same values as libxxhash, which computes for each
// key again what depends on the seed alone, and which a loop would have to call.
//
//    word --three rotations, xor flip(seed)--> --two multiplications--> hash
//
// The law swaps halves, flips by the seed, then mixes by two more rotations. Rotations pass through
// xor, so the flip can be mixed beforehand and the word be turned straight from memory.
// Plain on purpose, and always inlined: the kernel files, which are compiled for wider CPUs, use it
// too.
// See: hash_test compares it with the installed library.
#pragma once

#include <cstdint>

#include <bloomery/detail/hash/mulhi.hpp>

namespace bloomery::inline v0::detail {

// Bytes 8 to 15 of XXH3's secret, xor bytes 16 to 23.
inline constexpr std::uint64_t xxh3_word_secret = 0xc73a'b174'c5ec'd5a2;
inline constexpr std::uint64_t xxh3_word_prime = 0x9fb2'1c65'1e98'df25;

[[gnu::always_inline]] constexpr std::uint64_t turned_left(std::uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

// What words are flipped by under a seed, once they are mixed.
constexpr std::uint64_t xxh3_flip(std::uint64_t seed) {
  const auto low = static_cast<std::uint32_t>(seed);
  const std::uint64_t flip =
      xxh3_word_secret - (seed ^ std::uint64_t{__builtin_bswap32(low)} << 32);
  return flip ^ turned_left(flip, 49) ^ turned_left(flip, 24);
}

[[gnu::always_inline]] constexpr std::uint64_t xxh3_of_word(std::uint64_t word,
                                                            std::uint64_t flip) {
  std::uint64_t h = turned_left(word, 32) ^ turned_left(word, 17) ^ turned_left(word, 56) ^ flip;
  h *= xxh3_word_prime;
  h ^= (h >> 35) + sizeof word;
  h *= xxh3_word_prime;
  return h ^ h >> 28;
}

// Bytes 16 to 23 of XXH3's secret, xor bytes 24 to 31.
inline constexpr std::uint64_t xxh3_wide_secret = 0xc4f0'2334'4dc9'94ac;
// The first prime of XXH64, plus four times the length; and the prime of the last mixing.
inline constexpr std::uint64_t xxh3_wide_prime = 0x9e37'79b1'85eb'ca87 + 4 * sizeof(std::uint64_t);
inline constexpr std::uint64_t xxh3_last_prime = 0x1656'6791'9e37'79f9;

//    (word xor flip(seed)) * prime = high, low       each half then mixed with the other, and alone
inline TwoWords xxh3_128_of_word(std::uint64_t word, std::uint64_t seed) {
  const auto swapped = std::uint64_t{__builtin_bswap32(static_cast<std::uint32_t>(seed))} << 32;
  const std::uint64_t keyed = word ^ (xxh3_wide_secret + (seed ^ swapped));
  auto [high, low] = product_of(keyed, xxh3_wide_prime);
  high += 2 * low;
  low ^= high >> 3;
  low ^= low >> 35;
  low *= xxh3_word_prime;
  low ^= low >> 28;
  high ^= high >> 37;
  high *= xxh3_last_prime;
  return {high ^ high >> 32, low};
}

}  // namespace bloomery::inline v0::detail
