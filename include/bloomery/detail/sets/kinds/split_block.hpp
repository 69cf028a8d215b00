// A split-block Bloom filter: Parquet's bit law, eight bits in eight words of one 256-bit block.
//
//    hash  63 ............ 32 31 ............ 0
//          which block        times eight salts: one bit of each 32-bit word
//
// Blocks of Arrow, Impala, DuckDB and Parquet have these bits; theirs are fed with XXH64, ours with
// the set's own hash unless a foreign file is read.
// Limits:  always eight probes, so 10.5 bits a key at 1 % and 16.9 at 0.1 %; 2^31 blocks (64 GiB);
//          32 bits tell the keys of a block apart, which ends near 1e-7.
// Threads: add_shared and may_contain_shared by any number at once; the rest by one. Two threads
//          that add the same key at once may both get Added::fresh.
// See:     docs/kinds.md "split-block"; split_block_test rebuilds a Parquet file bit for bit.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/native_split.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class SplitBlock {
 public:
  static constexpr KindId id{5, "split-block"};
  using Input = Hash;
  struct Shape {
    std::uint64_t blocks = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"blocks", &Shape::blocks}};
  struct Slot {
    std::uint64_t block = 0;
    std::uint32_t low_half = 0;
  };

  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    if (want.rate < lowest_rate)
      return Error{Code::impossible,
                   "split-block cannot go below a rate of 1e-7: 32 bits of hash "
                   "tell the keys of a block apart; use blocked or classic"};
    const double blocks_per_key = plan::smallest(
        1e-4, 16, [&](double blocks) { return plan::split_rate(1 / blocks) <= want.rate; });
    const double blocks = std::ceil(static_cast<double>(want.keys) * blocks_per_key);
    if (blocks > static_cast<double>(most_blocks))
      return Error{Code::impossible,
                   "split-block ends at 2^31 blocks (64 GiB); use blocked for so many keys"};
    return Shape{plan::foldable(static_cast<std::uint64_t>(blocks))};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.blocks == 0 || shape.blocks > most_blocks)
      return Error{Code::damaged, "a split-block filter of " + std::to_string(shape.blocks) +
                                      " blocks is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return shape.blocks * split_bytes; }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return plan::split_rate(static_cast<double>(keys) / static_cast<double>(shape.blocks));
  }

  SplitBlock(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape), words_(reinterpret_cast<std::uint32_t*>(lent.data())), row_(&kernels()) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
    assert(reinterpret_cast<std::uintptr_t>(lent.data()) % split_bytes == 0 &&
           "a block does not straddle cache lines");
  }

  Shape shape() const { return shape_; }
  std::span<std::byte> bytes_lent() const {
    return std::as_writable_bytes(std::span(words_, shape_.blocks * split_words));
  }

  Slot locate(Hash hash) const {
    return {((hash.bits >> 32) * shape_.blocks) >> 32, static_cast<std::uint32_t>(hash.bits)};
  }
  [[gnu::always_inline]] void prefetch(Slot slot) const { __builtin_prefetch(block(slot), 0, 2); }

  template <class Visit>
  void each_byte(Slot slot, Visit&& visit) const {
    visit(slot.block * split_bytes);
  }

  Added add(Slot slot) { return add_at<AnyCpu>(slot); }
  Added add_shared(Slot slot) {
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < split_words; ++i) {
      const std::uint32_t bit = split_bit(slot.low_half, i);
      std::atomic_ref word(block(slot)[i]);
      // A word that has the bit is only read, so that its line stays shared between the cores.
      if ((word.load(std::memory_order_relaxed) & bit) == 0)
        missing |= bit & ~word.fetch_or(bit, std::memory_order_relaxed);
    }
    return added(missing != 0);
  }
  bool may_contain(Slot slot) const { return has_at<AnyCpu>(slot); }
  // Every shape is simple.
  bool is_simple() const { return true; }
  // Inlined where the caller is compiled for its CPU (this_cpu.hpp).
  template <class Cpu = ThisCpu>
  Added add_simple(Hash hash) {
    return add_at<Cpu>(locate(hash));
  }
  template <class Cpu = ThisCpu>
  bool has_simple(Hash hash) const {
    return has_at<Cpu>(locate(hash));
  }
  template <class Cpu = ThisCpu>
  Added add_lone(Hash hash) {
    return add_simple<Cpu>(hash);
  }
  template <class Cpu = ThisCpu>
  bool has_lone(Hash hash) const {
    return has_simple<Cpu>(hash);
  }
  bool may_contain_shared(Slot slot) const {
    std::uint32_t missing = 0;
    for (std::size_t i = 0; i < split_words; ++i)
      missing |= split_bit(slot.low_half, i) &
                 ~std::atomic_ref(block(slot)[i]).load(std::memory_order_relaxed);
    return missing == 0;
  }

  std::uint64_t add_step(const Hash* hashes, std::size_t n, std::size_t ahead) {
    return kernels().split_add(view(), bare_words(hashes), n, ahead);
  }
  std::uint64_t ask_step(const Hash* hashes, std::size_t n, std::size_t ahead) const {
    return kernels().split_ask(view(), bare_words(hashes), n, ahead);
  }
  bool fuses() const { return kernels().split_add_fused != nullptr; }
  void call(CalledKeys& called, const NextKeys& first) const {
    kernels().split_call(view(), called, first);
  }
  std::uint64_t add_fused(CalledKeys& called, const NextKeys& next) {
    return kernels().split_add_fused(view(), called, next);
  }
  std::uint64_t ask_fused(CalledKeys& called, const NextKeys& next) const {
    return kernels().split_ask_fused(view(), called, next);
  }

  // Two blocks to a cache line.
  std::uint64_t lines() const { return (shape_.blocks + 1) / 2; }
  void find_lines(const Hash* hashes, std::size_t n, std::uint64_t* lines) const {
    for (std::size_t i = 0; i < n; ++i) lines[i] = locate(hashes[i]).block / 2;
  }
  bool has_one_line() const { return true; }

  // Exact: the bytes are those of a filter that was given both lists.
  void unite(const SplitBlock& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::uint64_t i = 0; i < shape_.blocks * split_words; ++i) words_[i] |= other.words_[i];
  }
  // Holds the keys of both, and has more false positives than a filter built from those keys.
  void intersect(const SplitBlock& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::uint64_t i = 0; i < shape_.blocks * split_words; ++i) words_[i] &= other.words_[i];
  }
  static std::uint64_t fold_units(const Shape& shape) { return shape.blocks; }
  static Shape folded(const Shape& shape, std::uint64_t factor) { return {shape.blocks / factor}; }
  void fold_from(const SplitBlock& larger, std::uint64_t factor) {
    for (std::uint64_t block = 0; block < larger.shape_.blocks; ++block)
      for (std::size_t i = 0; i < split_words; ++i)
        words_[block / factor * split_words + i] |= larger.words_[block * split_words + i];
  }

  // The set of everything.
  void fill() { std::memset(words_, 0xff, bytes(shape_)); }

  // Words fill like 1 - e^(-keys / 32): the Poisson mixture has this closed form.
  double estimate() const {
    const double empty = 1 - fill_ratio();
    if (empty <= 0) return std::numeric_limits<double>::infinity();
    return -real::log(empty) * 32 * static_cast<double>(shape_.blocks);
  }
  // The mean over blocks of the product of its words' fills.
  double rate_now() const {
    double sum = 0;
    for (std::uint64_t b = 0; b < shape_.blocks; ++b) {
      double all = 1;
      for (std::size_t i = 0; i < split_words; ++i)
        all *= std::popcount(words_[b * split_words + i]) / 32.0;
      sum += all;
    }
    return sum / static_cast<double>(shape_.blocks);
  }
  double fill_ratio() const {
    std::uint64_t ones = 0;
    for (std::uint64_t i = 0; i < shape_.blocks * split_words; ++i)
      ones += static_cast<std::uint64_t>(std::popcount(words_[i]));
    return static_cast<double>(ones) / (static_cast<double>(shape_.blocks) * 8 * split_bytes);
  }

 private:
  template <class Cpu>
  Added add_at(Slot slot) {
    return added(SplitOps<Cpu>::split_mark(*row_, block(slot), slot.low_half));
  }
  template <class Cpu>
  bool has_at(Slot slot) const {
    return SplitOps<Cpu>::split_has(*row_, block(slot), slot.low_half);
  }

  static constexpr std::uint64_t most_blocks = std::uint64_t{1} << 31;
  static constexpr double lowest_rate = 1e-7;

  SplitView view() const { return {words_, shape_.blocks}; }
  std::uint32_t* block(Slot slot) const { return words_ + slot.block * split_words; }

  Shape shape_;
  std::uint32_t* words_;
  const Kernels* row_;  // for callers that are compiled for any CPU
};

}  // namespace bloomery::inline v0::detail
