// The batch operations that are worth a SIMD copy: one table, one row per CPU family.
//
//    scalar    the law, compiled for any CPU
//    avx2      kernels_avx2.cpp: BMI2 and POPCNT too, as all these CPUs have
//    avx512    kernels_avx512.cpp, kernels_avx512_ribbon.cpp: F, VL, DQ, BW, BMI2
//              kernels_avx512_gfni.cpp: GFNI and VBMI too, else the law in its place
//    neon      kernels_neon.cpp: every aarch64
//
// The row is chosen once, at the first use: the best the CPU has, or the one that the environment
// variable BLOOMERY_CPU names. All rows give the same bits and the same answers, so a set may be
// built under one and asked under another.
//
// A step is up to 64 hashes in order, with those that come after them in sight:
//
//    hashes   0 ........ n-1 n ............ n+ahead-1
//             add / ask      prefetched, each `ahead` places before its turn
//
// Near the end fewer keys are ahead. The caller has then prefetched all that is left, and the step
// prefetches some of it again, which costs little.
// One prefetch after each line that is used keeps the memory evenly busy: with bursts of 16
// prefetches a filter of 124 MB took 18 ns a key instead of 9.5. They go to the L2 cache
// (prefetcht1), which can have more misses in flight than the L1 cache: 5.9 ns (docs/dead_ends.md).
// This header is plain on purpose: the kernel files are compiled with wide-vector flags, and the
// linker could use an inline function compiled there on a CPU that lacks those instructions.
// Threads: the table is constant after the first call; the first call may come from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/lane_runs.hpp>
#include <bloomery/detail/bits/ribbon_band.hpp>
#include <bloomery/detail/hash/steady.hpp>

namespace bloomery::inline v0::detail {

// A blocked set as the kernels see it. Hashes come as bare words: the layout of struct Hash.
struct LinesView {
  std::uint64_t* words;  // 8 to a line
  std::uint64_t blocks;
  std::uint32_t probes;  // in each line
  std::uint32_t lines;   // 1 or 2 lines a key
};

// A blocked set for single keys, where a key has one line and one round of probes.
struct LoneView {
  Round round;
  Steady blocks;
  std::uint64_t* words;  // 8 to a line
};

// A split-block set as the kernels see it.
struct SplitView {
  std::uint32_t* words;  // 8 to a block
  std::uint64_t blocks;
};

// 64 keys for a fused step to prefetch: hashes, or integers that it hashes first (xxh3_word.hpp).
struct NextKeys {
  const std::uint64_t* words;
  bool are_hashes;
  std::uint64_t flip;  // of the integers' seed
};

// 64 keys that are hashed and prefetched, as the row and the shape of the set like to find them.
struct alignas(64) CalledKeys {
  std::byte bytes[64 * 24];
};

// A ribbon as the kernels see it, and where a hash has landed in it (ribbon.hpp).
struct RibbonView {
  const std::uint64_t* words;
  std::uint32_t columns;  // of the narrow stretches
};
struct RibbonSlot {
  std::uint64_t hash = 0;     // as the layer sees it
  std::uint64_t low = 0;      // the word where the block of the first row begins
  std::uint32_t step = 0;     // from there to the next block; 0 when the window ends in this one
  std::uint16_t shift = 0;    // of the first row in its block
  std::uint16_t columns = 0;  // to compare; 0 when no layer holds the key
};

// A fuse set as the kernels see it (fuse.hpp), and a step of hashes that have landed in it.
struct FuseView {
  const std::byte* seeds;   // of the shards
  const std::byte* fields;  // side by side
  std::uint64_t seed;       // of the set
  std::uint64_t shards;
  std::uint64_t first_fields;  // of a shard, in which a key may start
  std::uint64_t shard_fields;
  std::uint32_t segment_bits;
  std::uint32_t arity;
  std::uint32_t width;
};
struct alignas(64) FuseSlots {
  std::uint64_t bit[4][64];       // where field j of key i begins, in bits
  std::uint32_t fingerprint[64];  // what the fields must add up to
};

// A quotient table as the kernels see it: bits/quotient_law.hpp draws it. One word more than the
// blocks need may be read.
struct QuotientView {
  std::uint64_t* words;
  std::uint64_t blocks;         // the last ones have no quotients, only room for spills
  std::uint32_t quotient_bits;  // q
  std::uint32_t slots;          // in a block
  std::uint32_t field_bits;     // f + 1
  std::uint32_t block_words;
};

struct Kernels {
  const char* name;

