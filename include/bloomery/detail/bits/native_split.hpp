// One key in one split block, for one key at a time: the law of block.hpp without a branch.
//
// As native_line.hpp does for lines: a caller that is compiled for a CPU with AVX2 inlines it
// with the whole block in one register, any other calls the kernel of the CPU it runs on. The same
// limits hold, for the same reasons.
#pragma once

#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/this_cpu.hpp>

namespace bloomery::inline v0::detail {

template <class Cpu>
struct SplitOps;

template <>
struct SplitOps<AnyCpu> {
  static bool split_has(const Kernels& row, const std::uint32_t* block, std::uint32_t low_half) {
    return row.split_has(block, low_half);
  }

  static bool split_mark(const Kernels& row, std::uint32_t* block, std::uint32_t low_half) {
    return row.split_mark(block, low_half);
  }
};

#ifdef __AVX2__
template <>
struct SplitOps<ThisCpu> {
  // Eight words, as a vector of words: a store of them cannot alias other types (steady.hpp).
  using SplitWords [[gnu::vector_size(32), gnu::aligned(4)]] = std::uint32_t;

  // Word i: one bit of its 32.
  static SplitWords split_bits(std::uint32_t low_half) {
    const SplitWords salts{split_salts[0], split_salts[1], split_salts[2], split_salts[3],
                           split_salts[4], split_salts[5], split_salts[6], split_salts[7]};
    const SplitWords ones{1, 1, 1, 1, 1, 1, 1, 1};
    return ones << ((salts * low_half) >> 27);
  }

  static bool covers(SplitWords block, SplitWords bits) {
    return _mm256_testc_si256(reinterpret_cast<__m256i>(block), reinterpret_cast<__m256i>(bits)) !=
           0;
  }

  // Are all the bits of the key set?
  static bool split_has(const Kernels&, const std::uint32_t* block, std::uint32_t low_half) {
    return covers(*reinterpret_cast<const SplitWords*>(block), split_bits(low_half));
  }

  // Sets them all; returns whether one of them was not set before.
  static bool split_mark(const Kernels&, std::uint32_t* block, std::uint32_t low_half) {
    const SplitWords before = *reinterpret_cast<const SplitWords*>(block);
    const SplitWords bits = split_bits(low_half);
    *reinterpret_cast<SplitWords*>(block) = before | bits;
    return !covers(before, bits);
  }
};
#endif

}  // namespace bloomery::inline v0::detail
