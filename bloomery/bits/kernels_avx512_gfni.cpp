// An AVX-512 copy of bits/ribbon_solution.cpp, with the instructions for 8 x 8 matrices of bits
// (GFNI) and permutations of bytes (VBMI). The first CPUs with AVX-512 lack them and take the law.
//
//    an octet of rows, eight columns:   64 bits
//    as rows       byte 7 - j           row j, a bit for each column
//    as a matrix   byte 7 - c           column c, a bit for each row: what GFNI multiplies by
//
// Multiplying the coefficients of eight rows for one octet by that octet is one instruction, and a
// register does so for all eight octets of the windows at once:
//
//    lane     0           1      2    ...  7      of `window`
//    octet    8 later     next               7 later
//
// What eight rows say of each other is solved beforehand: with N the coefficients of a row for the
// later ones of its octet, (1 + N)^-1 = (1 + N)(1 + N^2)(1 + N^4), as N^8 = 0.
#include <immintrin.h>

#include <cstdint>

#include <bloomery/detail/bits/kernels.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Byte 7 - j: bit j. Each row is itself.
constexpr std::uint64_t unit = 0x0102'0408'1020'4080;
// Byte 7 - j: the bits below j, which stand for the rows 64 later; and those above.
constexpr std::uint64_t below = 0x0001'0307'0f1f'3f7f;
constexpr std::uint64_t above = 0xfefc'f8f0'e0c0'8000;

inline __m512i all(std::uint64_t word) { return _mm512_set1_epi64(static_cast<long long>(word)); }
inline __m128i one(std::uint64_t word) { return _mm_cvtsi64_si128(static_cast<long long>(word)); }

// Rows times what a matrix holds; and rows as such a matrix.
inline __m128i product(__m128i rows, __m128i matrix) {
  return _mm_gf2p8affine_epi64_epi8(rows, matrix, 0);
}
inline __m512i product(__m512i rows, __m512i matrix) {
  return _mm512_gf2p8affine_epi64_epi8(rows, matrix, 0);
}
inline __m128i matrix_of(__m128i rows) { return product(one(unit), rows); }
inline __m512i matrix_of(__m512i rows) { return product(all(unit), rows); }

inline __m128i inverse(__m128i n) {
  const __m128i unit_matrix = matrix_of(one(unit));
  const __m128i n2 = product(n, matrix_of(n));
  const __m128i n2_matrix = matrix_of(n2);
  const __m128i n4 = product(n2, n2_matrix);
  const __m128i first = product(_mm_xor_si128(n, one(unit)), _mm_xor_si128(n2_matrix, unit_matrix));
  return product(first, _mm_xor_si128(matrix_of(n4), unit_matrix));
}

inline __m128i sum_of_lanes(__m512i lanes) {
  const __m256i four =
      _mm256_xor_si256(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
  const __m128i two =
      _mm_xor_si128(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return _mm_xor_si128(two, _mm_unpackhi_epi64(two, two));
}

// to byte 8 i + k from byte 8 k + i
inline __m512i square_of_bytes() {
  const __m512i row = _mm512_set1_epi64(0x3830'2820'1810'0800);
  return _mm512_add_epi8(row, _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                                 all(0x0101'0101'0101'0101)));
}

// to byte 8 c + o from byte 7 - c of the lane of octet o
inline __m512i words_of_lanes() {
  const __m512i octets = _mm512_set1_epi64(0x0038'3028'2018'1008);
  return _mm512_add_epi8(octets, _mm512_mullo_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0),
                                                    all(0x0101'0101'0101'0101)));
}

void substitute_eight(const RibbonEquation* leading, const RibbonBlocks& blocks, unsigned column) {
  const __m512i last_rows_first = _mm512_setr_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i their_answers = _mm512_setr_epi64(15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i bytes_across = square_of_bytes();
  const __m512i columns_across = words_of_lanes();
  const __m512i later_only =
      _mm512_setr_epi64(static_cast<long long>(below), -1, -1, -1, -1, -1, -1, -1);
  const __m128i answer_shift = one(column);
  __m512i window = _mm512_setzero_si512();
  for (std::uint64_t block = blocks.count; block-- > 0;) {
#pragma GCC unroll 1
    for (unsigned octet = 8; octet-- > 0;) {
      const RibbonEquation* const leaders = leading + block * 64 + octet * 8;
      const __m512i low = _mm512_loadu_si512(leaders);
      const __m512i high = _mm512_loadu_si512(leaders + 4);
      // byte 7 - j of lane i: the coefficients of row j for octet i of the window
      const __m512i coefficients = _mm512_permutexvar_epi8(
          bytes_across,
          _mm512_rorv_epi64(_mm512_permutex2var_epi64(low, last_rows_first, high), all(octet * 8)));
      const __m128i answers = _mm512_cvtepi64_epi8(
          _mm512_srl_epi64(_mm512_permutex2var_epi64(low, their_answers, high), answer_shift));
      const __m128i solved =
          inverse(_mm_and_si128(_mm512_castsi512_si128(coefficients), one(above)));
      const __m512i reduced = product(_mm512_broadcastq_epi64(solved),
                                      matrix_of(_mm512_and_si512(coefficients, later_only)));
      // The next octet is the newest: it comes last, so that the others need not wait for it.
      constexpr __mmask8 newest = 2;
      const __m128i older = sum_of_lanes(
          _mm512_maskz_mov_epi64(static_cast<__mmask8>(~newest), product(reduced, window)));
      const __m128i next = product(
          _mm_unpackhi_epi64(_mm512_castsi512_si128(reduced), _mm512_castsi512_si128(reduced)),
          _mm_unpackhi_epi64(_mm512_castsi512_si128(window), _mm512_castsi512_si128(window)));
      const __m128i rows =
          _mm_xor_si128(_mm_xor_si128(older, product(solved, matrix_of(answers))), next);
      window = _mm512_mask_broadcastq_epi64(_mm512_alignr_epi64(window, window, 7), newest,
                                            matrix_of(rows));
    }
    const unsigned columns = blocks.columns + (block < blocks.wide);
    if (column < columns) {
      const unsigned left = columns - column;
      const auto lanes = static_cast<__mmask8>(left >= 8 ? 0xff : (1U << left) - 1);
      const std::uint64_t wide_before = block < blocks.wide ? block : blocks.wide;
      _mm512_mask_storeu_epi64(blocks.words + block * blocks.columns + wide_before + column, lanes,
                               _mm512_permutexvar_epi8(columns_across, window));
    }
  }
}

}  // namespace

void ribbon_substitute_gfni(const RibbonEquation* leading, const RibbonBlocks& blocks) {
  for (unsigned column = 0; column < blocks.columns + (blocks.wide != 0); column += 8)
    substitute_eight(leading, blocks, column);
}

}  // namespace bloomery::inline v0::detail
