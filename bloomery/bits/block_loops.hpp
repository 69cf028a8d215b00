// The loops over keys of a row of kernels, around the block laws of its CPU family.
//
//    BlockLoops<Line, SplitWords>     Line:        a family's law of a line (line_ops.hpp)
//                                     SplitWords:  its law of a split block (split_ops.hpp)
//
// Everything here is local to the file that includes it, as in quotient_law.hpp: each row of
// kernels has its own copy, compiled for its CPU, so the linker cannot give one row the copy of
// another.
// See: kernels_test and fused_kernels_test compare every row with the scalar one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/lane_runs.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/xxh3_word.hpp>

namespace bloomery::inline v0::detail {
namespace {

// A copy of its own: one symbol that several files share must not come from a file for a wider CPU.
constexpr LaneRuns runs = lane_runs;

// Always inlined below, so that each kernel is compiled for its verb and its shape alone.
enum class Verb { add, ask };

__extension__ typedef unsigned __int128 Wide;

[[gnu::always_inline]] inline std::uint64_t* line_at(std::uint64_t* words, std::uint64_t blocks,
                                                     std::uint64_t spread) {
  return words + 8 * static_cast<std::uint64_t>((Wide{spread} * blocks) >> 64);
}

// Answers are shifted in from below, so the first key's comes to lie highest; this puts it lowest.
// Shifted in is whether all the bits of a key were set; adding tells whether it was new.
template <Verb verb>
[[gnu::always_inline]] inline std::uint64_t in_order(std::uint64_t shifted, std::size_t n) {
  std::uint64_t word = __builtin_bswap64(verb == Verb::add ? ~shifted : shifted);
  word = (word >> 4 & 0x0f0f'0f0f'0f0f'0f0f) | (word & 0x0f0f'0f0f'0f0f'0f0f) << 4;
  word = (word >> 2 & 0x3333'3333'3333'3333) | (word & 0x3333'3333'3333'3333) << 2;
  word = (word >> 1 & 0x5555'5555'5555'5555) | (word & 0x5555'5555'5555'5555) << 1;
  return n == 0 ? 0 : word >> (64 - n);
}

// A blocked set of one shape, as a loop over its keys needs it. A copy: the compiler need not read
// it again after each store to the set.
template <class Line, unsigned lines, unsigned rounds>
struct Blocked {
  struct Called {
    std::uint64_t hash;
    std::uint64_t* at[lines];
  };

  explicit Blocked(const LinesView& view)
      : words(view.words),
        blocks(view.blocks),
        first(round_of(rounds == 1 ? view.probes : 8)),
        second(round_of(rounds == 1 ? 0 : view.probes - 8)) {}

  [[gnu::always_inline]] Called locate(std::uint64_t hash) const {
    if constexpr (lines == 1)
      return {hash, {line_at(words, blocks, hash)}};
    else
      return {hash,
              {line_at(words, blocks, hash), line_at(words, blocks, hash * remix_constants[2])}};
  }
  // Always inlined: GCC takes a function whose only act is a prefetch for one without effect, and
  // drops the call (docs/dead_ends.md).
  [[gnu::always_inline]] void prefetch(const Called& called) const {
    __builtin_prefetch(called.at[0], 0, 2);
    if constexpr (lines == 2) __builtin_prefetch(called.at[1], 0, 2);
  }

  // Shifts in whether all the bits of the key are set; adding sets them.
  template <Verb verb>
  [[gnu::always_inline]] std::uint64_t use(const Called& called, std::uint64_t answers) const {
    typename Line::Missing missing = in_line<verb>(called.at[0], called.hash, 0);
    if constexpr (lines == 2)
      missing = Line::either(missing, in_line<verb>(called.at[1], called.hash, 3));
    return Line::shift_in(answers, missing);
  }

 private:
  static Round round_of(std::uint32_t probes) {
    return {runs.turned[probes], runs.ones[probes], nullptr, probes};
  }

