// An AVX-512 copy of how keys are inserted into a band (bits/ribbon_band.cpp): eight equations at a
// time, one to a lane, go past the rows side by side.
//
//    a quad that is led      each lane looks up the sum for its four bits, in registers
//    a row that is not led   the first lane that has it leads it, and is subtracted from all that
//                            have it: from itself too, so what has found its row is 0
//
// A lane is changed only by leaders and by lanes before it, so the same keys are held as when they
// are inserted one after the other.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t quad_rows = RibbonBand::quad_rows;
constexpr unsigned lanes = 8;

// Eight equations.
struct Eight {
  __m512i coefficients;
  __m512i answers;
  __m512i starts;
};

inline __m512i all(std::uint64_t word) { return _mm512_set1_epi64(static_cast<long long>(word)); }
inline __m128i one(std::uint64_t word) { return _mm_cvtsi64_si128(static_cast<long long>(word)); }

// The high words of products whose second factor is below 2^32.
inline __m512i high_words(__m512i a, __m512i b) {
  const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
  return _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(a, 32), b), low),
                           32);
}

inline Eight equations_of(const RibbonBand& band, const std::uint64_t* hashes, __mmask8 keys) {
  const __m512i hash = _mm512_maskz_loadu_epi64(keys, hashes);
  const __m512i starts = high_words(_mm512_mullo_epi64(hash, all(band.shards)), all(band.starts));
  const __m512i mixed = _mm512_mullo_epi64(hash, all(remix_constants[6]));
  const __m512i chosen =
      _mm512_or_si512(_mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32)), all(1));
  return {_mm512_maskz_rolv_epi64(keys, chosen, starts),
          _mm512_maskz_srl_epi64(keys, _mm512_mullo_epi64(hash, all(remix_constants[7])),
                                 one(63 - band.columns)),
          starts};
}

// Sixteen equations with nothing but the four bits, two registers of them: what the leaders of the
// quad make of them is the sum that clears the bits.
void sum_quad(RibbonBand& band, std::uint64_t quad) {
  RibbonBand::Sums& sums = band.sums[quad % RibbonBand::quads];
  const std::uint64_t first_row = quad * quad_rows;
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; ++half) {
    const __m512i four =
        _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), all(lanes * half));
    const __m512i bits = _mm512_sll_epi64(four, one(first_row % 64));
    __m512i coefficients = bits;
    __m512i answers = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (std::uint64_t row = first_row; row < first_row + quad_rows; ++row) {
      const RibbonEquation& leader = band.leading[row];
      const __mmask8 has = _mm512_test_epi64_mask(coefficients, all(std::uint64_t{1} << row % 64));
      coefficients =
          _mm512_mask_xor_epi64(coefficients, has, coefficients, all(leader.coefficients));
      answers = _mm512_mask_xor_epi64(answers, has, answers, all(leader.answer));
    }
    _mm512_store_si512(sums.coefficients + lanes * half, _mm512_xor_si512(coefficients, bits));
    _mm512_store_si512(sums.answers + lanes * half, answers);
  }
}

// Always inlined, so that each copy is compiled for its verb: do some windows begin only here?
enum class Windows { begin, have_begun };

[[gnu::always_inline]] inline void pass_quad(const RibbonBand& band, Eight& eight,
                                             std::uint64_t quad, Windows windows) {
  const RibbonBand::Sums& sums = band.sums[quad % RibbonBand::quads];
  const std::uint64_t row = quad * quad_rows;
  __m512i which = _mm512_srl_epi64(eight.coefficients, one(row % 64));
  if (windows == Windows::begin) {
    // Before the start of a window its places stand for the rows after its end.
    const __m512i before =
        _mm512_max_epi64(_mm512_sub_epi64(eight.starts, all(row)), _mm512_setzero_si512());
    which = _mm512_and_si512(which, _mm512_sllv_epi64(all(15), before));
  }
  eight.coefficients = _mm512_xor_si512(
      eight.coefficients, _mm512_permutex2var_epi64(_mm512_load_si512(sums.coefficients), which,
                                                    _mm512_load_si512(sums.coefficients + lanes)));
  eight.answers = _mm512_xor_si512(
      eight.answers, _mm512_permutex2var_epi64(_mm512_load_si512(sums.answers), which,
                                               _mm512_load_si512(sums.answers + lanes)));
}

