// The smallest set for keys that are all known beforehand: bumped ribbon retrieval (BuRR).
//
//    a key gets its fingerprint as the parity of chosen rows out of 64 (ribbon_layer.hpp); bits
//    that do so for all keys are found by solving linear equations (ribbon_shard.hpp)
//
//    keys --> layer 1 --bumped, 4 %--> layer 2 --> layer 3 --> layer 4 --a handful--> sorted list
//
// Each layer has 4 % fewer rows than keys, so nearly every row is used: 1.004 times the floor of
// log2(1/p) bits a key from 100,000 keys on. Keys that do not fit are bumped, and two bits for each
// 128 starts say whose. No attempt can fail: what the layers cannot hold is in the list. Rates
// between the powers of two come from a share of wide stretches: 1.016 times the floor at 1 %.
// Limits:  cannot be added to. One key reads two blocks of `columns` words, side by side.
// Threads: any number may ask.
// See:     arXiv 2109.01892; docs/kinds.md "ribbon"; ribbon_test pins the bits.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/ribbon.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/sets/build/built.hpp>
#include <bloomery/detail/sets/build/ribbon_layer.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class Ribbon {
 public:
  static constexpr KindId id{11, "ribbon"};
  using Input = Hash;
  static constexpr unsigned most_layers = 4;
  struct Shape {
    std::uint64_t keys = 0;
    std::uint32_t columns = 0;  // bits of a fingerprint in the narrow stretches
    std::uint32_t wide = 0;     // share of the stretches with one column more, in 1 / 65536
    std::uint64_t shards_1 = 0;
    std::uint64_t blocks_1 = 0;  // of 64 rows, in each shard of layer 1
    std::uint64_t shards_2 = 0;
    std::uint64_t blocks_2 = 0;
    std::uint64_t shards_3 = 0;
    std::uint64_t blocks_3 = 0;
    std::uint64_t shards_4 = 0;
    std::uint64_t blocks_4 = 0;
    std::uint64_t listed = 0;  // keys that no layer holds
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{
      Field{"keys", &Shape::keys},         Field{"columns", &Shape::columns},
      Field{"wide", &Shape::wide},         Field{"shards 1", &Shape::shards_1},
      Field{"blocks 1", &Shape::blocks_1}, Field{"shards 2", &Shape::shards_2},
      Field{"blocks 2", &Shape::blocks_2}, Field{"shards 3", &Shape::shards_3},
      Field{"blocks 3", &Shape::blocks_3}, Field{"shards 4", &Shape::shards_4},
      Field{"blocks 4", &Shape::blocks_4}, Field{"listed", &Shape::listed}};
  using Slot = RibbonSlot;

  // The layers to expect for so many keys; those that are built differ by a few blocks.
  static Result<Shape> plan(const Want& want);
  // Of the want only rate and scratch count. Any number of hashes from 0 on; copies are taken for
  // one.
  static Result<Built<Ribbon>> build(const HashSource& source, const Want& want,
                                     const Crew& crew = {});

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes);
  static std::uint64_t bytes(const Shape& shape);
  static double expected_rate(const Shape& shape, std::uint64_t keys);

  Ribbon(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape), words_(reinterpret_cast<const std::uint64_t*>(lent.data())) {
    assert(lent.size() == bytes(shape) && "a ribbon is given exactly the bytes of its shape");
    for (unsigned i = 0; i < most_layers; ++i) {
      layers_[i] = layer(shape, i);
      if (layers_[i].empty()) break;
      at_[i] = listed_at_;
      listed_at_ += layers_[i].words();
      ++depth_;
    }
  }

  Shape shape() const { return shape_; }
  // The marks and the list can be anything; only a list that is out of order would lose keys.
  Result<void> check_bits() const;

  // Reads the marks, which are 1/500 of the set at eight columns and so in a nearer cache.
  Slot locate(Hash hash) const {
    for (unsigned i = 0; i < depth_; ++i) {
      const RibbonLayer& layer = layers_[i];
      const auto place = layer.place(hash);
      if (!layer.bumped(words_ + at_[i], place)) return slot(i, hash, place);
      hash = RibbonLayer::next(hash);
    }
    return {.hash = hash.bits, .low = listed_at_};
  }
  // Into the L2 cache, which can have more misses in flight than the L1 cache.
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    const std::uint64_t* const low = words_ + slot.low;
    const unsigned words = slot.step + slot.columns;
    __builtin_prefetch(low, 0, 2);
    __builtin_prefetch(low + words / 2, 0, 2);
    __builtin_prefetch(low + words - (words != 0), 0, 2);
    // More than three lines.
    for (unsigned word = 8; word + 8 < words && words > 17; word += 8)
      __builtin_prefetch(low + word, 0, 2);
  }

  bool may_contain(const Slot& slot) const {
    if (slot.columns == 0) [[unlikely]]
      return is_listed({slot.hash});
    return ribbon_has(view(), slot);
  }
  // Steps as batch.hpp wants them.
  using Slots = std::array<Slot, step_keys>;
  void locate_slots(const Hash* hashes, std::size_t n, Slots& slots) const {
    for (std::size_t i = 0; i < n; ++i) {
      slots[i] = locate(hashes[i]);
      prefetch(slots[i]);
    }
  }
  std::uint64_t ask_slots(const Slots& slots, std::size_t n) const {
    std::uint64_t answers = kernels().ribbon_ask(view(), slots.data(), n);
    for (std::size_t i = 0; i < n; ++i)
      if (slots[i].columns == 0) [[unlikely]]
        answers |= std::uint64_t{is_listed({slots[i].hash})} << i;
    return answers;
  }

  double estimate() const { return static_cast<double>(shape_.keys); }
  double rate_now() const;
  // The share of the rows that a key leads; near 1 for all but small sets.
  double fill_ratio() const;

  // The numbers of a layer, 0 to 3; empty when the shape has no such layer.
  static RibbonLayer layer(const Shape& shape, unsigned number);

 private:
  RibbonView view() const { return {words_, shape_.columns}; }

  Slot slot(unsigned number, Hash hash, RibbonLayer::Place place) const {
    const RibbonLayer& layer = layers_[number];
    const std::uint64_t block = place.start / word_bits;
    const std::uint64_t shift = place.start % word_bits;
    return {.hash = hash.bits,
            .low = at_[number] + layer.block_at(place.shard, block),
            .step = shift == 0 ? 0 : layer.columns_of_block(block),
            .shift = static_cast<std::uint16_t>(shift),
            .columns = static_cast<std::uint16_t>(
                layer.columns_of(place.start / RibbonLayer::stretch_starts))};
  }

  std::span<const std::uint64_t> list() const {
    return {words_ + listed_at_, static_cast<std::size_t>(shape_.listed)};
  }
  bool is_listed(Hash hash) const {
    return std::binary_search(list().begin(), list().end(), hash.bits);
  }

  Shape shape_;
  const std::uint64_t* words_;
  std::array<RibbonLayer, most_layers> layers_;
  std::array<std::uint64_t, most_layers> at_{};  // the first word of each layer
  std::uint64_t listed_at_ = 0;                  // the first word of the list
  unsigned depth_ = 0;                           // layers that there are
};

}  // namespace bloomery::inline v0::detail