  // The bits of the key that were not set.
  template <Verb verb>
  [[gnu::always_inline]] typename Line::Missing in_line(std::uint64_t* line, std::uint64_t hash,
                                                        std::size_t use) const {
    typename Line::RoundBits bits = Line::round_bits(hash, remix_constants[use], first);
    if constexpr (rounds == 2)
      bits = Line::both(bits, Line::round_bits(hash, remix_constants[use + 1], second));
    // Adding always stores: whether a key is new cannot be predicted, and a misprediction costs
    // more.
    return verb == Verb::add ? Line::mark_missing(line, bits) : Line::missing(line, bits);
  }

  std::uint64_t* words;
  std::uint64_t blocks;
  Round first;
  Round second;
};

template <class SplitWords>
struct Split {
  struct Called {
    std::uint64_t hash;
    std::uint32_t* at;
  };

  explicit Split(const SplitView& view) : words(view.words), blocks(view.blocks) {}

  [[gnu::always_inline]] Called locate(std::uint64_t hash) const {
    return {hash, words + 8 * (((hash >> 32) * blocks) >> 32)};
  }
  [[gnu::always_inline]] void prefetch(const Called& called) const {
    __builtin_prefetch(called.at, 0, 2);
  }
  template <Verb verb>
  [[gnu::always_inline]] std::uint64_t use(const Called& called, std::uint64_t answers) const {
    const auto low_half = static_cast<std::uint32_t>(called.hash);
    return verb == Verb::add ? SplitWords::shift_in_mark(answers, called.at, low_half)
                             : SplitWords::shift_in_has(answers, called.at, low_half);
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
  for (std::size_t i = 0; i < n; ++i) {
    set.prefetch(set.locate(hashes[i + ahead]));
    answers = set.template use<verb>(set.locate(hashes[i]), answers);
  }
  return in_order<verb>(answers, n);
}

template <class Set>
[[gnu::always_inline]] inline typename Set::Called* called_in(CalledKeys& keys) {
  static_assert(step_keys * sizeof(typename Set::Called) <= sizeof keys.bytes);
  return reinterpret_cast<typename Set::Called*>(keys.bytes);
}

// Calls act(hash_of), where hash_of(word) is the hash of one of the keys.
template <class Act>
[[gnu::always_inline]] inline auto by_key(const NextKeys& keys, Act&& act) {
  if (keys.are_hashes) return act([](std::uint64_t word) { return word; });
  const std::uint64_t flip = keys.flip;
  return act([flip](std::uint64_t word)
                 __attribute__((always_inline)) { return xxh3_of_word(word, flip); });
}

template <class Set>
[[gnu::always_inline]] inline void call(const Set& set, CalledKeys& keys, const NextKeys& first) {
  auto* const called = called_in<Set>(keys);
  by_key(first, [&](const auto& hash_of) {
    for (std::size_t i = 0; i < step_keys; ++i) {
      called[i] = set.locate(hash_of(first.words[i]));
      set.prefetch(called[i]);
    }
  });
}

// Uses the keys that were called, each before the next one takes its place: hashing in the same
// loop keeps the multiplier busy beside the vector units, and a key that is used needs no more than
// its hash and its line.
template <Verb verb, class Set, class HashOf>
[[gnu::always_inline]] inline std::uint64_t fused_loop(const Set& set, CalledKeys& keys,
                                                       const std::uint64_t* words,
                                                       const HashOf& hash_of) {
  auto* const called = called_in<Set>(keys);
  std::uint64_t answers = 0;
  const auto use_and_call = [&](std::size_t i) __attribute__((always_inline)) {
    answers = set.template use<verb>(called[i], answers);
    const typename Set::Called more = set.locate(hash_of(words[i]));
    called[i] = more;
    set.prefetch(more);
  };
  // By fours: GCC 12 does not heed its unroll pragma here.
  for (std::size_t i = 0; i < step_keys; i += 4) {
    use_and_call(i);
    use_and_call(i + 1);
    use_and_call(i + 2);
    use_and_call(i + 3);
  }
  return in_order<verb>(answers, step_keys);
}

template <Verb verb, class Set>
[[gnu::always_inline]] inline std::uint64_t fused_step(const Set& set, CalledKeys& keys,
                                                       const NextKeys& next) {
  return by_key(
      next, [&](const auto& hash_of) { return fused_loop<verb>(set, keys, next.words, hash_of); });
}

// Calls act(set) with the set in the type of its shape.
template <class Line, class Act>
[[gnu::always_inline]] inline auto by_shape(const LinesView& view, Act&& act) {
  if (view.lines == 1)
    return view.probes <= 8 ? act(Blocked<Line, 1, 1>(view)) : act(Blocked<Line, 1, 2>(view));
  return view.probes <= 8 ? act(Blocked<Line, 2, 1>(view)) : act(Blocked<Line, 2, 2>(view));
}

// A row of the table: the operations on blocked and split-block sets.
template <class Line, class SplitWords>
struct BlockLoops {
  static std::uint64_t lines_add(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                                 std::size_t ahead) {
    return by_shape<Line>(view,
                          [&](const auto& set) { return step<Verb::add>(set, hashes, n, ahead); });
  }

