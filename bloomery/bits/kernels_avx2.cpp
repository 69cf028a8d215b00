// The AVX2 row: loops over keys around the block laws of line_ops.hpp and split_ops.hpp.
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

using Ops = Avx2Line;

// A copy of its own: one symbol that several files share must not come from a file for a wider CPU.
constexpr LaneRuns runs = lane_runs;

// Always inlined below, so that each kernel is compiled for its verb and its shape alone.
enum class Verb { add, ask };

__extension__ typedef unsigned __int128 Wide;

[[gnu::always_inline]] inline std::uint64_t* line_at(std::uint64_t* words, std::uint64_t blocks,
                                                     std::uint64_t spread) {
  return words + 8 * static_cast<std::uint64_t>((Wide{spread} * blocks) >> 64);
}

// A blocked set of one shape, as a loop over its keys needs it. A copy: the compiler need not read
// it again after each store to the set.
template <unsigned lines, unsigned rounds>
struct Blocked {
  explicit Blocked(const LinesView& view)
      : words(view.words),
        blocks(view.blocks),
        first{0, runs.windows[rounds == 1 ? view.probes : 8], nullptr, 0},
        second{0, runs.windows[rounds == 1 ? 0 : view.probes - 8], nullptr, 0} {}

  // Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
  // drops the call (docs/dead_ends.md).
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const {
    __builtin_prefetch(line_at(words, blocks, hash), 0, 2);
    if constexpr (lines == 2)
      __builtin_prefetch(line_at(words, blocks, hash * remix_constants[2]), 0, 2);
  }

  // Add: was it new? Ask: may it be there?
  template <Verb verb>
  [[gnu::always_inline]] bool use(std::uint64_t hash) const {
    bool answer = in_line<verb>(line_at(words, blocks, hash), hash, 0);
    if constexpr (lines == 2) {
      const bool other = in_line<verb>(line_at(words, blocks, hash * remix_constants[2]), hash, 3);
      answer = verb == Verb::add ? answer | other : answer & other;
    }
    return answer;
  }

 private:
  template <Verb verb>
  [[gnu::always_inline]] bool in_line(std::uint64_t* line, std::uint64_t hash,
                                      std::size_t use) const {
    Ops::RoundBits bits = Ops::round_bits(hash, remix_constants[use], first);
    if constexpr (rounds == 2) {
      const Ops::RoundBits more = Ops::round_bits(hash, remix_constants[use + 1], second);
      bits = {_mm256_or_si256(bits.low, more.low), _mm256_or_si256(bits.high, more.high)};
    }
    // Adding always stores: whether a key is new cannot be predicted, and a misprediction costs
    // more.
    return verb == Verb::add ? Ops::round_mark(line, bits) : Ops::round_has(line, bits);
  }

  std::uint64_t* words;
  std::uint64_t blocks;
  Round first;
  Round second;
};

struct Split {
  explicit Split(const SplitView& view) : words(view.words), blocks(view.blocks) {}

  [[gnu::always_inline]] std::uint32_t* block_of(std::uint64_t hash) const {
    return words + 8 * (((hash >> 32) * blocks) >> 32);
  }
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const {
    __builtin_prefetch(block_of(hash), 0, 2);
  }
  template <Verb verb>
  [[gnu::always_inline]] bool use(std::uint64_t hash) const {
    const auto low_half = static_cast<std::uint32_t>(hash);
    return verb == Verb::add ? SplitWordsOps::mark(block_of(hash), low_half)
                             : SplitWordsOps::has(block_of(hash), low_half);
  }

 private:
  std::uint32_t* words;
  std::uint64_t blocks;
};

// A step of hashes.
template <Verb verb, class Set>
[[gnu::always_inline]] inline std::uint64_t step(const Set& set, const std::uint64_t* hashes,
                                                 std::size_t n, std::size_t ahead) {
  std::uint64_t answers = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < n; ++i) {
    set.prefetch(hashes[i + ahead]);
    answers |= std::uint64_t{set.template use<verb>(hashes[i])} << i;
  }
  return answers;
}

// A whole step that hashes integers meanwhile: one loop instead of two keeps both the multiplier
// and the vector units busy.
template <Verb verb, class Set>
[[gnu::always_inline]] inline std::uint64_t fused_step(const Set& set, const std::uint64_t* hashes,
                                                       const NextWords& next) {
  const std::uint64_t* const keys = next.keys;
  const std::uint64_t flip = next.flip;
  std::uint64_t* const made = next.hashes;
  std::uint64_t answers = 0;
#pragma GCC unroll 4
  for (std::size_t i = 0; i < step_keys; ++i) {
    const std::uint64_t hash = xxh3_of_word(keys[i], flip);
    made[i] = hash;
    set.prefetch(hash);
    answers |= std::uint64_t{set.template use<verb>(hashes[i])} << i;
  }
  return answers;
}

// Calls act(set) with the set in the type of its shape.
template <class Act>
[[gnu::always_inline]] inline std::uint64_t by_shape(const LinesView& view, Act&& act) {
  if (view.lines == 1)
    return view.probes <= 8 ? act(Blocked<1, 1>(view)) : act(Blocked<1, 2>(view));
  return view.probes <= 8 ? act(Blocked<2, 1>(view)) : act(Blocked<2, 2>(view));
}

std::uint64_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return by_shape(view, [&](const auto& set) { return step<Verb::add>(set, hashes, n, ahead); });
}

std::uint64_t lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return by_shape(view, [&](const auto& set) { return step<Verb::ask>(set, hashes, n, ahead); });
}

std::uint64_t lines_add_fused(const LinesView& view, const std::uint64_t* hashes,
                              const NextWords& next) {
  return by_shape(view, [&](const auto& set) { return fused_step<Verb::add>(set, hashes, next); });
}

std::uint64_t lines_ask_fused(const LinesView& view, const std::uint64_t* hashes,
                              const NextWords& next) {
  return by_shape(view, [&](const auto& set) { return fused_step<Verb::ask>(set, hashes, next); });
}

std::uint64_t split_add(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return step<Verb::add>(Split(view), hashes, n, ahead);
}

std::uint64_t split_ask(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                        std::size_t ahead) {
  return step<Verb::ask>(Split(view), hashes, n, ahead);
}

std::uint64_t split_add_fused(const SplitView& view, const std::uint64_t* hashes,
                              const NextWords& next) {
  return fused_step<Verb::add>(Split(view), hashes, next);
}

std::uint64_t split_ask_fused(const SplitView& view, const std::uint64_t* hashes,
                              const NextWords& next) {
  return fused_step<Verb::ask>(Split(view), hashes, next);
}

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

bool split_mark(std::uint32_t* block, std::uint32_t low_half) {
  return SplitWordsOps::mark(block, low_half);
}

bool split_has(const std::uint32_t* block, std::uint32_t low_half) {
  return SplitWordsOps::has(block, low_half);
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
                           lines_add_fused,
                           lines_ask_fused,
                           round_mark,
                           round_has,
                           lone_mark,
                           lone_has,
                           split_mark,
                           split_has,
                           split_add,
                           split_ask,
                           split_add_fused,
                           split_ask_fused,
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