inline __m512i first_of(__mmask8 which, __m512i words) {
  return _mm512_broadcastq_epi64(_mm512_castsi512_si128(_mm512_maskz_compress_epi64(which, words)));
}

// Without a branch: whether a row is led, and whether a lane will lead it, are hard to predict.
[[gnu::always_inline]] inline void pass_row(RibbonBand& band, Eight& eight, std::uint64_t row,
                                            Windows windows) {
  RibbonEquation& leader = band.leading[row];
  const __mmask8 started =
      windows == Windows::have_begun ? 0xff : _mm512_cmple_epu64_mask(eight.starts, all(row));
  const std::uint64_t bit = std::uint64_t{1} << row % 64;
  const __mmask8 has = _mm512_mask_test_epi64_mask(started, eight.coefficients, all(bit));
  const __mmask8 may_lead = _mm512_mask_test_epi64_mask(started, eight.coefficients,
                                                        all(leader.coefficients == 0 ? bit : 0));
  // The one that leads the row from now on, or 0; and the one that did, or 0.
  const __m512i coefficients = first_of(may_lead, eight.coefficients);
  const __m512i answers = first_of(may_lead, eight.answers);
  constexpr int a_xor_b_or_c = 0xf0 ^ (0xcc | 0xaa);
  eight.coefficients = _mm512_mask_ternarylogic_epi64(eight.coefficients, has, coefficients,
                                                      all(leader.coefficients), a_xor_b_or_c);
  eight.answers =
      _mm512_mask_ternarylogic_epi64(eight.answers, has, answers, all(leader.answer), a_xor_b_or_c);
  auto* const place = reinterpret_cast<__m128i*>(&leader);
  const __m128i leads =
      _mm_unpacklo_epi64(_mm512_castsi512_si128(coefficients), _mm512_castsi512_si128(answers));
  _mm_storeu_si128(place, _mm_or_si128(_mm_loadu_si128(place), leads));
  band.placed_rows[band.placed] = row;
  band.placed += may_lead != 0;
}

[[gnu::always_inline]] inline void pass_rows(RibbonBand& band, Eight& eight, std::uint64_t quad,
                                             Windows windows) {
  const std::size_t placed_before = band.placed;
#pragma GCC unroll 4
  for (std::uint64_t i = 0; i < quad_rows; ++i)
    pass_row(band, eight, quad * quad_rows + i, windows);
  std::uint8_t& led = band.led[quad % RibbonBand::quads];
  led = static_cast<std::uint8_t>(led + (band.placed - placed_before));
  if (led == quad_rows) sum_quad(band, quad);
}

[[gnu::always_inline]] inline void pass(RibbonBand& band, Eight& eight, std::uint64_t quad,
                                        Windows windows) {
  if (band.led[quad % RibbonBand::quads] == quad_rows)
    pass_quad(band, eight, quad, windows);
  else
    pass_rows(band, eight, quad, windows);
}

}  // namespace

bool ribbon_insert_avx512(RibbonBand& band, const std::uint64_t* hashes, std::size_t n) {
  for (std::size_t first = 0; first < n; first += lanes) {
    const auto keys = static_cast<__mmask8>(n - first >= lanes ? 0xff : (1U << (n - first)) - 1);
    Eight eight = equations_of(band, hashes + first, keys);
    std::uint64_t quad = _mm512_mask_reduce_min_epu64(keys, eight.starts) / quad_rows;
    const std::uint64_t last = _mm512_mask_reduce_max_epu64(keys, eight.starts) / quad_rows;
    for (; quad <= last; ++quad) pass(band, eight, quad, Windows::begin);
    for (; _mm512_test_epi64_mask(eight.coefficients, eight.coefficients) != 0; ++quad)
      pass(band, eight, quad, Windows::have_begun);
    if (_mm512_test_epi64_mask(eight.answers, all(band.asked)) != 0) return false;
  }
  return true;
}

void ribbon_substitute_avx512(const RibbonEquation* leading, const RibbonBlocks& blocks) {
  if (__builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512vbmi"))
    ribbon_substitute_gfni(leading, blocks);
  else
    ribbon_substitute_by_bytes(leading, blocks);
}

}  // namespace bloomery::inline v0::detail
