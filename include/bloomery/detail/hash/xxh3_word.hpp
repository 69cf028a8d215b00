// XXH3-64 of one 8-byte integer: the same values as libxxhash, which computes for each key again
// what depends on the seed alone.
//
//    word --three rotations, xor flip(seed)--> --two multiplications--> hash
//
// The law swaps halves, flips by the seed, then mixes by two more rotations. Rotations pass through
// xor, so the flip can be mixed beforehand and the word be turned straight from memory.
// Plain on purpose: the kernel files, which are compiled for wider CPUs, read the constants too.
// See: hash_test compares it with the installed library.
#pragma once

#include <cstdint>

namespace bloomery::inline v0::detail {

// Bytes 8 to 15 of XXH3's secret, xor bytes 16 to 23.
inline constexpr std::uint64_t xxh3_word_secret = 0xc73a'b174'c5ec'd5a2;
inline constexpr std::uint64_t xxh3_word_prime = 0x9fb2'1c65'1e98'df25;

constexpr std::uint64_t turned_left(std::uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

// What words are flipped by under a seed, once they are mixed.
constexpr std::uint64_t xxh3_flip(std::uint64_t seed) {
  const auto low = static_cast<std::uint32_t>(seed);
  const std::uint64_t flip =
      xxh3_word_secret - (seed ^ std::uint64_t{__builtin_bswap32(low)} << 32);
  return flip ^ turned_left(flip, 49) ^ turned_left(flip, 24);
}

constexpr std::uint64_t xxh3_of_word(std::uint64_t word, std::uint64_t flip) {
  std::uint64_t h = turned_left(word, 32) ^ turned_left(word, 17) ^ turned_left(word, 56) ^ flip;
  h *= xxh3_word_prime;
  h ^= (h >> 35) + sizeof word;
  h *= xxh3_word_prime;
  return h ^ h >> 28;
}

}  // namespace bloomery::inline v0::detail
