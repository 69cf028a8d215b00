// The AVX-512 row: loops over keys around the block laws of line_ops.hpp and split_ops.hpp, and the
// line law for eight keys at a time.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <bloomery/bits/byte_places.hpp>
#include <bloomery/bits/quotient_law.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/line_ops.hpp>
#include <bloomery/detail/bits/split_ops.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/xxh3_word.hpp>

namespace bloomery::inline v0::detail {
namespace {

__extension__ typedef unsigned __int128 Wide;

inline std::uint64_t* line_at(std::uint64_t* words, std::uint64_t blocks, std::uint64_t spread) {
  return words + 8 * static_cast<std::uint64_t>((Wide{spread} * blocks) >> 64);
}
inline std::uint64_t* line_at(const LinesView& view, std::uint64_t spread) {
  return line_at(view.words, view.blocks, spread);
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

// The lanes where the mask has bits that the line does not have.
inline __mmask8 missing_lanes(__m512i line, __m512i mask) {
  const __m512i missing = _mm512_andnot_si512(line, mask);
  return _mm512_test_epi64_mask(missing, missing);
}

inline __m512i first_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[0], hash * remix_constants[1], probes);
}

inline __m512i second_mask(std::uint64_t hash, unsigned probes) {
  return mask_of(hash * remix_constants[3], hash * remix_constants[4], probes);
}

// Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
// drops the call (docs/dead_ends.md).
[[gnu::always_inline]] inline void call_for(const LinesView& view, std::uint64_t hash) {
  __builtin_prefetch(line_at(view, hash), 0, 2);
  if (view.lines == 2) __builtin_prefetch(line_at(view, hash * remix_constants[2]), 0, 2);
}

// Always inlined below, so that each kernel is compiled for its verb alone.
enum class Verb { add, ask };

// The lanes where the mask has bits that the line did not have before.
[[gnu::always_inline]] inline __mmask8 one_line(Verb verb, std::uint64_t* at, __m512i mask) {
  const __m512i before = _mm512_load_si512(at);
  if (verb == Verb::ask) return missing_lanes(before, mask);
  const __m512i after = _mm512_or_si512(before, mask);
  _mm512_store_si512(at, after);
  return _mm512_cmpneq_epi64_mask(before, after);
}

// Any shape, any n: one key after the other. Returns which were there before.
[[gnu::always_inline]] inline std::uint64_t each_key(Verb verb, const LinesView& view,
                                                     const std::uint64_t* hashes, std::size_t from,
                                                     std::size_t n, std::size_t ahead) {
  std::uint64_t there = 0;
  for (std::size_t i = from; i < n; ++i) {
    call_for(view, hashes[i + ahead]);
    const std::uint64_t hash = hashes[i];
    __mmask8 missing = one_line(verb, line_at(view, hash), first_mask(hash, view.probes));
    if (view.lines == 2)
      missing |=
          one_line(verb, line_at(view, hash * remix_constants[2]), second_mask(hash, view.probes));
    there |= std::uint64_t{missing == 0} << i;
  }
  return there;
}

inline std::uint64_t first_bits(std::size_t n) { return n == 64 ? ~0ULL : (1ULL << n) - 1; }

// Eight hashes to their lines. Right for fewer than 2^32 blocks: then the high word of a product of
// 64 bits by 32 is made of two products of 32 by 32.
inline __m512i eight_lines(__m512i hashes, __m512i blocks) {
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), blocks);
  const __m512i low = _mm512_mul_epu32(hashes, blocks);
  return _mm512_srli_epi64(_mm512_add_epi64(high, _mm512_srli_epi64(low, 32)), 32);
}

// The words where they begin.
inline __m512i first_words(__m512i hashes, __m512i blocks) {
  return _mm512_slli_epi64(eight_lines(hashes, blocks), 3);
}

constexpr std::uint64_t few_blocks = std::uint64_t{1} << 32;

