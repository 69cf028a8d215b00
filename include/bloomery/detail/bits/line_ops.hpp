// The line law (block.hpp) of one key in the registers of a CPU family.
//
//    AVX-512   a line is one register of eight lanes
//    AVX2      a line is two halves of four lanes
//    NEON      a line is four pairs of lanes; every aarch64 has it
//
// The kernels of a family (kernels_*.cpp) use it in their loops; native_line.hpp inlines it into
// callers that are compiled for the CPU they run on.
// Plain on purpose, and always inlined: no copy gets a name under which the linker could hand it to
// a file for an older CPU.
// Limits:  a round is up to 8 probes; further rounds are further calls.
// See:     kernels_test compares every row with the scalar law.
#pragma once

#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <bloomery/detail/bits/lane_runs.hpp>

namespace bloomery::inline v0::detail {

// RoundBits: the bits of a line that a hash, remixed by a constant, owns. Make them before the line
// is located: then the product of hash and blocks may overwrite the register of the hash.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
struct Avx512Line {
  using RoundBits = __m512i;
  // Eight words, as a vector of words. The types of the intrinsics may alias anything, and so the
  // loop invariants too (steady.hpp).
  using LineWords [[gnu::vector_size(64), gnu::aligned(8)]] = std::uint64_t;

  [[gnu::always_inline]] static __m512i load_line(const std::uint64_t* line) {
    return reinterpret_cast<__m512i>(*reinterpret_cast<const LineWords*>(line));
  }

  // Remixed in the lanes where it is used, which was faster than in an integer register when many
  // keys wait for memory (docs/dead_ends.md). A permutation reads only the low three bits of its
  // places, a rotation the low six of its counts, so neither need be cut out.
  [[gnu::always_inline]] static RoundBits round_bits(std::uint64_t hash, std::uint64_t constant,
                                                     const Round& round) {
    const __m512i remixed = _mm512_mullo_epi64(_mm512_set1_epi64(static_cast<long long>(hash)),
                                               _mm512_set1_epi64(static_cast<long long>(constant)));
    const __mmask8 all = 0xff;  // GCC 12 warns callers of the forms without a mask
    const __m512i turned =
        _mm512_maskz_cvtepu8_epi64(all, _mm_cvtsi64_si128(static_cast<long long>(round.turned)));
    const __m512i words = _mm512_sub_epi64(_mm512_maskz_srli_epi64(all, remixed, 13),
                                           _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    const __m512i ones = _mm512_maskz_permutexvar_epi64(all, words, turned);
    const __m512i places =
        _mm512_maskz_srlv_epi64(all, remixed, _mm512_setr_epi64(16, 22, 28, 34, 40, 46, 52, 58));
    return _mm512_maskz_rolv_epi64(all, ones, places);
  }

  // Two rounds as one.
  [[gnu::always_inline]] static RoundBits both(const RoundBits& one, const RoundBits& other) {
    return _mm512_or_si512(one, other);
  }

  // The lanes in which a bit of a round is not set.
  using Missing = __mmask8;

  [[gnu::always_inline]] static Missing missing(const std::uint64_t* line, const RoundBits& bits) {
    return _mm512_cmpneq_epi64_mask(_mm512_and_si512(bits, load_line(line)), bits);
  }
  [[gnu::always_inline]] static Missing either(Missing one, Missing other) {
    return static_cast<Missing>(one | other);
  }
  // Shifts an answer into the lowest bit: is nothing missing?
  [[gnu::always_inline]] static std::uint64_t shift_in(std::uint64_t answers, Missing missing) {
    return answers + answers + (missing == 0);
  }
  // Sets all the bits of a round; returns the lanes in which one of them was not set before.
  [[gnu::always_inline]] static Missing mark_missing(std::uint64_t* line, const RoundBits& bits) {
    const __m512i before = load_line(line);
    const __m512i after = _mm512_or_si512(before, bits);
    *reinterpret_cast<LineWords*>(line) = reinterpret_cast<LineWords>(after);
    return _mm512_cmpneq_epi64_mask(before, after);
  }

  // Are all the bits of a round set?
  [[gnu::always_inline]] static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    return missing(line, bits) == 0;
  }

  // Sets all the bits of a round; returns whether one of them was not set before.
  [[gnu::always_inline]] static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    return mark_missing(line, bits) != 0;
  }
};
#endif

