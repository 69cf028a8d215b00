// One round of probes in one line, for one key at a time: the law of block.hpp without a
// branch, inlined into the caller.
//
// A caller that is compiled for a CPU with AVX2 (-march=native, -march=x86-64-v3) gets the whole
// line in two registers, with AVX-512 in one, on aarch64 always in four; any other caller calls the
// kernel of the CPU it runs on. Same bits, same answers.
// A single key takes so few instructions that a call would show (docs/benchmarks.md "One by one").
// The caller chooses to compile for a CPU; the library itself is never compiled that way.
// Limits:  up to 8 probes; further rounds are further calls. The CPU is a template argument, up to
//          the verbs of Set, so that files for different CPUs share none of this
//          (this_cpu.hpp).
#pragma once

#include <cstdint>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/lane_runs.hpp>
#include <bloomery/detail/bits/line_ops.hpp>
#include <bloomery/detail/bits/this_cpu.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>

namespace bloomery::inline v0::detail {

inline Round round_of(unsigned probes, const Kernels& row = kernels()) {
  return {lane_runs.turned[probes], lane_runs.ones[probes], &row, probes};
}

// Makes, sets and asks the bits of a round (line_ops.hpp).
template <class Cpu>
struct LineOps;

template <>
struct LineOps<AnyCpu> {
  static constexpr bool lines_are_inlined = false;
  struct RoundBits {
    std::uint64_t hash;
    std::uint64_t constant;
    const Round& round;
  };

  static RoundBits round_bits(std::uint64_t hash, std::uint64_t constant, const Round& round) {
    return {hash, constant, round};
  }

  static bool round_has(const std::uint64_t* line, const RoundBits& bits) {
    return bits.round.row->round_has(line, bits.hash, bits.constant, bits.round);
  }

  static bool round_mark(std::uint64_t* line, const RoundBits& bits) {
    return bits.round.row->round_mark(line, bits.hash, bits.constant, bits.round);
  }
};

#if defined(__AVX512F__) && defined(__AVX512DQ__)
template <>
struct LineOps<Avx512Cpu> : Avx512Line {
  static constexpr bool lines_are_inlined = true;
};
#elif defined(__AVX2__)
template <>
struct LineOps<Avx2Cpu> : Avx2Line {
  static constexpr bool lines_are_inlined = true;
};
#elif defined(__aarch64__)
template <>
struct LineOps<NeonCpu> : NeonLine {
  static constexpr bool lines_are_inlined = true;
};
#endif

// All the probes of a key in one line: the first round is given, a second one is made for shapes
// with more than 8 probes when it is needed. The remixes are those for `use` and the one after it.
template <class Cpu>
bool mark_probes(std::uint64_t* line, std::uint64_t hash, std::size_t use, const Round& first,
                 unsigned probes) {
  using Ops = LineOps<Cpu>;
  bool fresh = Ops::round_mark(line, Ops::round_bits(hash, remix_constants[use], first));
  if (probes > 8)
    fresh |= Ops::round_mark(
        line, Ops::round_bits(hash, remix_constants[use + 1], round_of(probes - 8, *first.row)));
  return fresh;
}

template <class Cpu>
bool has_probes(const std::uint64_t* line, std::uint64_t hash, std::size_t use, const Round& first,
                unsigned probes) {
  using Ops = LineOps<Cpu>;
  bool all = Ops::round_has(line, Ops::round_bits(hash, remix_constants[use], first));
  if (probes > 8)
    all &= Ops::round_has(
        line, Ops::round_bits(hash, remix_constants[use + 1], round_of(probes - 8, *first.row)));
  return all;
}

// A single key in a set where a key has one line and one round: mark and has as above.
// Always inlined: at -O2 GCC 12 calls them, which took 1.05 (adds) and 1.1 times (asks) as long.
template <class Cpu = ThisCpu>
[[gnu::always_inline]] inline bool lone_mark(const LoneView& set, std::uint64_t hash) {
  using Ops = LineOps<Cpu>;
  if constexpr (!Ops::lines_are_inlined) {
    return set.round.row->lone_mark(set, hash);
  } else {
    const typename Ops::RoundBits bits = Ops::round_bits(hash, remix_constants[0], set.round);
    return Ops::round_mark(set.words + mulhi(hash, set.blocks) * lanes_per_line, bits);
  }
}

template <class Cpu = ThisCpu>
[[gnu::always_inline]] inline bool lone_has(const LoneView& set, std::uint64_t hash) {
  using Ops = LineOps<Cpu>;
  if constexpr (!Ops::lines_are_inlined) {
    return set.round.row->lone_has(set, hash);
  } else {
    const typename Ops::RoundBits bits = Ops::round_bits(hash, remix_constants[0], set.round);
    return Ops::round_has(set.words + mulhi(hash, set.blocks) * lanes_per_line, bits);
  }
}

}  // namespace bloomery::inline v0::detail
