// The batch operations that are worth a SIMD copy: one table, one row per CPU family.
//
//    scalar    the law, compiled for any CPU
//    avx2      kernels_avx2.cpp
//    avx512    kernels_avx512.cpp: F, VL, DQ, BW
//
// The row is chosen once, at the first use: the best the CPU has, or the one that the environment
// variable BLOOMERY_CPU names. All rows give the same bits and the same answers, so a set may be
// built under one and asked under another.
// This header is plain on purpose: the kernel files are compiled with wide-vector flags, and an
// inline function compiled there could be handed by the linker to a CPU that lacks them.
// Threads: the table is constant after the first call; the first call may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery {

// A blocked set as the kernels see it. Hashes come as bare words: the layout of struct Hash.
struct LinesView {
  std::uint64_t* words;  // 8 to a line
  std::uint64_t blocks;
  std::uint32_t probes;  // in each line
  std::uint32_t lines;   // 1 or 2 lines a key
};

// A split-block set as the kernels see it.
struct SplitView {
  std::uint32_t* words;  // 8 to a block
  std::uint64_t blocks;
};

struct Kernels {
  const char* name;

  // Adds n hashes in order; returns how many were surely new. `fresh` may be null; else fresh[i]
  // tells whether hash i was.
  std::size_t (*lines_add)(const LinesView&, const std::uint64_t* hashes, std::size_t n,
                           bool* fresh);
  void (*lines_ask)(const LinesView&, const std::uint64_t* hashes, std::size_t n, bool* answers);
  std::size_t (*split_add)(const SplitView&, const std::uint64_t* hashes, std::size_t n,
                           bool* fresh);
  void (*split_ask)(const SplitView&, const std::uint64_t* hashes, std::size_t n, bool* answers);
};

// Thirty-two lines in flight fill the miss buffers of the CPUs we measured.
inline constexpr std::size_t kernel_lookahead = 32;

extern const Kernels scalar_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;

// The row in use. If BLOOMERY_CPU names a row that this CPU or build lacks, the best row is in use
// and kernels_refused() says why; every door that makes or opens a set asks it first.
const Kernels& kernels();
// Null when all is well, else a sentence for the user.
const char* kernels_refused();

// The row with this name, or null when the name is unknown or the CPU lacks it.
const Kernels* kernels_named(const char* name);

}  // namespace bloomery
