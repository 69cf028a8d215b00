// The NEON row: the loops of block_loops.hpp around the block laws of line_ops.hpp and
// split_ops.hpp. Every aarch64 has NEON, so this file is compiled as all others are.
//
// Integers are hashed and lines found by the scalar functions: NEON multiplies no words of 64 bits.
// Chosen by counting instructions and reading the makers' optimization guides, not measured
// (docs/benchmarks.md "ARM").
#include <arm_neon.h>

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

using Loops = BlockLoops<NeonLine, SplitWordsOps>;

// There is no store past the caches that compilers agree on. Cores that see whole lines being
// written, one after the other, do not read them first.
void stream_lines(std::uint64_t* to, const std::uint64_t* from, std::size_t lines) {
  for (std::size_t i = 0; i < 8 * lines; i += 2) vst1q_u64(to + i, vld1q_u64(from + i));
}

// Plain stores, which whatever hands them to another thread orders.
void stream_end() {}

// Bit i of the answer: byte i of 64 is the wanted one. Each byte that is leaves one bit of eight,
// and three sums of neighbours put eight bytes into one.
inline std::uint64_t equal_bytes(const unsigned char* bytes, uint8x16_t wanted) {
  const uint8x16_t bits{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const auto some = [&](std::size_t at) __attribute__((always_inline)) {
    return vandq_u8(vceqq_u8(vld1q_u8(bytes + at), wanted), bits);
  };
  const uint8x16_t first = vpaddq_u8(some(0), some(16));
  const uint8x16_t second = vpaddq_u8(some(32), some(48));
  const uint8x16_t sums = vpaddq_u8(first, second);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

std::size_t find_byte(const unsigned char* bytes, std::size_t n, unsigned char wanted,
                      std::uint32_t* places) {
  const uint8x16_t many = vdupq_n_u8(wanted);
  std::size_t i = 0;
  std::size_t found = 0;
  // found <= i, so there is room for two more places as long as two bytes follow.
  for (; i + 64 <= n; i += 64) found = put_places(equal_bytes(bytes + i, many), i, places, found);
  return find_byte_from(bytes, i, n, wanted, places, found);
}

// A scalar count of ones goes through these registers too, and back, for each word.
std::uint64_t ones_among(const std::uint64_t* words, std::size_t n) {
  const auto ones_of = [&](std::size_t at) __attribute__((always_inline)) {
    return vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(words + at)));
  };
  uint64x2_t sums = vdupq_n_u64(0);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    // at most 32 in a byte
    const uint8x16_t bytes =
        vaddq_u8(vaddq_u8(ones_of(i), ones_of(i + 2)), vaddq_u8(ones_of(i + 4), ones_of(i + 6)));
    sums = vpadalq_u32(sums, vpaddlq_u16(vpaddlq_u8(bytes)));
  }
  std::uint64_t ones = vaddvq_u64(sums);
  for (; i < n; ++i) ones += static_cast<std::uint64_t>(__builtin_popcountll(words[i]));
  return ones;
}

void ones_in_lanes(const std::uint64_t* line, std::uint8_t* ones) {
  const auto ones_of = [&](std::size_t at) __attribute__((always_inline)) {
    return vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(line + at)));
  };
  // Three sums of neighbours make one byte of eight.
  const uint8x16_t first = vpaddq_u8(ones_of(0), ones_of(2));
  const uint8x16_t second = vpaddq_u8(ones_of(4), ones_of(6));
  const uint8x16_t sums = vpaddq_u8(first, second);
  vst1_u8(ones, vget_low_u8(vpaddq_u8(sums, sums)));
}

// Bit i: word i is not zero.
std::uint64_t summary_of(const std::uint64_t* words, std::size_t n) {
  std::uint64_t summary = 0;
  for (std::size_t i = 0; i < n; ++i) summary |= static_cast<std::uint64_t>(words[i] != 0) << i;
  return summary;
}

void put_eight(uint8x8_t bytes, std::uint32_t first, std::uint32_t* to) {
  const uint32x4_t base = vdupq_n_u32(first);
  const uint16x8_t places = vmovl_u8(bytes);
  vst1q_u32(to, vaddw_u16(base, vget_low_u16(places)));
  vst1q_u32(to + 4, vaddw_high_u16(base, places));
}

void put_eight(uint8x8_t bytes, std::uint64_t first, std::uint64_t* to) {
  const uint64x2_t base = vdupq_n_u64(first);
  const uint16x8_t places = vmovl_u8(bytes);
  const uint32x4_t low = vmovl_u16(vget_low_u16(places));
  const uint32x4_t high = vmovl_high_u16(places);
  vst1q_u64(to, vaddw_u32(base, vget_low_u32(low)));
  vst1q_u64(to + 2, vaddw_high_u32(base, low));
  vst1q_u64(to + 4, vaddw_u32(base, vget_low_u32(high)));
  vst1q_u64(to + 6, vaddw_high_u32(base, high));
}

template <class Place>
std::size_t list_ones(const std::uint64_t* words, std::size_t n, Place base, Place* places) {
  // A byte at a time: the places of its ones come from a table, eight of them are written. How many
  // there are of them is counted for all eight bytes at once.
  const auto many = [](std::uint64_t word, Place first, Place* to) {
    std::uint64_t ones = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(word))), 0);
    for (int i = 0; i < 8; ++i, first += 8, word >>= 8, ones >>= 8) {
      put_eight(vld1_u8(places_in_byte.rows[word & 0xff]), first, to);
      to += ones & 0xff;
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

const Kernels neon_kernels{"neon",
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
