// AVX-512 copies of the block laws (bits/block.hpp). A line is one register of eight lanes.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <bloomery/bits/kernels.hpp>
#include <bloomery/hash/odd_constants.hpp>

namespace bloomery {
namespace {

__extension__ typedef unsigned __int128 Wide;

inline std::uint64_t* line_at(const LinesView& view, std::uint64_t spread) {
  return view.words + 8 * static_cast<std::uint64_t>((Wide{spread} * view.blocks) >> 64);
}

// lane i, if taken: one bit of its 64; a rotate reads only the low six bits of its count
inline __m512i round_of(std::uint64_t remixed, __mmask8 lanes) {
  const __m512i which = _mm512_srlv_epi64(_mm512_set1_epi64(static_cast<long long>(remixed)),
                                          _mm512_setr_epi64(16, 22, 28, 34, 40, 46, 52, 58));
  return _mm512_maskz_rolv_epi64(lanes, _mm512_set1_epi64(1), which);
}

inline __mmask8 last_lanes(std::uint64_t remixed, unsigned probes) {
  const unsigned run = ((1U << probes) - 1) << ((remixed >> 13) & 7);
  return static_cast<__mmask8>(run | (run >> 8));  // the run goes on at lane 0 after lane 7
}

inline __m512i mask_of(std::uint64_t first, std::uint64_t second, unsigned probes) {
  if (probes <= 8) return round_of(first, last_lanes(first, probes));
  return _mm512_or_si512(round_of(first, 0xff), round_of(second, last_lanes(second, probes - 8)));
}

inline bool has(__m512i line, __m512i mask) {
  const __m512i missing = _mm512_andnot_si512(line, mask);
  return _mm512_test_epi64_mask(missing, missing) == 0;
}

inline bool add(std::uint64_t* at, __m512i mask) {
  const __m512i line = _mm512_load_si512(at);
  const bool is_new = !has(line, mask);
  _mm512_store_si512(at, _mm512_or_si512(line, mask));
  return is_new;
}

// Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
// drops the call (docs/dead_ends.md).
[[gnu::always_inline]] inline void prefetch(const LinesView& view, std::uint64_t hash) {
  __builtin_prefetch(line_at(view, hash), 1);
  if (view.lines == 2) __builtin_prefetch(line_at(view, hash * remix_constants[2]), 1);
}

inline __m512i first_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[0], hash * remix_constants[1], probes);
}

inline __m512i second_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[3], hash * remix_constants[4], probes);
}

std::size_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                      bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    const std::uint64_t hash = hashes[i];
    bool is_new = add(line_at(view, hash), first_mask(hash, view.probes));
    if (view.lines == 2)
      is_new |= add(line_at(view, hash * remix_constants[2]), second_mask(hash, view.probes));
    count += is_new;
    if (fresh != nullptr) fresh[i] = is_new;
  }
  return count;
}

void lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n, bool* answers) {
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    const std::uint64_t hash = hashes[i];
    answers[i] =
        has(_mm512_load_si512(line_at(view, hash)), first_mask(hash, view.probes)) &&
        (view.lines == 1 || has(_mm512_load_si512(line_at(view, hash * remix_constants[2])),
                                second_mask(hash, view.probes)));
  }
}

inline __m256i* split_at(const SplitView& view, std::uint64_t hash) {
  return reinterpret_cast<__m256i*>(view.words + 8 * (((hash >> 32) * view.blocks) >> 32));
}

[[gnu::always_inline]] inline void prefetch(const SplitView& view, std::uint64_t hash) {
  __builtin_prefetch(split_at(view, hash), 1);
}

// word i: one bit of its 32; a rotate reads only the low five bits of its count
inline __m256i split_mask(std::uint64_t hash) {
  const __m256i salts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(split_salts));
  const __m256i product = _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(hash))), salts);
  return _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
}

inline bool split_has(__m256i block, __m256i mask) { return _mm256_testc_si256(block, mask) != 0; }

std::size_t split_add(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                      bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    __m256i* at = split_at(view, hashes[i]);
    const __m256i block = _mm256_load_si256(at);
    const __m256i mask = split_mask(hashes[i]);
    const bool is_new = !split_has(block, mask);
    _mm256_store_si256(at, _mm256_or_si256(block, mask));
    count += is_new;
    if (fresh != nullptr) fresh[i] = is_new;
  }
  return count;
}

void split_ask(const SplitView& view, const std::uint64_t* hashes, std::size_t n, bool* answers) {
  for (std::size_t i = 0; i < n && i < kernel_lookahead; ++i) prefetch(view, hashes[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kernel_lookahead < n) prefetch(view, hashes[i + kernel_lookahead]);
    answers[i] = split_has(_mm256_load_si256(split_at(view, hashes[i])), split_mask(hashes[i]));
  }
}

}  // namespace

const Kernels avx512_kernels{"avx512", lines_add, lines_ask, split_add, split_ask};

}  // namespace bloomery
