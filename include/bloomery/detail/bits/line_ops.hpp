// The line law (block.hpp) of one key in the registers of a CPU family. kernels_avx512.cpp has a
// second form, for eight keys at a time.
//
//    AVX-512   a line is one register of eight lanes
//    AVX2      a line is two halves of four lanes
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

  // Are all the bits of a round set?
  [[gnu::always_inline]] static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    return _mm512_cmpneq_epi64_mask(_mm512_and_si512(bits, load_line(line)), bits) == 0;
  }

  // Sets all the bits of a round; returns whether one of them was not set before.
  [[gnu::always_inline]] static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    const __m512i before = load_line(line);
    const __m512i after = _mm512_or_si512(before, bits);
    *reinterpret_cast<LineWords*>(line) = reinterpret_cast<LineWords>(after);
    return _mm512_cmpneq_epi64_mask(before, after) != 0;
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

  [[gnu::always_inline]] static bool covers(const RoundBits& line, const RoundBits& mask) {
    const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(line.low, mask.low),
                                            _mm256_andnot_si256(line.high, mask.high));
    return _mm256_testz_si256(missing, missing) != 0;
  }

  [[gnu::always_inline]] static RoundBits round_bits(std::uint64_t hash, std::uint64_t constant,
                                                     const Round& round) {
    const std::uint64_t remixed = hash * constant;
    const RoundBits ones = load_line(round.windows + (~(remixed >> 13) & 7));
    const __m256i word = _mm256_set1_epi64x(static_cast<long long>(remixed));
    const __m256i six_bits = _mm256_set1_epi64x(63);
    const __m256i low = _mm256_srlv_epi64(word, _mm256_setr_epi64x(16, 22, 28, 34));
    const __m256i high = _mm256_srlv_epi64(word, _mm256_setr_epi64x(40, 46, 52, 58));
    return {_mm256_sllv_epi64(ones.low, _mm256_and_si256(low, six_bits)),
            _mm256_sllv_epi64(ones.high, _mm256_and_si256(high, six_bits))};
  }

  // Are all the bits of a round set?
  [[gnu::always_inline]] static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    return covers(load_line(line), bits);
  }

  // Sets all the bits of a round; returns whether one of them was not set before.
  [[gnu::always_inline]] static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    const RoundBits before = load_line(line);
    store_half(line, _mm256_or_si256(before.low, bits.low));
    store_half(line + 4, _mm256_or_si256(before.high, bits.high));
    return !covers(before, bits);
  }
};
#endif

}  // namespace bloomery::inline v0::detail