  // The hashes of n integers of 8 bytes: XXH3-64 with this seed.
  void (*hash_words)(const std::uint64_t* words, std::size_t n, std::uint64_t seed,
                     std::uint64_t* hashes);

  // lines[i]: the line that hash i chooses among so many blocks, by multiply-high.
  void (*find_lines)(const std::uint64_t* hashes, std::size_t n, std::uint64_t blocks,
                     std::uint64_t* lines);

  // Steps. Bit i of the answer: hash i was surely new (add), may be there (ask).
  std::uint64_t (*lines_add)(const LinesView&, const std::uint64_t* hashes, std::size_t n,
                             std::size_t ahead);
  std::uint64_t (*lines_ask)(const LinesView&, const std::uint64_t* hashes, std::size_t n,
                             std::size_t ahead);
  // Fused steps: call hashes and prefetches 64 keys; add and ask use those that were called, and
  // call for the next in their place. nullptr in the scalar row, which hashes apart.
  void (*lines_call)(const LinesView&, CalledKeys&, const NextKeys&);
  std::uint64_t (*lines_add_fused)(const LinesView&, CalledKeys&, const NextKeys&);
  std::uint64_t (*lines_ask_fused)(const LinesView&, CalledKeys&, const NextKeys&);
  // One round of one key in one line: the bits of the hash remixed by this constant. mark sets them
  // and returns whether one of them was not set before; has returns whether all are set.
  bool (*round_mark)(std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                     const Round& round);
  bool (*round_has)(const std::uint64_t* line, std::uint64_t hash, std::uint64_t constant,
                    const Round& round);
  // The same for the first round of a key in the line that it chooses.
  bool (*lone_mark)(const LoneView&, std::uint64_t hash);
  bool (*lone_has)(const LoneView&, std::uint64_t hash);
  // One key in one split block: mark and has as above.
  bool (*split_mark)(std::uint32_t* block, std::uint32_t low_half);
  bool (*split_has)(const std::uint32_t* block, std::uint32_t low_half);
  std::uint64_t (*split_add)(const SplitView&, const std::uint64_t* hashes, std::size_t n,
                             std::size_t ahead);
  std::uint64_t (*split_ask)(const SplitView&, const std::uint64_t* hashes, std::size_t n,
                             std::size_t ahead);
  void (*split_call)(const SplitView&, CalledKeys&, const NextKeys&);
  std::uint64_t (*split_add_fused)(const SplitView&, CalledKeys&, const NextKeys&);
  std::uint64_t (*split_ask_fused)(const SplitView&, CalledKeys&, const NextKeys&);

  // The slots of n <= 64 hashes; prefetches their memory.
  void (*fuse_locate)(const FuseView&, const std::uint64_t* hashes, std::size_t n, FuseSlots&);

  // Bit i of the answer: the layers have the fingerprint of slot i; 0 for a slot without columns.
  std::uint64_t (*ribbon_ask)(const RibbonView&, const RibbonSlot* slots, std::size_t n);

  // Inserts a class of keys, as the layer sees them, in rising octets of starts: each in turn leads
  // its first row that is free once the leaders before it are subtracted, or is redundant. False
  // when an equation becomes 0 = 1; the caller must then take out the rows placed so far.
  bool (*ribbon_insert)(RibbonBand&, const std::uint64_t* hashes, std::size_t n);
  // From the last row to the first: each follows from the 63 after it; rows that nobody leads are
  // 0.
  void (*ribbon_substitute)(const RibbonEquation* leading, const RibbonBlocks&);

