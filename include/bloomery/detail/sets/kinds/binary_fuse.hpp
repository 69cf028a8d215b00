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
    const double width = std::ceil(-std::log2(want.rate));
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

  BinaryFuse(const Shape& shape, std::span<std::byte> lent) : shape_(shape), payload_(lent.data()) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }

  Slot locate(Hash hash) const { return any_view().locate(hash); }
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    if (shape_.arity == 3)
      fuse::View<3, fuse::UpTo32Bits>(shape_, payload_).prefetch(slot);
    else
      fuse::View<4, fuse::UpTo32Bits>(shape_, payload_).prefetch(slot);
  }
  bool may_contain(const Slot& slot) const {
    if (shape_.keys == 0) return false;
    return fuse::with_view(shape_, payload_,
                           [&](const auto& view) { return view.may_contain(slot); });
  }
  // Steps as batch.hpp wants them: a kernel locates and prefetches, the view that fits the
  // shape asks.
  using Slots = FuseSlots;
  void locate_slots(const Hash* hashes, std::size_t n, Slots& slots) const {
    kernels().fuse_locate(fuse::kernel_view(shape_, payload_), bare_words(hashes), n, slots);
  }
  std::uint64_t ask_slots(const Slots& slots, std::size_t n) const {
    if (shape_.keys == 0) return 0;
    return fuse::with_view(shape_, payload_, [&](const auto& view) { return view.ask(slots, n); });
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

  // Where a hash lands depends neither on the arity nor on the width.
  fuse::View<3, fuse::UpTo32Bits> any_view() const { return {shape_, payload_}; }

  Shape shape_;
  const std::byte* payload_;
};

}  // namespace bloomery::inline v0::detail
