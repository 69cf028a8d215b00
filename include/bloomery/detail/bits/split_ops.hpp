// The split-block law (block.hpp) in the registers of a CPU family: one of eight words for AVX2 and
// AVX-512 alike, two of four for NEON. As line_ops.hpp: plain on purpose, and always inlined.
#pragma once

#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {

#ifdef __AVX2__
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

  // The same, their answer shifted into the lowest bit: were all the bits set? (line_ops.hpp)
  [[gnu::always_inline]] static std::uint64_t shift_in_has(std::uint64_t answers,
                                                           const std::uint32_t* block,
                                                           std::uint32_t low_half) {
    return shift_in(answers, *reinterpret_cast<const SplitWords*>(block), bits_of(low_half));
  }
  [[gnu::always_inline]] static std::uint64_t shift_in_mark(std::uint64_t answers,
                                                            std::uint32_t* block,
                                                            std::uint32_t low_half) {
    const SplitWords before = *reinterpret_cast<const SplitWords*>(block);
    const SplitWords bits = bits_of(low_half);
    *reinterpret_cast<SplitWords*>(block) = before | bits;
    return shift_in(answers, before, bits);
  }
  [[gnu::always_inline]] static std::uint64_t shift_in(std::uint64_t answers, SplitWords block,
                                                       SplitWords bits) {
    asm("vptest %2, %1\n\tadc %0, %0" : "+r"(answers) : "x"(block), "x"(bits) : "cc");
    return answers;
  }
};
#endif

#ifdef __aarch64__
struct SplitWordsOps {
  struct SplitWords {
    uint32x4_t low;   // words 0 to 3
    uint32x4_t high;  // words 4 to 7
  };

  [[gnu::always_inline]] static SplitWords load(const std::uint32_t* block) {
    return {vld1q_u32(block), vld1q_u32(block + 4)};
  }

  // Word i: one bit of its 32.
  [[gnu::always_inline]] static SplitWords bits_of(std::uint32_t low_half) {
    const uint32x4_t low{split_salts[0], split_salts[1], split_salts[2], split_salts[3]};
    const uint32x4_t high{split_salts[4], split_salts[5], split_salts[6], split_salts[7]};
    return {bits_at(vmulq_n_u32(low, low_half)), bits_at(vmulq_n_u32(high, low_half))};
  }

  [[gnu::always_inline]] static bool covers(const SplitWords& block, const SplitWords& bits) {
    return vmaxvq_u32(
               vorrq_u32(vbicq_u32(bits.low, block.low), vbicq_u32(bits.high, block.high))) == 0;
  }

  [[gnu::always_inline]] static bool has(const std::uint32_t* block, std::uint32_t low_half) {
    return covers(load(block), bits_of(low_half));
  }

  [[gnu::always_inline]] static bool mark(std::uint32_t* block, std::uint32_t low_half) {
    const SplitWords before = load(block);
    const SplitWords bits = bits_of(low_half);
    vst1q_u32(block, vorrq_u32(before.low, bits.low));
    vst1q_u32(block + 4, vorrq_u32(before.high, bits.high));
    return !covers(before, bits);
  }

  // The same, their answer shifted into the lowest bit: were all the bits set? (line_ops.hpp)
  [[gnu::always_inline]] static std::uint64_t shift_in_has(std::uint64_t answers,
                                                           const std::uint32_t* block,
                                                           std::uint32_t low_half) {
    return 2 * answers + (has(block, low_half) ? 1 : 0);
  }
  [[gnu::always_inline]] static std::uint64_t shift_in_mark(std::uint64_t answers,
                                                            std::uint32_t* block,
                                                            std::uint32_t low_half) {
    return 2 * answers + (mark(block, low_half) ? 0 : 1);
  }

 private:
  // The bit that the upper five of each word name.
  [[gnu::always_inline]] static uint32x4_t bits_at(uint32x4_t products) {
    return vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(vshrq_n_u32(products, 27)));
  }
};
#endif

}  // namespace bloomery::inline v0::detail
