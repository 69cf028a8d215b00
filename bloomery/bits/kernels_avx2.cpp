// AVX2 copies of the block laws (block.hpp). A line is two halves of four lanes.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <bloomery/bits/byte_places.hpp>
#include <bloomery/bits/quotient_law.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {
namespace {

struct Line {
  __m256i low;   // lanes 0 to 3
  __m256i high;  // lanes 4 to 7
};

__extension__ typedef unsigned __int128 Wide;

inline std::uint64_t* line_at(std::uint64_t* words, std::uint64_t blocks, std::uint64_t spread) {
  return words + 8 * static_cast<std::uint64_t>((Wide{spread} * blocks) >> 64);
}
inline std::uint64_t* line_at(const LinesView& view, std::uint64_t spread) {
  return line_at(view.words, view.blocks, spread);
}

// lane i: one bit of its 64
inline __m256i lane_bits(std::uint64_t remixed, __m256i shifts) {
  const __m256i which = _mm256_and_si256(
      _mm256_srlv_epi64(_mm256_set1_epi64x(static_cast<long long>(remixed)), shifts),
      _mm256_set1_epi64x(63));
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), which);
}

inline Line full_round(std::uint64_t remixed) {
  return {lane_bits(remixed, _mm256_setr_epi64x(16, 22, 28, 34)),
          lane_bits(remixed, _mm256_setr_epi64x(40, 46, 52, 58))};
}

// lane i: all ones if bit i of `lanes` is set
inline __m256i taken(unsigned lanes, __m256i shifts) {
  const __m256i bit =
      _mm256_and_si256(_mm256_srlv_epi64(_mm256_set1_epi64x(static_cast<long long>(lanes)), shifts),
                       _mm256_set1_epi64x(1));
  return _mm256_sub_epi64(_mm256_setzero_si256(), bit);
}

inline Line last_round(std::uint64_t remixed, unsigned probes) {
  const unsigned run = ((1U << probes) - 1) << ((remixed >> 13) & 7);
  const unsigned lanes = (run | (run >> 8)) & 0xff;  // the run goes on at lane 0 after lane 7
  const Line all = full_round(remixed);
  return {_mm256_and_si256(all.low, taken(lanes, _mm256_setr_epi64x(0, 1, 2, 3))),
          _mm256_and_si256(all.high, taken(lanes, _mm256_setr_epi64x(4, 5, 6, 7)))};
}

inline Line mask_of(std::uint64_t first, std::uint64_t second, unsigned probes) {
  if (probes < 8) return last_round(first, probes);
  const Line one = full_round(first);
  if (probes == 8) return one;
  const Line two = probes == 16 ? full_round(second) : last_round(second, probes - 8);
  return {_mm256_or_si256(one.low, two.low), _mm256_or_si256(one.high, two.high)};
}

inline Line load(const std::uint64_t* line) {
  const auto* at = reinterpret_cast<const __m256i*>(line);
  return {_mm256_load_si256(at), _mm256_load_si256(at + 1)};
}

inline bool has(const Line& line, const Line& mask) {
  const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(line.low, mask.low),
                                          _mm256_andnot_si256(line.high, mask.high));
  return _mm256_testz_si256(missing, missing) != 0;
}

// Always stores: whether a key is new cannot be predicted, and a misprediction costs more.
inline bool add(std::uint64_t* at, const Line& mask) {
  const Line line = load(at);
  auto* to = reinterpret_cast<__m256i*>(at);
  _mm256_store_si256(to, _mm256_or_si256(line.low, mask.low));
  _mm256_store_si256(to + 1, _mm256_or_si256(line.high, mask.high));
  return !has(line, mask);
}

// Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
// drops the call (docs/dead_ends.md).
[[gnu::always_inline]] inline void call_for(const LinesView& view, std::uint64_t hash) {
  __builtin_prefetch(line_at(view, hash), 0, 2);
  if (view.lines == 2) __builtin_prefetch(line_at(view, hash * remix_constants[2]), 0, 2);
}

inline Line first_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[0], hash * remix_constants[1], probes);
}

inline Line second_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[3], hash * remix_constants[4], probes);
}

// A copy of the view: the compiler need not read it again after each store to the set.
std::uint64_t lines_add(const LinesView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const LinesView view = set;
  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const std::uint64_t hash = hashes[i];
    bool is_new = add(line_at(view, hash), first_mask(hash, view.probes));
    if (view.lines == 2)
      is_new |= add(line_at(view, hash * remix_constants[2]), second_mask(hash, view.probes));
    fresh |= std::uint64_t{is_new} << i;
  }
  return fresh;
}

std::uint64_t lines_ask(const LinesView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const LinesView view = set;
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const std::uint64_t hash = hashes[i];
    bool found = has(load(line_at(view, hash)), first_mask(hash, view.probes));
    if (view.lines == 2)
      found &= has(load(line_at(view, hash * remix_constants[2])), second_mask(hash, view.probes));
    there |= std::uint64_t{found} << i;
  }
  return there;
}