#ifdef __AVX2__
struct Avx2Line {
  struct RoundBits {
    __m256i low;   // lanes 0 to 3
    __m256i high;  // lanes 4 to 7
  };

  // Four words, as above.
  using HalfWords [[gnu::vector_size(32), gnu::aligned(8)]] = std::uint64_t;

  [[gnu::always_inline]] static __m256i load_half(const std::uint64_t* at) {
    return reinterpret_cast<__m256i>(*reinterpret_cast<const HalfWords*>(at));
  }
  [[gnu::always_inline]] static void store_half(std::uint64_t* at, __m256i words) {
    *reinterpret_cast<HalfWords*>(at) = reinterpret_cast<HalfWords>(words);
  }
  [[gnu::always_inline]] static RoundBits load_line(const std::uint64_t* at) {
    return {load_half(at), load_half(at + 4)};
  }

  // Bits of a round that are not set: of both halves over each other, and of two lines.
  using Missing = __m256i;

  [[gnu::always_inline]] static Missing missing(const RoundBits& line, const RoundBits& bits) {
    return _mm256_or_si256(_mm256_andnot_si256(line.low, bits.low),
                           _mm256_andnot_si256(line.high, bits.high));
  }
  [[gnu::always_inline]] static Missing missing(const std::uint64_t* line, const RoundBits& bits) {
    return missing(load_line(line), bits);
  }
  [[gnu::always_inline]] static Missing either(Missing one, Missing other) {
    return _mm256_or_si256(one, other);
  }
  // Shifts an answer into the lowest bit: is nothing missing? The test leaves that in the carry,
  // from where one instruction takes it instead of four.
  [[gnu::always_inline]] static std::uint64_t shift_in(std::uint64_t answers, Missing missing) {
    asm("vptest %2, %1\n\tadc %0, %0"
        : "+r"(answers)
        : "x"(_mm256_setzero_si256()), "x"(missing)
        : "cc");
    return answers;
  }

  [[gnu::always_inline]] static RoundBits round_bits(std::uint64_t hash, std::uint64_t constant,
                                                     const Round& round) {
    const std::uint64_t remixed = hash * constant;
    const RoundBits ones = load_line(round.ones[(remixed >> 13) & 7]);
    const __m256i word = _mm256_set1_epi64x(static_cast<long long>(remixed));
    const __m256i six_bits = _mm256_set1_epi64x(63);
    const __m256i low = _mm256_srlv_epi64(word, _mm256_setr_epi64x(16, 22, 28, 34));
    const __m256i high = _mm256_srlv_epi64(word, _mm256_setr_epi64x(40, 46, 52, 58));
    return {_mm256_sllv_epi64(ones.low, _mm256_and_si256(low, six_bits)),
            _mm256_sllv_epi64(ones.high, _mm256_and_si256(high, six_bits))};
  }

  // Two rounds as one.
  [[gnu::always_inline]] static RoundBits both(const RoundBits& one, const RoundBits& other) {
    return {_mm256_or_si256(one.low, other.low), _mm256_or_si256(one.high, other.high)};
  }

  // Are all the bits of a round set?
  [[gnu::always_inline]] static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    const Missing some = missing(line, bits);
    return _mm256_testz_si256(some, some) != 0;
  }

  // Sets all the bits of a round; returns those that were not set before.
  [[gnu::always_inline]] static Missing mark_missing(std::uint64_t* line, const RoundBits& bits) {
    const RoundBits before = load_line(line);
    store_half(line, _mm256_or_si256(before.low, bits.low));
    store_half(line + 4, _mm256_or_si256(before.high, bits.high));
    return missing(before, bits);
  }

  // The same; returns whether one of them was not set before.
  [[gnu::always_inline]] static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    const Missing some = mark_missing(line, bits);
    return _mm256_testz_si256(some, some) == 0;
  }
};
#endif

#ifdef __aarch64__
struct NeonLine {
  struct RoundBits {
    uint64x2_t pairs[4];  // lanes 0 and 1, 2 and 3, ...
  };

  [[gnu::always_inline]] static RoundBits load_line(const std::uint64_t* at) {
    return {{vld1q_u64(at), vld1q_u64(at + 2), vld1q_u64(at + 4), vld1q_u64(at + 6)}};
  }

