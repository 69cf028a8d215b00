// The split-block law (block.hpp) in one register of eight words: the only vector text of it, for
// AVX2 and AVX-512 alike. As line_ops.hpp: plain on purpose, and always inlined.
#pragma once

#ifdef __AVX2__

#include <immintrin.h>

#include <cstdint>

#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {

struct SplitWordsOps {
  // Eight words, as a vector of words: a store of them cannot alias other types (steady.hpp).
  using SplitWords [[gnu::vector_size(32), gnu::aligned(4)]] = std::uint32_t;

  // Word i: one bit of its 32.
  [[gnu::always_inline]] static SplitWords bits_of(std::uint32_t low_half) {
    const SplitWords salts{split_salts[0], split_salts[1], split_salts[2], split_salts[3],
                           split_salts[4], split_salts[5], split_salts[6], split_salts[7]};
    const SplitWords ones{1, 1, 1, 1, 1, 1, 1, 1};
    return ones << ((salts * low_half) >> 27);
  }

  [[gnu::always_inline]] static bool covers(SplitWords block, SplitWords bits) {
    return _mm256_testc_si256(reinterpret_cast<__m256i>(block), reinterpret_cast<__m256i>(bits)) !=
           0;
  }

  [[gnu::always_inline]] static bool has(const std::uint32_t* block, std::uint32_t low_half) {
    return covers(*reinterpret_cast<const SplitWords*>(block), bits_of(low_half));
  }

  [[gnu::always_inline]] static bool mark(std::uint32_t* block, std::uint32_t low_half) {
    const SplitWords before = *reinterpret_cast<const SplitWords*>(block);
    const SplitWords bits = bits_of(low_half);
    *reinterpret_cast<SplitWords*>(block) = before | bits;
    return !covers(before, bits);
  }
};

}  // namespace bloomery::inline v0::detail

#endif
