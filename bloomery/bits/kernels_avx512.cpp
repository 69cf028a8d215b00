// The AVX-512 row: the loops of block_loops.hpp around the block laws of line_ops.hpp and
// split_ops.hpp, and what is done for eight keys at a time.
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
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/xxh3_word.hpp>

namespace bloomery::inline v0::detail {
namespace {

using Loops = BlockLoops<Avx512Line, SplitWordsOps>;

// Eight hashes to their lines. Right for fewer than 2^32 blocks: then the high word of a product of
// 64 bits by 32 is made of two products of 32 by 32.
inline __m512i eight_lines(__m512i hashes, __m512i blocks) {
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), blocks);
  const __m512i low = _mm512_mul_epu32(hashes, blocks);
  return _mm512_srli_epi64(_mm512_add_epi64(high, _mm512_srli_epi64(low, 32)), 32);
}

constexpr std::uint64_t few_blocks = std::uint64_t{1} << 32;

// XXH3's law for inputs of 8 bytes, eight inputs at a time; libxxhash hashes one at a time.
inline __m512i hash_eight(__m512i words, __m512i flip) {
  const __m512i prime = _mm512_set1_epi64(static_cast<long long>(xxh3_word_prime));
  __m512i h = _mm512_xor_si512(_mm512_rol_epi64(words, 32), flip);
  h = _mm512_xor_si512(h, _mm512_xor_si512(_mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24)));
  h = _mm512_mullo_epi64(h, prime);
  h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), _mm512_set1_epi64(8)));
  h = _mm512_mullo_epi64(h, prime);
  return _mm512_xor_si512(h, _mm512_srli_epi64(h, 28));
}

void hash_words(const std::uint64_t* words, std::size_t n, std::uint64_t seed,
                std::uint64_t* hashes) {
  const std::uint64_t turned = __builtin_bswap32(static_cast<std::uint32_t>(seed));
  const std::uint64_t flip = xxh3_word_secret - (seed ^ (turned << 32));
  const __m512i flips = _mm512_set1_epi64(static_cast<long long>(flip));
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm512_storeu_si512(hashes + i, hash_eight(_mm512_loadu_si512(words + i), flips));
  const auto rest = static_cast<__mmask8>((1U << (n - i)) - 1);
  _mm512_mask_storeu_epi64(hashes + i, rest,
                           hash_eight(_mm512_maskz_loadu_epi64(rest, words + i), flips));
}

void find_lines(const std::uint64_t* hashes, std::size_t n, std::uint64_t blocks,
                std::uint64_t* lines) {
  if (blocks >= few_blocks) return find_lines_one_by_one(hashes, n, blocks, lines);
  const __m512i count = _mm512_set1_epi64(static_cast<long long>(blocks));
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm512_storeu_si512(lines + i, eight_lines(_mm512_loadu_si512(hashes + i), count));
  find_lines_one_by_one(hashes + i, n - i, blocks, lines + i);
}

// Eight columns of one slot, or fewer: lane c has a one if the chosen bits of column c are odd.
inline __mmask8 odd_columns(const std::uint64_t* low, std::uint32_t step, __mmask8 lanes,
                            __m512i chosen_low, __m512i chosen_high) {
  const __m512i first = _mm512_maskz_loadu_epi64(lanes, low);
  const __m512i second = _mm512_maskz_loadu_epi64(lanes, low + step);
  __m512i bits =
      _mm512_xor_si512(_mm512_and_si512(first, chosen_low), _mm512_and_si512(second, chosen_high));
  // lane c: its 64 bits folded to 4 of the same parity, which a table of 16 bits looks up
  bits = _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 32));
  bits = _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 16));
  bits = _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 8));
  bits = _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 4));
  bits = _mm512_and_si512(bits, _mm512_set1_epi64(15));
  const __m512i odd = _mm512_srlv_epi64(_mm512_set1_epi64(0x6996), bits);
  return _mm512_test_epi64_mask(odd, _mm512_set1_epi64(1));
}

