// One round of probes in one line, for one key at a time: the law of bits/block.hpp without a
// branch, inlined into the caller.
//
// A caller that is compiled for a CPU with AVX2 (-march=native, -march=x86-64-v3) gets the whole
// line in two registers, with AVX-512 in one; any other caller one probe after the other. Same
// bits, same answers.
// This is the one place outside kernels_*.cpp with intrinsics: a call that the compiler can not
// inline would cost a lone key more than it saves (docs/benchmarks.md "One by one"). Code that is
// compiled for a CPU is the caller's own choice; the library is never compiled that way.
// Limits:  up to 8 probes; further rounds are further calls. All files of a program that include
//          this are compiled for the same CPU: else the linker may hand the wide body to a file
//          that was not.
#pragma once

#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <bloomery/bits/block.hpp>

namespace bloomery {

#if defined(__AVX512F__) && defined(__AVX512DQ__)

namespace detail {

// Rotation takes its count modulo 64, so the six bits need not be cut out.
inline __m512i round_mask(std::uint64_t remixed, unsigned probes) {
  const unsigned start = probes == lanes_per_line ? 0 : (remixed >> 13) & 7;
  const unsigned run = ((1U << probes) - 1) << start;
  const auto lanes = static_cast<__mmask8>(run | run >> lanes_per_line);
  const __m512i word = _mm512_set1_epi64(static_cast<long long>(remixed));
  const __m512i places = _mm512_srlv_epi64(word, _mm512_setr_epi64(16, 22, 28, 34, 40, 46, 52, 58));
  return _mm512_maskz_rolv_epi64(lanes, _mm512_set1_epi64(1), places);
}

inline bool covers(__m512i line, __m512i mask) {
  return _mm512_test_epi64_mask(_mm512_andnot_si512(line, mask), mask) == 0;
}

}  // namespace detail

// Are all the bits of a round set?
inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  return detail::covers(_mm512_loadu_si512(line), detail::round_mask(remixed, probes));
}

// Sets all the bits of a round; returns whether they were set before.
inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  const __m512i mask = detail::round_mask(remixed, probes);
  const __m512i before = _mm512_loadu_si512(line);
  _mm512_storeu_si512(line, _mm512_or_si512(before, mask));
  return detail::covers(before, mask);
}

#elif defined(__AVX2__)

namespace detail {

// Row k, read at 8 - start: a one for each lane of a run of k from `start`.
inline constexpr auto lane_windows = [] {
  std::array<std::array<std::uint64_t, 2 * lanes_per_line>, lanes_per_line + 1> windows{};
  for (unsigned probes = 0; probes <= lanes_per_line; ++probes)
    for (unsigned i = 0; i < 2 * lanes_per_line; ++i)
      windows[probes][i] = i % lanes_per_line < probes;
  return windows;
}();

struct HalfLines {
  __m256i low;   // lanes 0 to 3
  __m256i high;  // lanes 4 to 7
};

inline HalfLines load_line(const std::uint64_t* at) {
  const auto* halves = reinterpret_cast<const __m256i*>(at);
  return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}

inline HalfLines round_mask(std::uint64_t remixed, unsigned probes) {
  const unsigned start = probes == lanes_per_line ? 0 : (remixed >> 13) & 7;
  const HalfLines ones = load_line(lane_windows[probes].data() + lanes_per_line - start);
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
inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  return detail::covers(detail::load_line(line), detail::round_mask(remixed, probes));
}

// Sets all the bits of a round; returns whether they were set before.
inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  const detail::HalfLines mask = detail::round_mask(remixed, probes);
  const detail::HalfLines before = detail::load_line(line);
  auto* halves = reinterpret_cast<__m256i*>(line);
  _mm256_storeu_si256(halves, _mm256_or_si256(before.low, mask.low));
  _mm256_storeu_si256(halves + 1, _mm256_or_si256(before.high, mask.high));
  return detail::covers(before, mask);
}

#else

namespace detail {

// Calls visit(lane, place of the bit) for each probe. The fields of the lanes are turned until the
// run's first comes first, so that each is found by the same shift.
template <class Visit>
void each_place(std::uint64_t remixed, unsigned probes, Visit&& visit) {
  const unsigned start = probes == lanes_per_line ? 0 : (remixed >> 13) & 7;
  const std::uint64_t fields = remixed >> 16;
  std::uint64_t turned = fields >> (6 * start) | fields << (48 - 6 * start);
  for (unsigned i = 0; i < probes; ++i) {
    visit((start + i) % lanes_per_line, turned & 63);
    turned >>= 6;
  }
}

}  // namespace detail

inline bool round_has(const std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  std::uint64_t all = 1;
  detail::each_place(remixed, probes,
                     [&](unsigned lane, std::uint64_t place) { all &= line[lane] >> place; });
  return all != 0;
}

inline bool round_mark(std::uint64_t* line, std::uint64_t remixed, unsigned probes) {
  std::uint64_t all = 1;
  detail::each_place(remixed, probes, [&](unsigned lane, std::uint64_t place) {
    all &= line[lane] >> place;
    line[lane] |= std::uint64_t{1} << place;
  });
  return all != 0;
}

#endif

}  // namespace bloomery