// One line a key, up to eight probes: line, bits and lanes are computed for eight keys at a time.
[[gnu::always_inline]] inline std::uint64_t eights(Verb verb, const LinesView& view,
                                                   const std::uint64_t* hashes, std::size_t n,
                                                   std::size_t ahead) {
  const __m512i blocks = _mm512_set1_epi64(static_cast<long long>(view.blocks));
  const __m512i run = _mm512_set1_epi64((1LL << view.probes) - 1);
  const __m512i remix = _mm512_set1_epi64(static_cast<long long>(remix_constants[0]));
  std::uint64_t* const words = view.words;
  alignas(64) std::uint64_t next[8];
  alignas(64) std::uint64_t here[8];
  alignas(64) std::uint64_t remixed[8];
  alignas(64) std::uint64_t lanes[8];
  // One byte per key, looked at once all are written: cheaper than a test and a bit for each.
  alignas(64) unsigned char missing[step_keys];
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512i eight = _mm512_loadu_si512(hashes + i);
    const __m512i product = _mm512_mullo_epi64(eight, remix);
    const __m512i starts = _mm512_and_si512(_mm512_srli_epi64(product, 13), _mm512_set1_epi64(7));
    const __m512i unwrapped = _mm512_sllv_epi64(run, starts);
    _mm512_store_si512(here, first_words(eight, blocks));
    _mm512_store_si512(remixed, product);
    // the run goes on at lane 0 after lane 7
    _mm512_store_si512(lanes, _mm512_or_si512(unwrapped, _mm512_srli_epi64(unwrapped, 8)));
    _mm512_store_si512(next, first_words(_mm512_loadu_si512(hashes + i + ahead), blocks));
#pragma GCC unroll 8
    for (unsigned j = 0; j < 8; ++j) {
      __builtin_prefetch(words + next[j], 0, 2);
      const __m512i mask = round_of(remixed[j], static_cast<__mmask8>(lanes[j]));
      missing[i + j] = one_line(verb, words + here[j], mask);
    }
  }
  const __m512i written = _mm512_maskz_loadu_epi8(first_bits(i), missing);
  const std::uint64_t there = _mm512_testn_epi8_mask(written, written) & first_bits(i);
  return there | each_key(verb, view, hashes, i, n, ahead);
}

[[gnu::always_inline]] inline std::uint64_t lines_step(Verb verb, const LinesView& set,
                                                       const std::uint64_t* hashes, std::size_t n,
                                                       std::size_t ahead) {
  const LinesView view = set;  // a copy, which stores to the set cannot alias
  if (view.lines == 1 && view.probes <= 8 && view.blocks < few_blocks)
    return eights(verb, view, hashes, n, ahead);
  return each_key(verb, view, hashes, 0, n, ahead);
}

std::uint64_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return ~lines_step(Verb::add, view, hashes, n, ahead) & first_bits(n);
}

std::uint64_t lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return lines_step(Verb::ask, view, hashes, n, ahead);
}

using Ops = Avx512Line;

bool round_mark(std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                const Round& round) {
  return Ops::round_mark(line, Ops::round_bits(hash, constant, round));
}

bool round_has(const std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
               const Round& round) {
  return Ops::round_has(line, Ops::round_bits(hash, constant, round));
}

bool lone_mark(const LoneView& view, std::uint64_t hash) {
  return round_mark(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
}

bool lone_has(const LoneView& view, std::uint64_t hash) {
  return round_has(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
}

[[gnu::always_inline]] inline std::uint32_t* split_at(const SplitView& view, std::uint64_t hash) {
  return view.words + 8 * (((hash >> 32) * view.blocks) >> 32);
}

bool split_mark(std::uint32_t* block, std::uint32_t low_half) {
  return SplitWordsOps::mark(block, low_half);
}

bool split_has(const std::uint32_t* block, std::uint32_t low_half) {
  return SplitWordsOps::has(block, low_half);
}

std::uint64_t split_add(const SplitView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const SplitView view = set;
  std::uint64_t fresh = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) {
    __builtin_prefetch(split_at(view, hashes[i + ahead]), 0, 2);
    const auto low_half = static_cast<std::uint32_t>(hashes[i]);
    fresh |= std::uint64_t{SplitWordsOps::mark(split_at(view, hashes[i]), low_half)} << i;
  }
  return fresh;
}

std::uint64_t split_ask(const SplitView& set, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  const SplitView view = set;
  std::uint64_t there = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) {
    __builtin_prefetch(split_at(view, hashes[i + ahead]), 0, 2);
    const auto low_half = static_cast<std::uint32_t>(hashes[i]);
    there |= std::uint64_t{SplitWordsOps::has(split_at(view, hashes[i]), low_half)} << i;
  }
  return there;
}

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
  for (unsigned c = 0; c < slot.columns; c += 8) {
    const unsigned left = slot.columns - c;
    const auto lanes = static_cast<__mmask8>(left >= 8 ? 0xff : (1U << left) - 1);
    const unsigned got = odd_columns(low + c, slot.step, lanes, chosen_low, chosen_high);
    if (((got ^ static_cast<unsigned>(wanted >> c)) & lanes) != 0) return false;
  }
  return slot.columns != 0;
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
                             lines_add,
                             lines_ask,
                             nullptr,
                             nullptr,
                             round_mark,
                             round_has,
                             lone_mark,
                             lone_has,
                             split_mark,
                             split_has,
                             split_add,
                             split_ask,
                             nullptr,
                             nullptr,
                             fuse_locate,
                             ribbon_ask,
                             ribbon_insert_avx512,
                             ribbon_substitute_avx512,
                             stream_lines,
                             stream_end,
                             ones_among,
                             find_byte,
                             quotient_add,
                             quotient_ask};

}  // namespace bloomery::inline v0::detail
