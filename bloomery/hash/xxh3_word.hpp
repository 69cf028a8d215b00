// XXH3-64 of eight bytes, an integer: the same values as libxxhash, which must work out anew for
// each key what depends on the seed alone.
//
//    word --halves swapped--> xor flip(seed) --two rotations, two multiplications--> hash
//
// Plain on purpose: the kernel files, which are compiled for wider CPUs, read the constants too.
// See: hash_test compares it with the installed library.
#pragma once

#include <cstdint>

namespace bloomery {

// Bytes 8 to 15 of XXH3's secret, xor bytes 16 to 23.
inline constexpr std::uint64_t xxh3_word_secret = 0xc73a'b174'c5ec'd5a2;
inline constexpr std::uint64_t xxh3_word_prime = 0x9fb2'1c65'1e98'df25;

// What words are turned by under a seed.
constexpr std::uint64_t xxh3_flip(std::uint64_t seed) {
  const auto low = static_cast<std::uint32_t>(seed);
  return xxh3_word_secret - (seed ^ std::uint64_t{__builtin_bswap32(low)} << 32);
}

constexpr std::uint64_t turned_left(std::uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

constexpr std::uint64_t xxh3_of_word(std::uint64_t word, std::uint64_t flip) {
  std::uint64_t h = turned_left(word, 32) ^ flip;
  h ^= turned_left(h, 49) ^ turned_left(h, 24);
  h *= xxh3_word_prime;
  h ^= (h >> 35) + sizeof word;
  h *= xxh3_word_prime;
  return h ^ h >> 28;
}

}  // namespace bloomery