inline bool ribbon_has(const RibbonView& view, const RibbonSlot& slot) {
  const std::uint64_t mixed = slot.hash * remix_constants[6];
  const std::uint64_t chosen = (mixed ^ (mixed >> 32)) | 1;
  const __m512i chosen_low = _mm512_set1_epi64(static_cast<long long>(chosen << slot.shift));
  const __m512i chosen_high =
      _mm512_set1_epi64(static_cast<long long>(chosen >> 1 >> (63 - slot.shift)));
  const std::uint64_t wanted = slot.hash * remix_constants[7] >> (63 - view.columns);
  const std::uint64_t* const low = view.words + slot.low;
  unsigned wrong = slot.columns == 0;
  for (unsigned c = 0; c < slot.columns; c += 8) {
    const unsigned left = slot.columns - c;
    const auto lanes = static_cast<__mmask8>(left >= 8 ? 0xff : (1U << left) - 1);
    const unsigned got = odd_columns(low + c, slot.step, lanes, chosen_low, chosen_high);
    wrong |= (got ^ static_cast<unsigned>(wanted >> c)) & lanes;
  }
  return wrong == 0;
}

// The high words of products whose second factor is below 2^32.
__m512i high_words(__m512i a, __m512i b) {
  const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
  return _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(a, 32), b), low),
                           32);
}

// Eight hashes at a time; the law is in fuse.hpp.
void fuse_locate(const FuseView& view, const std::uint64_t* hashes, std::size_t n,
                 FuseSlots& slots) {
  const auto all = [](std::uint64_t word) __attribute__((always_inline)) {
    return _mm512_set1_epi64(static_cast<long long>(word));
  };
  const std::uint64_t segment_fields = std::uint64_t{1} << view.segment_bits;
  const __m512i shards = all(view.shards);
  const __m512i in_segment = all(segment_fields - 1);
  const __m512i width = all(view.width);
  const std::byte* const fields = view.fields;
  const unsigned arity = view.arity;
  const __m128i fingerprint_at = _mm_cvtsi64_si128(64 - static_cast<int>(view.width));
  std::size_t i = 0;
  if (view.shards >> 32 == 0)
    for (; i + 8 <= n; i += 8) {
      const __m512i hash = _mm512_loadu_si512(hashes + i);
      const __m512i mixed =
          _mm512_mullo_epi64(_mm512_xor_si512(hash, all(view.seed)), all(fuse_constants[0]));
      const __m512i shard = high_words(mixed, shards);
      const __m512i local = _mm512_andnot_si512(all(127), _mm512_mullo_epi64(mixed, shards));
      const __m512i shard_seed = _mm512_i64gather_epi64(shard, view.seeds, 8);
      const __m512i product =
          _mm512_mullo_epi64(_mm512_xor_si512(local, shard_seed), all(fuse_constants[1]));
      const __m512i spread = _mm512_xor_si512(product, _mm512_srli_epi64(product, 32));
      const __m512i print =
          _mm512_srl_epi64(_mm512_mullo_epi64(spread, all(fuse_constants[2])), fingerprint_at);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(slots.fingerprint + i),
                          _mm512_cvtepi64_epi32(print));
      __m512i place = _mm512_add_epi64(_mm512_mullo_epi64(shard, all(view.shard_fields)),
                                       high_words(local, all(view.first_fields)));
      _mm512_store_si512(slots.bit[0] + i, _mm512_mullo_epi64(place, width));
      __m512i offsets = spread;
      for (unsigned j = 1; j < arity; ++j) {
        place = _mm512_add_epi64(place, all(segment_fields));
        const __m512i at = _mm512_xor_si512(place, _mm512_and_si512(offsets, in_segment));
        _mm512_store_si512(slots.bit[j] + i, _mm512_mullo_epi64(at, width));
        offsets = _mm512_srli_epi64(offsets, 20);
      }
      for (unsigned j = 0; j < arity; ++j)
        for (std::size_t k = i; k < i + 8; ++k)
          __builtin_prefetch(fields + slots.bit[j][k] / 8, 0, 2);
    }
  fuse_locate_from(view, hashes, i, n, slots);
}