// One round of one key; its lanes come from a table.
inline Line lone_round(std::uint64_t remixed, const Round& round) {
  const auto* ones = reinterpret_cast<const __m256i*>(round.windows + (~(remixed >> 13) & 7));
  const __m256i word = _mm256_set1_epi64x(static_cast<long long>(remixed));
  const __m256i six_bits = _mm256_set1_epi64x(63);
  const __m256i low = _mm256_srlv_epi64(word, _mm256_setr_epi64x(16, 22, 28, 34));
  const __m256i high = _mm256_srlv_epi64(word, _mm256_setr_epi64x(40, 46, 52, 58));
  return {_mm256_sllv_epi64(_mm256_loadu_si256(ones), _mm256_and_si256(low, six_bits)),
          _mm256_sllv_epi64(_mm256_loadu_si256(ones + 1), _mm256_and_si256(high, six_bits))};
}

bool round_mark(std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                const Round& round) {
  return add(line, lone_round(hash * constant, round));
}

bool round_has(const std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
               const Round& round) {
  return has(load(line), lone_round(hash * constant, round));
}

bool lone_mark(const LoneView& view, std::uint64_t hash) {
  return round_mark(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
}

bool lone_has(const LoneView& view, std::uint64_t hash) {
  return round_has(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
}

inline __m256i* split_at(const SplitView& view, std::uint64_t hash) {
  return reinterpret_cast<__m256i*>(view.words + 8 * (((hash >> 32) * view.blocks) >> 32));
}

[[gnu::always_inline]] inline void call_for(const SplitView& view, std::uint64_t hash) {
  __builtin_prefetch(split_at(view, hash), 0, 2);
}

// word i: one bit of its 32
inline __m256i split_mask(std::uint32_t low_half) {
  const __m256i salts = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(split_salts));
  const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(low_half)), salts);
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
}

[[gnu::always_inline]] inline bool mark_split(__m256i* at, __m256i mask) {
  const __m256i block = _mm256_load_si256(at);
  _mm256_store_si256(at, _mm256_or_si256(block, mask));
  return _mm256_testc_si256(block, mask) == 0;
}

[[gnu::always_inline]] inline bool has_split(const __m256i* at, __m256i mask) {
  return _mm256_testc_si256(_mm256_load_si256(at), mask) != 0;
}

bool split_mark(std::uint32_t* block, std::uint32_t low_half) {
  return mark_split(reinterpret_cast<__m256i*>(block), split_mask(low_half));
}

bool split_has(const std::uint32_t* block, std::uint32_t low_half) {
  return has_split(reinterpret_cast<const __m256i*>(block), split_mask(low_half));
}

std::uint64_t split_add(const SplitView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const SplitView view = set;
  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const __m256i mask = split_mask(static_cast<std::uint32_t>(hashes[i]));
    fresh |= std::uint64_t{mark_split(split_at(view, hashes[i]), mask)} << i;
  }
  return fresh;
}

std::uint64_t split_ask(const SplitView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const SplitView view = set;
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const __m256i mask = split_mask(static_cast<std::uint32_t>(hashes[i]));
    there |= std::uint64_t{has_split(split_at(view, hashes[i]), mask)} << i;
  }
  return there;
}

void stream_lines(std::uint64_t* to, const std::uint64_t* from, std::size_t lines) {
  auto* at = reinterpret_cast<__m256i*>(to);
  const auto* source = reinterpret_cast<const __m256i*>(from);
  for (std::size_t i = 0; i < 2 * lines; ++i)
    _mm256_stream_si256(at + i, _mm256_load_si256(source + i));
}

void stream_end() { _mm_sfence(); }

std::size_t find_byte(const unsigned char* bytes, std::size_t n, unsigned char wanted,
                      std::uint32_t* places) {
  const __m256i many = _mm256_set1_epi8(static_cast<char>(wanted));
  const auto equal = [&](std::size_t at) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + at));
    return static_cast<std::uint64_t>(
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(some, many))));
  };
  std::size_t i = 0;
  std::size_t found = 0;
  // found <= i, so there is room for two more places as long as two bytes follow.
  for (; i + 64 <= n; i += 64)
    found = put_places(equal(i) | (equal(i + 32) << 32), i, places, found);
  return find_byte_from(bytes, i, n, wanted, places, found);
}

std::uint64_t ones_among(const std::uint64_t* words, std::size_t n) {
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < n; ++i) ones += static_cast<std::uint64_t>(_mm_popcnt_u64(words[i]));
  return ones;
}

std::uint64_t quotient_add(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead, std::size_t* taken) {
  return quotient::add_step(quotient::place_of_one, view, hashes, n, ahead, taken);
}

std::uint64_t quotient_ask(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead) {
  return quotient::ask_step(quotient::place_of_one, view, hashes, n, ahead);
}

}  // namespace

const Kernels avx2_kernels{"avx2",
                           hash_words_one_by_one,
                           find_lines_one_by_one,
                           lines_add,
                           lines_ask,
                           round_mark,
                           round_has,
                           lone_mark,
                           lone_has,
                           split_mark,
                           split_has,
                           split_add,
                           split_ask,
                           fuse_locate_one_by_one,
                           ribbon_ask_one_by_one,
                           ribbon_insert_by_fours,
                           ribbon_substitute_by_bytes,
                           stream_lines,
                           stream_end,
                           ones_among,
                           find_byte,
                           quotient_add,
                           quotient_ask};

}  // namespace bloomery::inline v0::detail
