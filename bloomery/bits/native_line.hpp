// One round of probes in one line, for one key at a time: the law of bits/block.hpp without a
// branch, inlined into the caller.
//
// A caller that is compiled for a CPU with AVX2 (-march=native, -march=x86-64-v3) gets the whole
// line in two registers, with AVX-512 in one; any other caller calls the kernel of the CPU it runs
// on. Same bits, same answers.
// This is the one place outside kernels_*.cpp with intrinsics: a lone key is used in so few
// instructions that the call can be told from them (docs/benchmarks.md "One by one"). Code that is
// compiled for a CPU is the caller's own choice; the library is never compiled that way.
// Limits:  up to 8 probes; further rounds are further calls. All files of a program that include
//          this are compiled for the same CPU: else the linker may hand the wide body to a file
//          that was not.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <bloomery/bits/block.hpp>
#include <bloomery/bits/kernels.hpp>
#include <bloomery/bits/lane_runs.hpp>

namespace bloomery {

inline Round round_of(unsigned probes) {
  Round round{{}, lane_runs.windows[probes], &kernels(), probes};
  std::copy_n(lane_runs.by_start[probes], lanes_per_line, round.by_start);
  return round;
}

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace detail {

// Rotation takes its count modulo 64, so the six bits need not be cut out.
inline __m512i round_mask(std::uint64_t remixed, const Round& round) {
  const __mmask8 lanes = round.by_start[remixed >> 13 & 7];
  const __m512i word = _mm512_set1_epi64(static_cast<long long>(remixed));
  const __m512i places = _mm512_srlv_epi64(word, _mm512_setr_epi64(16, 22, 28, 34, 40, 46, 52, 58));
  return _mm512_maskz_rolv_epi64(lanes, _mm512_set1_epi64(1), places);
}

}  // namespace detail

// Are all the bits of a round set?
inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  const __m512i mask = detail::round_mask(remixed, round);
  return _mm512_cmpneq_epi64_mask(_mm512_and_si512(mask, _mm512_loadu_si512(line)), mask) == 0;
}

// Sets all the bits of a round; returns whether one of them was not set before.
inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  const __m512i before = _mm512_loadu_si512(line);
  const __m512i after = _mm512_or_si512(before, detail::round_mask(remixed, round));
  _mm512_storeu_si512(line, after);
  return _mm512_cmpneq_epi64_mask(before, after) != 0;
}

#elif defined(__AVX2__)

namespace detail {

struct HalfLines {
  __m256i low;   // lanes 0 to 3
  __m256i high;  // lanes 4 to 7
};

inline HalfLines load_line(const std::uint64_t* at) {
  const auto* halves = reinterpret_cast<const __m256i*>(at);
  return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}

inline HalfLines round_mask(std::uint64_t remixed, const Round& round) {
  const HalfLines ones = load_line(round.windows + (~(remixed >> 13) & 7));
  const __m256i word = _mm256_set1_epi64x(static_cast<long long>(remixed));
  const __m256i six_bits = _mm256_set1_epi64x(63);
  const __m256i low = _mm256_srlv_epi64(word, _mm256_setr_epi64x(16, 22, 28, 34));
  const __m256i high = _mm256_srlv_epi64(word, _mm256_setr_epi64x(40, 46, 52, 58));
  return {_mm256_sllv_epi64(ones.low, _mm256_and_si256(low, six_bits)),
          _mm256_sllv_epi64(ones.high, _mm256_and_si256(high, six_bits))};
}

inline bool covers(const HalfLines& line, const HalfLines& mask) {
  const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(line.low, mask.low),
                                          _mm256_andnot_si256(line.high, mask.high));
  return _mm256_testz_si256(missing, missing) != 0;
}

}  // namespace detail

// Are all the bits of a round set?
inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  return detail::covers(detail::load_line(line), detail::round_mask(remixed, round));
}

// Sets all the bits of a round; returns whether one of them was not set before.
inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  const detail::HalfLines mask = detail::round_mask(remixed, round);
  const detail::HalfLines before = detail::load_line(line);
  auto* halves = reinterpret_cast<__m256i*>(line);
  _mm256_storeu_si256(halves, _mm256_or_si256(before.low, mask.low));
  _mm256_storeu_si256(halves + 1, _mm256_or_si256(before.high, mask.high));
  return !detail::covers(before, mask);
}

#else

inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  return round.row->round_has(line, remixed, round);
}

inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, const Round& round) {
  return round.row->round_mark(line, remixed, round);
}

#endif

}  // namespace bloomery