  // Bits of a round that are not set: of all pairs over each other, and of two lines.
  using Missing = uint64x2_t;

  [[gnu::always_inline]] static Missing missing(const RoundBits& line, const RoundBits& bits) {
    return vorrq_u64(
        vorrq_u64(vbicq_u64(bits.pairs[0], line.pairs[0]), vbicq_u64(bits.pairs[1], line.pairs[1])),
        vorrq_u64(vbicq_u64(bits.pairs[2], line.pairs[2]),
                  vbicq_u64(bits.pairs[3], line.pairs[3])));
  }
  [[gnu::always_inline]] static Missing missing(const std::uint64_t* line, const RoundBits& bits) {
    return missing(load_line(line), bits);
  }
  [[gnu::always_inline]] static Missing either(Missing one, Missing other) {
    return vorrq_u64(one, other);
  }
  [[gnu::always_inline]] static bool none(Missing missing) {
    return vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0;
  }
  // Shifts an answer into the lowest bit: is nothing missing?
  [[gnu::always_inline]] static std::uint64_t shift_in(std::uint64_t answers, Missing missing) {
    return 2 * answers + (none(missing) ? 1 : 0);
  }

  // A shift reads the lowest byte of its count alone, as a signed number. So the six bits of a lane
  // need two zeros above them, and what is in the other bytes does not matter:
  //
  //    even lanes    bits 0  12  24  36       24 is the start of a byte, so a turn by three bytes
  //    odd lanes     bits 0  12  24  36       finds the places of pairs 2 and 3 in those of 0 and 1
  //
  // Some cores shift in one of their units only; this takes six shifts a line instead of eight.
  [[gnu::always_inline]] static RoundBits round_bits(std::uint64_t hash, std::uint64_t constant,
                                                     const Round& round) {
    const std::uint64_t remixed = hash * constant;
    const RoundBits ones = load_line(round.ones[(remixed >> 13) & 7]);
    const int64x2_t to_the_first{-16, -22};
    const uint64x2_t every_other = vdupq_n_u64(0x03f0'3f03'f03f);
    const uint64x2_t places = vandq_u64(vshlq_u64(vdupq_n_u64(remixed), to_the_first), every_other);
    const uint64x2_t next = vshrq_n_u64(places, 12);
    return {{vshlq_u64(ones.pairs[0], vreinterpretq_s64_u64(places)),
             vshlq_u64(ones.pairs[1], vreinterpretq_s64_u64(next)),
             vshlq_u64(ones.pairs[2], three_bytes_on(places)),
             vshlq_u64(ones.pairs[3], three_bytes_on(next))}};
  }

  // Two rounds as one.
  [[gnu::always_inline]] static RoundBits both(const RoundBits& one, const RoundBits& other) {
    return {{vorrq_u64(one.pairs[0], other.pairs[0]), vorrq_u64(one.pairs[1], other.pairs[1]),
             vorrq_u64(one.pairs[2], other.pairs[2]), vorrq_u64(one.pairs[3], other.pairs[3])}};
  }

  // Are all the bits of a round set?
  [[gnu::always_inline]] static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    return none(missing(line, bits));
  }

  // Sets all the bits of a round; returns those that were not set before.
  [[gnu::always_inline]] static Missing mark_missing(std::uint64_t* line, const RoundBits& bits) {
    const RoundBits before = load_line(line);
    const RoundBits after = both(before, bits);
    vst1q_u64(line, after.pairs[0]);
    vst1q_u64(line + 2, after.pairs[1]);
    vst1q_u64(line + 4, after.pairs[2]);
    vst1q_u64(line + 6, after.pairs[3]);
    return missing(before, bits);
  }

  // The same; returns whether one of them was not set before.
  [[gnu::always_inline]] static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    return !none(mark_missing(line, bits));
  }

 private:
  // Byte 3 of each lane becomes its lowest.
  [[gnu::always_inline]] static int64x2_t three_bytes_on(uint64x2_t words) {
    const uint8x16_t bytes = vreinterpretq_u8_u64(words);
    return vreinterpretq_s64_u8(vextq_u8(bytes, bytes, 3));
  }
};
#endif

}  // namespace bloomery::inline v0::detail