  static std::uint64_t lines_ask(const LinesView& view, const std::uint64_t* hashes, std::size_t n,
                                 std::size_t ahead) {
    return by_shape<Line>(view,
                          [&](const auto& set) { return step<Verb::ask>(set, hashes, n, ahead); });
  }

  static void lines_call(const LinesView& view, CalledKeys& called, const NextKeys& first) {
    by_shape<Line>(view, [&](const auto& set) { call(set, called, first); });
  }

  static std::uint64_t lines_add_fused(const LinesView& view, CalledKeys& called,
                                       const NextKeys& next) {
    return by_shape<Line>(
        view, [&](const auto& set) { return fused_step<Verb::add>(set, called, next); });
  }

  static std::uint64_t lines_ask_fused(const LinesView& view, CalledKeys& called,
                                       const NextKeys& next) {
    return by_shape<Line>(
        view, [&](const auto& set) { return fused_step<Verb::ask>(set, called, next); });
  }

  static std::uint64_t split_add(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                                 std::size_t ahead) {
    return step<Verb::add>(Split<SplitWords>(view), hashes, n, ahead);
  }

  static std::uint64_t split_ask(const SplitView& view, const std::uint64_t* hashes, std::size_t n,
                                 std::size_t ahead) {
    return step<Verb::ask>(Split<SplitWords>(view), hashes, n, ahead);
  }

  static void split_call(const SplitView& view, CalledKeys& called, const NextKeys& first) {
    call(Split<SplitWords>(view), called, first);
  }

  static std::uint64_t split_add_fused(const SplitView& view, CalledKeys& called,
                                       const NextKeys& next) {
    return fused_step<Verb::add>(Split<SplitWords>(view), called, next);
  }

  static std::uint64_t split_ask_fused(const SplitView& view, CalledKeys& called,
                                       const NextKeys& next) {
    return fused_step<Verb::ask>(Split<SplitWords>(view), called, next);
  }

  static bool round_mark(std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                         const Round& round) {
    return Line::round_mark(line, Line::round_bits(hash, constant, round));
  }

  static bool round_has(const std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                        const Round& round) {
    return Line::round_has(line, Line::round_bits(hash, constant, round));
  }

  static bool lone_mark(const LoneView& view, std::uint64_t hash) {
    return round_mark(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
  }

  static bool lone_has(const LoneView& view, std::uint64_t hash) {
    return round_has(line_at(view.words, view.blocks, hash), hash, remix_constants[0], view.round);
  }

  static bool split_mark(std::uint32_t* block, std::uint32_t low_half) {
    return SplitWords::mark(block, low_half);
  }

  static bool split_has(const std::uint32_t* block, std::uint32_t low_half) {
    return SplitWords::has(block, low_half);
  }
};

}  // namespace
}  // namespace bloomery::inline v0::detail