  // Copies whole cache lines to where they will not be read soon, past the caches if the CPU can;
  // both ends on a cache line. stream_end comes before another thread may read them.
  void (*stream_lines)(std::uint64_t* to, const std::uint64_t* from, std::size_t lines);
  void (*stream_end)();

  // Ones among so many words.
  std::uint64_t (*count_ones)(const std::uint64_t* words, std::size_t n);
  // Ones in each of the eight words of a line.
  void (*count_lanes)(const std::uint64_t* line, std::uint8_t* ones);
  // Where the ones are among n <= 64 words whose first bit is `base`: places in ascending order,
  // and how many. There must be room for 64 * n places, all of which may be written. nullptr in
  // rows where a loop over the ones is as fast (list_ones.hpp).
  std::size_t (*list_ones)(const std::uint64_t* words, std::size_t n, std::uint32_t base,
                           std::uint32_t* places);
  std::size_t (*list_ones_wide)(const std::uint64_t* words, std::size_t n, std::uint64_t base,
                                std::uint64_t* places);

  // Where this byte is among n < 2^32 others: places in ascending order, and how many. There must
  // be room for n places.
  std::size_t (*find_byte)(const unsigned char* bytes, std::size_t n, unsigned char wanted,
                           std::uint32_t* places);

  // Steps on a quotient table. Adding stops at the first hash that finds no slot; `taken` is the
  // number of hashes before it.
  std::uint64_t (*quotient_add)(const QuotientView&, const std::uint64_t* hashes, std::size_t n,
                                std::size_t ahead, std::size_t* taken);
  std::uint64_t (*quotient_ask)(const QuotientView&, const std::uint64_t* hashes, std::size_t n,
                                std::size_t ahead);
};

// The most hashes in a step.
inline constexpr std::size_t step_keys = 64;
// The most words that list_ones takes.
inline constexpr std::size_t listed_words = 64;

extern const Kernels scalar_kernels;
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
extern const Kernels neon_kernels;

// Scalar functions that other rows use where they have no faster version.
void hash_words_one_by_one(const std::uint64_t* words, std::size_t n, std::uint64_t seed,
                           std::uint64_t* hashes);

// For bytes first <= i < n, behind so many places that were found before.
std::size_t find_byte_from(const unsigned char* bytes, std::size_t first, std::size_t n,
                           unsigned char wanted, std::uint32_t* places, std::size_t found);

void find_lines_one_by_one(const std::uint64_t* hashes, std::size_t n, std::uint64_t blocks,
                           std::uint64_t* lines);

// For slots first <= i < n.
void fuse_locate_from(const FuseView& view, const std::uint64_t* hashes, std::size_t first,
                      std::size_t n, FuseSlots& slots);
void fuse_locate_one_by_one(const FuseView& view, const std::uint64_t* hashes, std::size_t n,
                            FuseSlots& slots);

std::uint64_t ribbon_ask_one_by_one(const RibbonView& view, const RibbonSlot* slots, std::size_t n);

bool ribbon_insert_by_fours(RibbonBand& band, const std::uint64_t* hashes, std::size_t n);
bool ribbon_insert_avx512(RibbonBand& band, const std::uint64_t* hashes, std::size_t n);
void ribbon_substitute_by_bytes(const RibbonEquation* leading, const RibbonBlocks& blocks);
void ribbon_substitute_avx512(const RibbonEquation* leading, const RibbonBlocks& blocks);
void ribbon_substitute_gfni(const RibbonEquation* leading, const RibbonBlocks& blocks);

// The row in use. If BLOOMERY_CPU names a row that this CPU or build lacks, the best row is in use
// and kernels_refused() says why; every door that makes or opens a set asks it first.
const Kernels& kernels();
// nullptr when all is well, else a sentence for the user.
const char* kernels_refused();

// The row with this name, or nullptr when the name is unknown or the CPU lacks it.
const Kernels* kernels_named(const char* name);

}  // namespace bloomery::inline v0::detail
