// The textbook Bloom filter: k bits anywhere among m. The smallest that can still be added to.
//
//    probe i of a hash:   g = hash * odd^(i+1)    position = high word of g * m
//
// m = -n ln p / ln^2 2, rounded up to a cache line (from 4 MiB on to 16 of them, so that it can be
// folded); k = m/n ln 2. One multiply per probe steps to the next position. The textbook step
// h1 + i * h2 (Kirsch and Mitzenmacher) gives 4e-5 where 1e-6 was asked at n = 100
// (docs/dead_ends.md).
// Limits:  k cache misses a key, where blocked has one and is 4 % larger at 1 %.
// Threads: add_shared and may_contain_shared by any number at once; the rest by one. Two threads
//          that add the same key at once may both get Added::fresh.
// See:     docs/kinds.md "classic"; classic_bloom_test.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/probes.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class ClassicBloom {
 public:
  static constexpr KindId id{3, "classic"};
  using Input = Hash;
  struct Shape {
    std::uint64_t bits = 0;
    std::uint32_t probes = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"bits", &Shape::bits}, Field{"probes", &Shape::probes}};
  struct Slot {
    Hash hash;
  };

  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    const auto keys = static_cast<double>(want.keys);
    if (!enough_bits(1, keys, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
    const double exact_bits = plan::classic_bits(keys, want.rate);
    const double probes = std::max(1.0, std::round(exact_bits / keys * plan::ln2));
    const auto lines = static_cast<std::uint64_t>(std::ceil(exact_bits / granule_bits));
    return Shape{plan::foldable(std::max<std::uint64_t>(lines, 1), 65536) * granule_bits,
                 static_cast<std::uint32_t>(probes)};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.bits == 0 || shape.bits % granule_bits != 0 || shape.bits > most_bits ||
        shape.probes == 0 || shape.probes > most_probes)
      return Error{Code::damaged, "a classic filter of " + std::to_string(shape.bits) +
                                      " bits and " + std::to_string(shape.probes) +
                                      " probes is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return shape.bits / 8; }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return plan::classic_rate(static_cast<double>(keys), static_cast<double>(shape.bits),
                              shape.probes);
  }

  ClassicBloom(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        probes_(shape.bits, shape.probes),
        words_(reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }

  static constexpr std::size_t lookahead = 32;

  Slot locate(Hash hash) const { return {hash}; }
  [[gnu::always_inline]] void prefetch(Slot slot) const {
    probes_.each(
        slot.hash, [&](std::uint32_t, std::uint64_t bit)
                       __attribute__((always_inline)) { prefetch_place(bit); });
  }

  template <class Visit>
  void each_byte(Slot slot, Visit&& visit) const {
    probes_.each(slot.hash, [&](std::uint32_t, std::uint64_t bit) { visit(bit / 8); });
  }

  Added add(Slot slot) {
    std::uint64_t seen = 1;
    probes_.each(slot.hash, [&](std::uint32_t, std::uint64_t bit) { seen &= mark(bit); });
    return added(seen == 0);
  }
  Added add_shared(Slot slot) {
    bool seen = true;
    probes_.each(slot.hash,
                 [&](std::uint32_t, std::uint64_t bit) { seen &= set_bit_shared(words_, bit); });
    return added(!seen);
  }
  bool may_contain(Slot slot) const {
    std::uint64_t all = 1;
    probes_.each(slot.hash, [&](std::uint32_t, std::uint64_t bit) { all &= from(bit); });
    return all != 0;
  }
  bool may_contain_shared(Slot slot) const {
    bool all = true;
    probes_.each(slot.hash,
                 [&](std::uint32_t, std::uint64_t bit) { all &= get_bit_shared(words_, bit); });
    return all;
  }

  // Steps as probe_steps.hpp wants them.
  const Probes& probes() const { return probes_; }
  [[gnu::always_inline]] void prefetch_place(std::uint64_t bit) const {
    __builtin_prefetch(&words_[bit / word_bits], 0, 2);
  }
  Added add_at(const std::uint64_t* bits) {
    std::uint64_t seen = 1;
    for (std::uint32_t i = 0; i < shape_.probes; ++i) seen &= mark(bits[i]);
    return added(seen == 0);
  }
  bool has_at(const std::uint64_t* bits) const {
    std::uint64_t all = 1;
    for (std::uint32_t i = 0; i < shape_.probes; ++i) all &= from(bits[i]);
    return all != 0;
  }

  // Exact: the bytes are those of a filter that was given both lists.
  void unite(const ClassicBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  // Holds the keys of both, and has more false positives than a filter built from those keys.
  void intersect(const ClassicBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  }
  static std::uint64_t fold_units(const Shape& shape) { return shape.bits / granule_bits; }
  static Shape folded(const Shape& shape, std::uint64_t factor) {
    return {shape.bits / factor, shape.probes};
  }
  void fold_from(const ClassicBloom& larger, std::uint64_t factor) {
    for_each_one(larger.words_, [&](std::uint64_t bit) { set_bit(words_, bit / factor); });
  }

  // The set of everything.
  void fill() { std::memset(words_.data(), 0xff, words_.size_bytes()); }

  double estimate() const {
    const double empty = 1 - fill_ratio();
    if (empty <= 0) return std::numeric_limits<double>::infinity();
    return -static_cast<double>(shape_.bits) / shape_.probes * real::log(empty);
  }
  double rate_now() const { return real::pow(fill_ratio(), shape_.probes); }
  double fill_ratio() const {
    return static_cast<double>(count_ones(words_)) / static_cast<double>(shape_.bits);
  }

 private:
  // Whole cache lines: no filter is too small for the law, and neighbouring bits can fold.
  static constexpr std::uint64_t granule_bits = 512;
  static constexpr std::uint64_t most_bits = std::uint64_t{1} << 56;

  // The word of a bit from that bit on: its lowest bit is the answer.
  std::uint64_t from(std::uint64_t bit) const {
    return words_[bit / word_bits] >> (bit % word_bits);
  }
  // The same before the bit is set.
  std::uint64_t mark(std::uint64_t bit) {
    std::uint64_t& word = words_[bit / word_bits];
    const std::uint64_t before = word;
    word = before | std::uint64_t{1} << (bit % word_bits);
    return before >> (bit % word_bits);
  }

  Shape shape_;
  Probes probes_;
  Words words_;
};

}  // namespace bloomery::inline v0::detail
