// The law of the fuse kind: which fields of a shard a hash owns, and what they must add up to.
//
//    hash --mix with the set's seed--> mixed
//    mixed * shards:   high word: shard      low word, its last 7 bits cleared: local
//
//    a shard   | segment 0 | segment 1 | ...        | ...     | last |   2^segment_bits fields each
//    a key           one field in each of `arity` neighbours
//
//    first     mulhi(local, segments * 2^segment_bits): any field but those of the last arity - 1
//              segments
//    i-th      (first + i * 2^segment_bits) with its place in the segment XORed by bits of `spread`
//    spread    local mixed with the seed of the shard; also gives the fingerprint
//
// A key is there if the XOR of its fields is its fingerprint. Keys sorted by their hash touch their
// shard from left to right, a few neighbouring segments at a time: that is what makes building
// fast. The last 7 bits are where a builder counts.
// Limits:  64 - 7 bits of a hash are left to tell the keys of a shard apart.
// See:     docs/kinds.md "fuse"; binary_fuse_test pins the bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/packed.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/steady.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

struct FuseShape {
  std::uint64_t keys = 0;      // different ones
  std::uint64_t shards = 0;    // of equal size; the hash chooses one
  std::uint64_t seed = 0;      // of the set; each shard has one more, in front of the fields
  std::uint32_t segments = 0;  // of a shard, in which a key may start
  std::uint32_t segment_bits = 0;
  std::uint32_t arity = 0;  // fields a key
  std::uint32_t width = 0;  // bits of a field

  constexpr std::uint64_t first_fields() const { return std::uint64_t{segments} << segment_bits; }
  constexpr std::uint64_t shard_fields() const {
    return (std::uint64_t{segments} + arity - 1) << segment_bits;
  }
  constexpr std::uint64_t fields() const { return shards * shard_fields(); }
  friend bool operator==(const FuseShape&, const FuseShape&) = default;
};

namespace fuse {

inline constexpr unsigned most_width = 32;
inline constexpr unsigned most_segment_bits = 18;  // offsets are 20 bits apart in a spread
// The last bits of a word, in which a builder counts the keys of a field.
inline constexpr std::uint64_t count_mask = 127;

// One-to-one for a given seed: different hashes stay different. Every bit of the hash reaches the
// high bits, which choose shard and segment.
constexpr std::uint64_t mix(Hash hash, std::uint64_t seed) {
  return (hash.bits ^ seed) * fuse_constants[0];
}

struct Split {
  std::uint64_t shard;
  std::uint64_t local;
};
constexpr Split split(std::uint64_t mixed, std::uint64_t shards) {
  const auto [high, low] = product_of(mixed, shards);
  return {high, low & ~count_mask};
}

constexpr std::uint64_t spread(std::uint64_t local, std::uint64_t shard_seed) {
  const std::uint64_t product = (local ^ shard_seed) * fuse_constants[1];
  return product ^ (product >> 32);
}

// The bits of a word above a field in its lowest bits, 64 - width: written so that it is one
// instruction, and none more to shift by it.
constexpr unsigned above(unsigned width) { return -width % 64; }

constexpr std::uint64_t fingerprint(std::uint64_t spread, unsigned width) {
  return (spread * fuse_constants[2]) >> above(width);
}

// The first field of a key, counted from the beginning of its shard.
constexpr std::uint64_t first_place(const FuseShape& shape, std::uint64_t local) {
  return mulhi(local, shape.first_fields());
}

// The fields of a key, counted from wherever `first` is: shards are whole segments.
template <unsigned arity, class Place>
constexpr std::array<Place, arity> places(Place segment_fields, Place first, std::uint64_t spread) {
  std::array<Place, arity> at{first};
  for (unsigned i = 1; i < arity; ++i) {
    const auto offset = static_cast<Place>(spread >> (20 * (i - 1))) & (segment_fields - 1);
    at[i] = (first + i * segment_fields) ^ offset;
  }
  return at;
}

// The payload: the seeds of the shards, the fields side by side (packed.hpp), and one word so
// that eight bytes may be read from wherever a field begins.
constexpr std::uint64_t seed_bytes(const FuseShape& shape) {
  return shape.shards * sizeof(std::uint64_t);
}
constexpr std::uint64_t payload_bytes(const FuseShape& shape) {
  const Packed packed(shape.width);
  return seed_bytes(shape) + (packed.words(shape.fields()) + 1) * sizeof(std::uint64_t);
}

// The byte in which a field begins.
constexpr std::uint64_t field_byte(std::uint64_t field, unsigned width) {
  return field * width / 8;
}

// Where a hash has landed.
struct Slot {
  std::uint64_t first = 0;   // field, counted over all shards
  std::uint64_t spread = 0;  // pays for the other fields and the fingerprint
};

// How a field is read: a whole number of bytes, or from within a word that begins in the field's
// first byte. The word is as short as possible: the cache line after the field was not prefetched.
struct OneByte {
  using Word = std::uint8_t;
  static constexpr unsigned width = 8;
};
struct TwoBytes {
  using Word = std::uint16_t;
  static constexpr unsigned width = 16;
};
struct UpTo25Bits {
  using Word = std::uint32_t;
  static constexpr unsigned width = 0;  // that of the shape
};
struct UpTo32Bits {
  using Word = std::uint64_t;
  static constexpr unsigned width = 0;
};

// Where lone keys land. The numbers of a shape are worked out once: while a key waits for memory,
// each instruction between two keys delays the loads of the next (docs/benchmarks.md "One by one").
class Finder {
 public:
  Finder(const FuseShape& shape, const std::byte* payload)
      : seeds_(payload),
        seed_(shape.seed),
        shards_(shape.shards),
        first_fields_(shape.first_fields()),
        shard_fields_(shape.shard_fields()),
        segment_fields_(std::uint64_t{1} << shape.segment_bits) {}