std::uint64_t ribbon_ask(const RibbonView& view, const RibbonSlot* slots, std::size_t n) {
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < n; ++i)
    there |= static_cast<std::uint64_t>(ribbon_has(view, slots[i])) << i;
  return there;
}

void stream_lines(std::uint64_t* to, const std::uint64_t* from, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + 8 * i), _mm512_load_si512(from + 8 * i));
}

void stream_end() { _mm_sfence(); }

std::size_t find_byte(const unsigned char* bytes, std::size_t n, unsigned char wanted,
                      std::uint32_t* places) {
  const __m512i many = _mm512_set1_epi8(static_cast<char>(wanted));
  std::size_t i = 0;
  std::size_t found = 0;
  // found <= i, so there is room for two more places as long as two bytes follow.
  for (; i + 64 <= n; i += 64)
    found =
        put_places(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes + i), many), i, places, found);
  return find_byte_from(bytes, i, n, wanted, places, found);
}

std::uint64_t ones_among(const std::uint64_t* words, std::size_t n) {
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < n; ++i) ones += static_cast<std::uint64_t>(_mm_popcnt_u64(words[i]));
  return ones;
}

// Bit i: word i is not zero.
std::uint64_t summary_of(const std::uint64_t* words, std::size_t n) {
  std::uint64_t some = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const auto there = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512i eight = _mm512_maskz_loadu_epi64(there, words + i);
    some |= static_cast<std::uint64_t>(_mm512_test_epi64_mask(eight, eight)) << i;
  }
  return some;
}

// The places of the ones in the lowest bits of a word, and how many bits that were. To a register
// and then to memory: straight to memory is slow on Zen 4.
unsigned put_low(std::uint64_t word, std::uint32_t first, std::uint32_t* to) {
  const __m512i rising = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i ones = _mm512_maskz_compress_epi32(static_cast<__mmask16>(word), rising);
  _mm512_storeu_si512(to, _mm512_add_epi32(ones, _mm512_set1_epi32(static_cast<int>(first))));
  return 16;
}

unsigned put_low(std::uint64_t word, std::uint64_t first, std::uint64_t* to) {
  const __m512i rising = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i ones = _mm512_maskz_compress_epi64(static_cast<__mmask8>(word), rising);
  _mm512_storeu_si512(to, _mm512_add_epi64(ones, _mm512_set1_epi64(static_cast<long long>(first))));
  return 8;
}

template <class Place>
std::size_t list_ones(const std::uint64_t* words, std::size_t n, Place base, Place* places) {
  const auto many = [](std::uint64_t word, Place first, Place* to) {
    for (unsigned bit = 0; bit < 64;) {
      const unsigned bits = put_low(word >> bit, first + bit, to);
      to += _mm_popcnt_u64(_bzhi_u64(word >> bit, bits));
      bit += bits;
    }
  };
  return put_words(words, summary_of(words, n), base, places, many);
}

void ones_in_lanes(const std::uint64_t* line, std::uint8_t* ones) {
  for (std::size_t i = 0; i < 8; ++i) ones[i] = static_cast<std::uint8_t>(_mm_popcnt_u64(line[i]));
}

// One bit deposited at one number k. The CPUs of this row do it in one instruction; some with AVX2
// need hundreds of steps.
unsigned deposited_place(std::uint64_t word, unsigned k) {
  return static_cast<unsigned>(__builtin_ctzll(_pdep_u64(std::uint64_t{1} << k, word)));
}

std::uint64_t quotient_add(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead, std::size_t* taken) {
  return quotient::add_step(deposited_place, view, hashes, n, ahead, taken);
}

std::uint64_t quotient_ask(const QuotientView& view, const std::uint64_t* hashes, std::size_t n,
                           std::size_t ahead) {
  return quotient::ask_step(deposited_place, view, hashes, n, ahead);
}

}  // namespace

const Kernels avx512_kernels{"avx512",
                             hash_words,
                             find_lines,
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
                             fuse_locate,
                             ribbon_ask,
                             ribbon_insert_avx512,
                             ribbon_substitute_avx512,
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
