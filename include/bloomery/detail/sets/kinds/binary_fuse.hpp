// A static kind that is fast to build and to ask: a fingerprint as the XOR of three or four fields
// (binary fuse; Graf and Lemire 2022).
//
//    hash --> shard --> one field in each of three neighbouring segments   (fuse.hpp)
//    there?   field ^ field ^ field == fingerprint of the hash
//
// 1.14 times the floor of log2(1/p) bits a key at 10M keys, 1.08 with four fields, where a Bloom
// filter needs 1.44. All keys must be known, and none can be added later. Three fields are the
// usual choice: four take 5 % less space, a sixth more time to build and to ask.
// Limits:  the width is a whole number of bits: 1 % takes 7, and gives 1/128. Rates end at 2^-32.
//          Below some 100,000 keys the ends of the one shard weigh more (docs/kinds.md).
// Threads: any number may ask.
// See:     docs/kinds.md "fuse"; binary_fuse_test pins the bits; fuse_build.hpp builds.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/fuse.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/this_cpu.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/build/built.hpp>
#include <bloomery/detail/sets/build/fuse_build.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class BinaryFuse {
 public:
  static constexpr KindId id{10, "fuse"};
  using Input = Hash;
  using Shape = FuseShape;
  static constexpr std::tuple fields{Field{"keys", &Shape::keys},
                                     Field{"shards", &Shape::shards},
                                     Field{"seed", &Shape::seed},
                                     Field{"segments", &Shape::segments},
                                     Field{"segment_bits", &Shape::segment_bits},
                                     Field{"arity", &Shape::arity},
                                     Field{"width", &Shape::width}};
  using Slot = fuse::Slot;

  // Three fields a key; four only where a cap on memory leaves no room for three.
  static Result<Shape> plan(const Want& want) {
    const auto three = plan(want, 3);
    if (!three || want.memory_bytes == 0 || bytes(*three) <= want.memory_bytes) return three;
    return plan(want, 4);
  }
  static Result<Shape> plan(const Want& want, unsigned arity) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    const double width = std::ceil(-real::log2(want.rate));
    if (width > fuse::most_width)
      return Error{Code::impossible,
                   "a fuse set holds no rate below 2^-32, which is 2.4e-10; ask for a higher one"};
    return plan_fuse(want.keys, arity, static_cast<unsigned>(width));
  }

  static Result<Built<BinaryFuse>> build(const HashSource& source, const Want& want,
                                         const Crew& crew = {}) {
    const auto planned = plan(want);
    if (!planned) return planned.error();
    return build_as(source, {planned->arity, planned->width, want.scratch_bytes}, crew);
  }
  static Result<Built<BinaryFuse>> build_as(const HashSource& source, const FuseBuild::Order& order,
                                            const Crew& crew = {}) {
    FuseBuild build(source, order, crew);
    if (auto done = build.build_all(); !done) return done.error();
    return Built<BinaryFuse>{build.shape(), build.take_payload()};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    const bool sound = (shape.arity == 3 || shape.arity == 4) && shape.width >= 1 &&
                       shape.width <= fuse::most_width && shape.segments >= 1 &&
                       shape.segment_bits <= fuse::most_segment_bits &&
                       shape.shard_fields() <= most_shard_fields && shape.shards >= 1 &&
                       shape.shards <= most_fields / shape.shard_fields() &&
                       shape.keys <= shape.fields();
    if (!sound)
      return Error{Code::damaged,
                   "a fuse set of " + std::to_string(shape.keys) + " keys, " +
                       std::to_string(shape.shards) + " shards, " + std::to_string(shape.segments) +
                       " segments of 2^" + std::to_string(shape.segment_bits) + " fields, " +
                       std::to_string(shape.arity) + " fields a key and " +
                       std::to_string(shape.width) + " bits a field is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return fuse::payload_bytes(shape); }
  // The same for any number of keys but none.
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return keys == 0 ? 0 : std::ldexp(1, -static_cast<int>(shape.width));
  }

  BinaryFuse(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        payload_(lent.data()),
        fields_(lent.data() + fuse::seed_bytes(shape)),
        finder_(shape, lent.data()) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }

  Slot locate(Hash hash) const { return finder_.locate(hash); }
  // Into the L2 cache, which can have more misses in flight than the L1 cache.
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    const auto at = finder_.places_of<4>(slot);
    for (unsigned i = 0; i < shape_.arity; ++i)
      __builtin_prefetch(fields_ + fuse::field_byte(at[i], shape_.width), 0, 2);
  }
  bool may_contain(const Slot& slot) const {
    if (shape_.keys == 0) return false;
    return shape_.arity == 3 ? has<3>(slot) : has<4>(slot);
  }
  // One key by itself. Its usual shape is inlined: a caller's loop keeps the numbers in registers.
  bool is_simple() const { return shape_.arity == 3 && shape_.width <= 25 && shape_.keys != 0; }
  template <class Cpu = ThisCpu>
  [[gnu::always_inline]] bool has_simple(Hash hash) const {
    const Slot slot = finder_.locate(hash);
    const auto at = finder_.places_of<3>(slot);
    using namespace fuse;
    if (shape_.width == OneByte::width)
      return View<3, OneByte>(fields_, OneByte::width).may_contain(at, slot.spread);
    if (shape_.width == TwoBytes::width)
      return View<3, TwoBytes>(fields_, TwoBytes::width).may_contain(at, slot.spread);
    return View<3, UpTo25Bits>(fields_, shape_.width).may_contain(at, slot.spread);
  }
  template <class Cpu = ThisCpu>
  bool has_lone(Hash hash) const {
    return may_contain(locate(hash));
  }
  // Steps as batch.hpp wants them: a kernel locates and prefetches, the view that fits the
  // shape asks.
  using Slots = FuseSlots;
  void locate_slots(const Hash* hashes, std::size_t n, Slots& slots) const {
    kernels().fuse_locate(fuse::kernel_view(shape_, payload_), bare_words(hashes), n, slots);
  }
  std::uint64_t ask_slots(const Slots& slots, std::size_t n) const {
    if (shape_.keys == 0) return 0;
    const auto ask = [&](const auto& view) { return view.ask(slots, n); };
    return shape_.arity == 3 ? fuse::with_view<3>(fields_, shape_.width, ask)
                             : fuse::with_view<4>(fields_, shape_.width, ask);
  }

  // Exact: the keys were counted when the set was built.
  double estimate() const { return static_cast<double>(shape_.keys); }
  // The fingerprint of an absent key is any of 2^width, whatever its fields hold.
  double rate_now() const { return expected_rate(shape_, shape_.keys); }
  // The share of fields that a key was given.
  double fill_ratio() const {
    return static_cast<double>(shape_.keys) / static_cast<double>(shape_.fields());
  }

 private:
  static constexpr std::uint64_t most_shard_fields = std::uint64_t{1} << 31;
  static constexpr std::uint64_t most_fields = std::uint64_t{1} << 52;

  template <unsigned arity>
  [[gnu::always_inline]] bool has(const Slot& slot) const {
    return fuse::with_view<arity>(fields_, shape_.width, [&](const auto& view) {
      return view.may_contain(finder_.places_of<arity>(slot), slot.spread);
    });
  }

  Shape shape_;
  const std::byte* payload_;
  const std::byte* fields_;
  fuse::Finder finder_;
};

}  // namespace bloomery::inline v0::detail
