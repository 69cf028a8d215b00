// Fingerprints in buckets of four: a set with removal, and the smallest that can still be added to
// at rates below 1e-3 or so.
//
//    hash --high word of hash * buckets--> first bucket   | f | f | f | . |   four places
//         --remix--> fingerprint f, never 0               | f | . | . | . |   0: empty
//    second bucket = (turn(f) - first) mod buckets        turn(f) odd, so the other parity
//
// The partner of a bucket follows from the bucket and the fingerprint alone, and its partner is the
// bucket again; so a fingerprint can move between its two without its key. An even number of
// buckets and an odd turn keep the two apart: a key always has eight places. When all eight are
// taken, a breadth-first search looks for the shortest sequence of moves to an empty place before
// anything moves. If it finds none, add returns Added::full and nothing has changed.
//
// add counts: a key that is added twice is there twice, and remove takes out one copy. The same
// adds and removes in the same order give the same bytes; after all is removed, those of an empty
// set.
// Limits:  planned for 95 % of its places; at 96 or 97 % it is full. Eight copies of a
//          key fit. Removing a key that was never added may, at the rate, take out the fingerprint
//          of another, which is then forgotten: remove only what was added. Rates below 2e-9 would
//          need more than 32 bits a fingerprint.
// Threads: any number may ask, or one may change it.
// See:     docs/kinds.md "cuckoo"; cuckoo_test.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/packed.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class Cuckoo {
 public:
  static constexpr KindId id{8, "cuckoo"};
  static constexpr bool can_be_full = true;
  static constexpr unsigned places = 4;  // in a bucket
  using Input = Hash;
  struct Shape {
    std::uint64_t buckets = 0;           // even
    std::uint32_t fingerprint_bits = 0;  // 4 to 32
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"buckets", &Shape::buckets},
                                     Field{"fingerprint_bits", &Shape::fingerprint_bits}};
  struct Slot {
    std::uint64_t first = 0;   // bucket
    std::uint64_t second = 0;  // bucket
    std::uint64_t fingerprint = 0;
  };

  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    // An absent key is compared with eight fingerprints.
    const double bits = std::ceil(real::log2(2 * places / want.rate));
    if (bits > most_bits)
      return Error{Code::impossible,
                   "a cuckoo set cannot go below a rate of 2e-9, where fingerprints would be wider "
                   "than 32 bits; use blocked or hash-set"};
    const double needed = static_cast<double>(want.keys) / planned_load + spare_places;
    const auto pairs = static_cast<std::uint64_t>(std::ceil(needed / (2 * places)));
    const Shape shape{2 * pairs, std::max(least_planned_bits, static_cast<std::uint32_t>(bits))};
    if (!enough_bits(shape.buckets, 2 * places, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
    return shape;
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.buckets == 0 || shape.buckets % 2 != 0 || shape.buckets > most_buckets ||
        shape.fingerprint_bits < least_bits || shape.fingerprint_bits > most_bits)
      return Error{Code::damaged, "a cuckoo set of " + std::to_string(shape.buckets) +
                                      " buckets and fingerprints of " +
                                      std::to_string(shape.fingerprint_bits) +
                                      " bits is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  // A word more than the fingerprints need, so that a bucket is read without asking where it ends.
  static std::uint64_t bytes(const Shape& shape) {
    return (Packed(shape.fingerprint_bits).words(shape.buckets * places) + 1) * 8;
  }
  // Each key makes absent keys with its fingerprint match in two buckets; keys may share both.
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    const double held =
        std::min(static_cast<double>(keys), static_cast<double>(shape.buckets) * places);
    return -real::expm1(-2 * held / (static_cast<double>(shape.buckets) * fingerprints(shape)));
  }

  // Of so many keys: at 96 or 97 % of its places it takes no more.
  static std::uint64_t most_held(const Shape& shape, std::uint64_t keys) {
    return std::min(keys, shape.buckets * places / 100 * 96);
  }

  Cuckoo(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        packed_(shape.fingerprint_bits),
        words_(reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)),
        places_per_load_(shape.fingerprint_bits <= 16 ? places : places / 2) {
    assert(lent.size() == bytes(shape) && "a set is given exactly the bytes of its shape");
    for (unsigned i = 0; i < places_per_load_; ++i)
      lowest_ |= std::uint64_t{1} << (i * shape.fingerprint_bits);
    highest_ = lowest_ << (shape.fingerprint_bits - 1);
  }

  Shape shape() const { return shape_; }

  // Two waits a key.
  static constexpr std::size_t lookahead = 32;

  Slot locate(Hash hash) const {
    const std::uint64_t first = mulhi(hash.bits, shape_.buckets);
    const std::uint64_t fingerprint = 1 + mulhi(remix(hash, 0), packed_.mask());
    return {first, partner(first, fingerprint), fingerprint};
  }
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    call_for(slot.first);
    call_for(slot.second);
  }

  // Fresh: no such fingerprint was there. Seen: one was, and now there is one more.
  Added add(const Slot& slot) {
    if (is_narrow()) return add_narrow(slot);
    const Added added = may_contain(slot) ? Added::seen : Added::fresh;
    for (const std::uint64_t bucket : {slot.first, slot.second})
      if (const unsigned place = find(bucket, 0); place != places) {
        put(bucket, place, slot.fingerprint);
        return added;
      }
    return add_by_moving(slot) ? added : Added::full;
  }
  bool may_contain(const Slot& slot) const {
    // Both are read at once: a branch between them would be mispredicted half of the time.
    const unsigned first = has(slot.first, slot.fingerprint);
    const unsigned second = has(slot.second, slot.fingerprint);
    return (first | second) != 0;
  }
  // Takes out one copy; returns whether there was one.
  bool remove(const Slot& slot) {
    for (const std::uint64_t bucket : {slot.first, slot.second})
      if (const unsigned place = find(bucket, slot.fingerprint); place != places) {
        put(bucket, place, 0);
        return true;
      }
    return false;
  }
  // How many copies of a key there are, and perhaps of keys that look like it; up to eight.
  unsigned count(const Slot& slot) const {
    unsigned copies = 0;
    for (unsigned place = 0; place < places; ++place)
      copies += (get(slot.first, place) == slot.fingerprint) +
                (get(slot.second, place) == slot.fingerprint);
    return copies;
  }

  // Fingerprints, copies among them.
  std::uint64_t held() const {
    std::uint64_t held = 0;
    for (std::uint64_t i = 0; i < shape_.buckets * places; ++i) held += packed_.get(words_, i) != 0;
    return held;
  }
  double estimate() const { return static_cast<double>(held()); }
  // For an absent key all pairs of bucket and fingerprint are equally likely: counts those that
  // match.
  double rate_now() const {
    std::uint64_t different = 0;
    for (std::uint64_t bucket = 0; bucket < shape_.buckets; ++bucket)
      for (unsigned place = 0; place < places; ++place) {
        const std::uint64_t fingerprint = get(bucket, place);
        if (fingerprint == 0 || find(bucket, fingerprint) != place) continue;
        // What both buckets hold is counted in the even one.
        different += bucket % 2 == 0 || !has(partner(bucket, fingerprint), fingerprint);
      }
    return 2 * static_cast<double>(different) /
           (static_cast<double>(shape_.buckets) * fingerprints(shape_));
  }
  double fill_ratio() const { return estimate() / (static_cast<double>(shape_.buckets) * places); }

  Result<void> check_bits() const {
    const std::uint64_t used = first_bit(shape_.buckets) % word_bits;
    const std::uint64_t beyond = used == 0 ? 0 : words_[words_.size() - 2] >> used;
    if (beyond != 0 || words_.back() != 0)
      return Error{Code::damaged, "a cuckoo set has bits beyond the end of its last bucket"};
    return {};
  }

 private:
  static constexpr std::uint32_t least_bits = 4;
  static constexpr std::uint32_t most_bits = 32;
  // With 5 bits there are so few turns that 3M places take no more beyond a load of 0.949.
  static constexpr std::uint32_t least_planned_bits = 6;
  static constexpr std::uint64_t most_buckets = std::uint64_t{1} << 48;
  static constexpr double planned_load = 0.95;
  // Few keys vary more.
  static constexpr double spare_places = 24;
  // How many buckets are looked at for an empty place before a set is called full.
  static constexpr std::size_t most_steps = 1024;

  // How many values a fingerprint can have; 0 marks an empty place.
  static double fingerprints(const Shape& shape) {
    return static_cast<double>(Packed(shape.fingerprint_bits).mask());
  }

  // Two multiplications: with one, the turns of f and f + 1 would differ alike for every f, and
  // moves would come back to the same few buckets.
  std::uint64_t turn(std::uint64_t fingerprint) const {
    std::uint64_t mixed = fingerprint * remix_constants[2];
    mixed = (mixed ^ mixed >> 32) * remix_constants[1];
    return 2 * mulhi(mixed, shape_.buckets / 2) + 1;
  }
  std::uint64_t partner(std::uint64_t bucket, std::uint64_t fingerprint) const {
    const std::uint64_t turned = turn(fingerprint);
    return turned >= bucket ? turned - bucket : turned + shape_.buckets - bucket;
  }

  std::uint64_t get(std::uint64_t bucket, unsigned place) const {
    return packed_.get(words_, bucket * places + place);
  }
  void put(std::uint64_t bucket, unsigned place, std::uint64_t fingerprint) {
    packed_.set(words_, bucket * places + place, fingerprint);
  }

  std::uint64_t first_bit(std::uint64_t bucket) const {
    return bucket * places * shape_.fingerprint_bits;
  }
  [[gnu::always_inline]] void call_for(std::uint64_t bucket) const {
    __builtin_prefetch(&words_[first_bit(bucket) / word_bits], 0, 2);
  }
  // 64 bits from any bit on.
  std::uint64_t load(std::uint64_t bit) const {
    const std::uint64_t* at = &words_[bit / word_bits];
    const std::uint64_t shift = bit % word_bits;
    return at[0] >> shift | at[1] << 1 << (word_bits - 1 - shift);
  }
  // A bucket of at most 64 bits begins at a whole or half byte, so eight bytes from there on have
  // all of it: no more than 15 bits a fingerprint if it is half a byte.
  bool is_narrow() const { return places_per_load_ == places; }
  std::uint64_t load_bucket(std::uint64_t bucket) const {
    const std::uint64_t at = first_bit(bucket);
    return load_bytes(at / 8) >> (at % 8);
  }
  std::uint64_t load_bytes(std::uint64_t byte) const {
    std::uint64_t bytes;
    std::memcpy(&bytes, reinterpret_cast<const std::byte*>(words_.data()) + byte, sizeof bytes);
    return bytes;
  }
  void store_bytes(std::uint64_t byte, std::uint64_t bytes) {
    std::memcpy(reinterpret_cast<std::byte*>(words_.data()) + byte, &bytes, sizeof bytes);
  }
  // The same, each bucket read once, and no branch on which of the two has room.
  Added add_narrow(const Slot& slot) {
    const std::uint64_t first = load_bucket(slot.first);
    const std::uint64_t second = load_bucket(slot.second);
    const bool seen =
        (equal_fields(first, slot.fingerprint) | equal_fields(second, slot.fingerprint)) != 0;
    const std::uint64_t empty_first = equal_fields(first, 0);
    const std::uint64_t empty_second = equal_fields(second, 0);
    if ((empty_first | empty_second) == 0) return add_by_moving(slot) ? added(!seen) : Added::full;
    const std::uint64_t at = first_bit(empty_first != 0 ? slot.first : slot.second);
    const std::uint64_t empty = empty_first != 0 ? empty_first : empty_second;
    const std::uint64_t place =
        at % 8 + static_cast<unsigned>(std::countr_zero(empty)) - (shape_.fingerprint_bits - 1);
    store_bytes(at / 8, load_bytes(at / 8) | slot.fingerprint << place);
    return added(!seen);
  }
  // A one at the top of the first loaded field that is equal; bits above that one may be wrong.
  std::uint64_t equal_fields(std::uint64_t loaded, std::uint64_t fingerprint) const {
    const std::uint64_t difference = loaded ^ fingerprint * lowest_;
    return (difference - lowest_) & ~difference & highest_;
  }
  bool has(std::uint64_t bucket, std::uint64_t fingerprint) const {
    if (is_narrow()) return equal_fields(load_bucket(bucket), fingerprint) != 0;
    const std::uint64_t at = first_bit(bucket);
    const std::uint64_t half = at + places / 2 * shape_.fingerprint_bits;
    return (equal_fields(load(at), fingerprint) | equal_fields(load(half), fingerprint)) != 0;
  }
  unsigned place_of(std::uint64_t equal) const {
    return static_cast<unsigned>(std::countr_zero(equal)) / shape_.fingerprint_bits;
  }
  // The first place with this fingerprint (0: that is empty), or `places`.
  unsigned find(std::uint64_t bucket, std::uint64_t fingerprint) const {
    if (is_narrow()) {
      const std::uint64_t equal = equal_fields(load_bucket(bucket), fingerprint);
      return equal == 0 ? places : place_of(equal);
    }
    for (unsigned first = 0; first < places; first += places_per_load_) {
      const std::uint64_t at = first_bit(bucket) + first * shape_.fingerprint_bits;
      if (const std::uint64_t equal = equal_fields(load(at), fingerprint); equal != 0)
        return first + place_of(equal);
    }
    return places;
  }

  // One bucket on the way to an empty place: the fingerprint at `place` of the step before it would
  // move here.
  struct Step {
    std::uint64_t bucket;
    std::uint32_t before;
    std::uint32_t place;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  bool add_by_moving(const Slot& slot) {
    std::array<Step, most_steps> steps;
    steps[0] = {slot.first, none, 0};
    steps[1] = {slot.second, none, 0};
    std::uint32_t count = 2;
    for (std::uint32_t at = 0; at < count; ++at) {
      const std::uint64_t bucket = steps[at].bucket;
      if (const unsigned empty = find(bucket, 0); empty != places) {
        move_along(steps.data(), at, empty, slot.fingerprint);
        return true;
      }
      const std::uint64_t held = is_narrow() ? load_bucket(bucket) : 0;
      for (unsigned place = 0; place < places && count < most_steps; ++place) {
        const std::uint64_t fingerprint =
            is_narrow() ? held >> (place * shape_.fingerprint_bits) & packed_.mask()
                        : get(bucket, place);
        const std::uint64_t next = partner(bucket, fingerprint);
        if (is_on_way(steps.data(), at, next)) continue;
        call_for(next);
        steps[count++] = {next, at, place};
      }
    }
    return false;
  }
  static bool is_on_way(const Step* steps, std::uint32_t at, std::uint64_t bucket) {
    for (; at != none; at = steps[at].before)
      if (steps[at].bucket == bucket) return true;
    return false;
  }
  // Moves the fingerprints of a way one step on, the last first, and puts the new one where the
  // first was.
  void move_along(const Step* steps, std::uint32_t at, unsigned empty, std::uint64_t fingerprint) {
    for (; steps[at].before != none; at = steps[at].before) {
      put(steps[at].bucket, empty, get(steps[steps[at].before].bucket, steps[at].place));
      empty = steps[at].place;
    }
    put(steps[at].bucket, empty, fingerprint);
  }

  Shape shape_;
  Packed packed_;
  Words words_;
  unsigned places_per_load_;
  std::uint64_t lowest_ = 0;   // the lowest bit of each loaded field
  std::uint64_t highest_ = 0;  // the highest
};

}  // namespace bloomery::inline v0::detail