  // In bounds for any hash and any payload: places follow from the shape alone.
  [[gnu::always_inline]] Slot locate(Hash hash) const {
    const auto [shard, local] = split(mix(hash, seed_), shards_);
    std::uint64_t shard_seed;
    std::memcpy(&shard_seed, seeds_ + shard * sizeof shard_seed, sizeof shard_seed);
    return {shard * shard_fields_ + mulhi(local, first_fields_), spread(local, shard_seed)};
  }
  template <unsigned arity>
  [[gnu::always_inline]] std::array<std::uint64_t, arity> places_of(const Slot& slot) const {
    return places<arity>(segment_fields_, slot.first, slot.spread);
  }

 private:
  const std::byte* seeds_;
  Steady seed_;
  Steady shards_;
  Steady first_fields_;
  Steady shard_fields_;
  std::uint64_t segment_fields_;
};

// Reads the fields of a payload. Arity and field width are compile-time constants: when the payload
// is in cache, instructions are most of the cost.
template <unsigned arity, class Read>
class View {
 public:
  View(const std::byte* fields, unsigned width) : fields_(fields), width_(width) {}

  [[gnu::always_inline]] bool may_contain(const std::array<std::uint64_t, arity>& places,
                                          std::uint64_t spread) const {
    std::uint64_t sum = fingerprint(spread, width());
    for (const std::uint64_t at : places) sum ^= field(at);
    return sum << above(width()) == 0;
  }

  // The first n <= 64 of these slots; bit i of the answer tells of slot i.
  std::uint64_t ask(const FuseSlots& slots, std::size_t n) const {
    const unsigned high = above(width());
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t sum = slots.fingerprint[i];
      for (unsigned j = 0; j < arity; ++j) sum ^= field_at(slots.bit[j][i]);
      answers |= std::uint64_t{sum << high == 0} << i;
    }
    return answers;
  }

 private:
  unsigned width() const { return Read::width != 0 ? Read::width : width_; }

  // The field in the lowest `width` bits, and others above it.
  std::uint64_t field(std::uint64_t at) const {
    if constexpr (Read::width == 0) return field_at(at * width_);
    typename Read::Word word;
    std::memcpy(&word, fields_ + at * sizeof word, sizeof word);
    return word;
  }
  // The one that begins with this bit.
  std::uint64_t field_at(std::uint64_t bit) const {
    typename Read::Word word;
    std::memcpy(&word, fields_ + bit / 8, sizeof word);
    return Read::width != 0 ? word : word >> (bit % 8);
  }

  const std::byte* fields_;
  unsigned width_;
};

inline FuseView kernel_view(const FuseShape& shape, const std::byte* payload) {
  return {.seeds = payload,
          .fields = payload + seed_bytes(shape),
          .seed = shape.seed,
          .shards = shape.shards,
          .first_fields = shape.first_fields(),
          .shard_fields = shape.shard_fields(),
          .segment_bits = shape.segment_bits,
          .arity = shape.arity,
          .width = shape.width};
}

// Calls use(view) with the view that fits the shape.
template <unsigned arity, class Use>
[[gnu::always_inline]] inline decltype(auto) with_view(const std::byte* fields, unsigned width,
                                                       Use&& use) {
  if (width == OneByte::width) return use(View<arity, OneByte>(fields, width));
  if (width == TwoBytes::width) return use(View<arity, TwoBytes>(fields, width));
  if (width <= 25) return use(View<arity, UpTo25Bits>(fields, width));
  return use(View<arity, UpTo32Bits>(fields, width));
}

}  // namespace fuse
}  // namespace bloomery::inline v0::detail
