// One key in one split block, for one key at a time: the law of block.hpp without a branch.
//
// As native_line.hpp does for lines: a caller that is compiled for a CPU with AVX2 or NEON inlines
// it with the whole block in one or two registers, any other calls the kernel of the CPU it runs
// on. The same limits hold, for the same reasons.
#pragma once

#include <cstdint>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/split_ops.hpp>
#include <bloomery/detail/bits/this_cpu.hpp>

namespace bloomery::inline v0::detail {

template <class Cpu>
struct SplitOps;

template <>
struct SplitOps<AnyCpu> {
  static bool split_has(const Kernels& row, const std::uint32_t* block, std::uint32_t low_half) {
    return row.split_has(block, low_half);
  }

  static bool split_mark(const Kernels& row, std::uint32_t* block, std::uint32_t low_half) {
    return row.split_mark(block, low_half);
  }
};

#if defined(__AVX2__) || defined(__aarch64__)
template <>
struct SplitOps<ThisCpu> {
  // Are all the bits of the key set?
  static bool split_has(const Kernels&, const std::uint32_t* block, std::uint32_t low_half) {
    return SplitWordsOps::has(block, low_half);
  }

  // Sets them all; returns whether one of them was not set before.
  static bool split_mark(const Kernels&, std::uint32_t* block, std::uint32_t low_half) {
    return SplitWordsOps::mark(block, low_half);
  }
};
#endif

}  // namespace bloomery::inline v0::detail
