// The AVX2 row: the loops of block_loops.hpp around the block laws of line_ops.hpp and
// split_ops.hpp.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <bloomery/bits/block_loops.hpp>
#include <bloomery/bits/byte_places.hpp>
#include <bloomery/bits/one_places.hpp>
#include <bloomery/bits/quotient_law.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/line_ops.hpp>
#include <bloomery/detail/bits/split_ops.hpp>

namespace bloomery::inline v0::detail {
namespace {

using Loops = BlockLoops<Avx2Line, SplitWordsOps>;

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

void ones_in_lanes(const std::uint64_t* line, std::uint8_t* ones) {
  for (std::size_t i = 0; i < 8; ++i) ones[i] = static_cast<std::uint8_t>(_mm_popcnt_u64(line[i]));
}

// Bit i: word i is not zero.
std::uint64_t summary_of(const std::uint64_t* words, std::size_t n) {
  std::uint64_t zeros = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    const __m256d none = _mm256_castsi256_pd(_mm256_cmpeq_epi64(four, _mm256_setzero_si256()));
    zeros |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_pd(none))) << i;
  }
  for (; i < n; ++i) zeros |= static_cast<std::uint64_t>(words[i] == 0) << i;
  return ~zeros & (~std::uint64_t{0} >> (64 - n));
}

void put_eight(__m128i bytes, std::uint32_t first, std::uint32_t* to) {
  const __m256i base = _mm256_set1_epi32(static_cast<int>(first));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_add_epi32(_mm256_cvtepu8_epi32(bytes), base));
}

void put_eight(__m128i bytes, std::uint64_t first, std::uint64_t* to) {
  const __m256i base = _mm256_set1_epi64x(static_cast<long long>(first));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_add_epi64(_mm256_cvtepu8_epi64(bytes), base));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4),
                      _mm256_add_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4)), base));
}

template <class Place>
std::size_t list_ones(const std::uint64_t* words, std::size_t n, Place base, Place* places) {
  if (n == 0) return 0;
  // A byte at a time: the places of its ones come from a table, eight of them are written.
  const auto many = [](std::uint64_t word, Place first, Place* to) {
    for (int i = 0; i < 8; ++i, first += 8, word >>= 8) {
      const std::uint64_t byte = word & 0xff;
      const auto* row = reinterpret_cast<const __m128i*>(places_in_byte.rows[byte]);
      put_eight(_mm_loadl_epi64(row), first, to);
      to += _mm_popcnt_u64(byte);
    }
  };
  return put_words(words, summary_of(words, n), base, places, many);
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
                           Loops::lines_add,
                           Loops::lines_ask,
                           Loops::lines_call,
                           Loops::lines_add_fused,
                           Loops::lines_ask_fused,
                           Loops::round_mark,
                           Loops::round_has,
                           Loops::lone_mark,
                           Loops::lone_has,
                           Loops::split_mark,
                           Loops::split_has,
                           Loops::split_add,
                           Loops::split_ask,
                           Loops::split_call,
                           Loops::split_add_fused,
                           Loops::split_ask_fused,
                           fuse_locate_one_by_one,
                           ribbon_ask_one_by_one,
                           ribbon_insert_by_fours,
                           ribbon_substitute_by_bytes,
                           stream_lines,
                           stream_end,
                           ones_among,
                           ones_in_lanes,
                           list_ones<std::uint32_t>,
                           list_ones<std::uint64_t>,
                           find_byte,
                           quotient_add,
                           quotient_ask};

}  // namespace bloomery::inline v0::detail
