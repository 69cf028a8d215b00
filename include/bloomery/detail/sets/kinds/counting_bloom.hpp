// A Bloom filter that can forget: a counter of four bits where classic has a bit.
//
//    | c15 | ... | c1 | c0 |     sixteen counters to a word; a key owns k of them, each once
//    add raises them, remove lowers them, a key may be there while all are above zero
//
// A counter saturates at 15 and stays there: it no longer knows how often it was raised. In a set
// that is filled to its capacity with different keys, a counter saturates with a chance near 1e-15;
// a key that is added 15 times saturates its own. What was added and then removed leaves the bytes
// that were before, as long as none of its counters is stuck.
// Limits:  four times the bits of classic and its k cache misses. Removing a false positive
//          succeeds and lowers counters that other keys need: this cannot be detected, so remove
//          only what was added. A key that is surely absent is refused and changes nothing.
// Threads: add_shared and may_contain_shared by any number at once; the rest by one. Two threads
//          that add the same key at once may both get Added::fresh.
// See:     docs/kinds.md "counting"; counting_bloom_test. Fan, Cao, Almeida, Broder: Summary Cache.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/counters.hpp>
#include <bloomery/detail/bits/probes.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/counter_places.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class CountingBloom {
 public:
  static constexpr KindId id{6, "counting"};
  static constexpr unsigned counter_bits = 4;
  using Input = Hash;
  struct Shape {
    std::uint64_t counters = 0;
    std::uint32_t probes = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"counters", &Shape::counters},
                                     Field{"probes", &Shape::probes}};
  struct Slot {
    Hash hash;
  };

  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    const auto keys = static_cast<double>(want.keys);
    if (!enough_bits(1, keys, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
    const double exact_counters = plan::classic_bits(keys, want.rate);
    const double probes = std::max(1.0, std::round(exact_counters / keys * plan::ln2));
    const auto granules = static_cast<std::uint64_t>(std::ceil(exact_counters / granule));
    return Shape{std::max<std::uint64_t>(granules, 1) * granule,
                 static_cast<std::uint32_t>(probes)};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.counters == 0 || shape.counters % granule != 0 || shape.counters > most_counters ||
        shape.probes == 0 || shape.probes > most_probes)
      return Error{Code::damaged, "a counting filter of " + std::to_string(shape.counters) +
                                      " counters and " + std::to_string(shape.probes) +
                                      " probes is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return shape.counters * counter_bits / 8; }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return plan::classic_rate(static_cast<double>(keys), static_cast<double>(shape.counters),
                              shape.probes);
  }

  CountingBloom(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        probes_(shape.counters, shape.probes),
        counters_(
            {reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)},
            counter_bits) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }

  static constexpr std::size_t lookahead = 32;

  Slot locate(Hash hash) const { return {hash}; }
  [[gnu::always_inline]] void prefetch(Slot slot) const {
    probes_.each(
        slot.hash, [&](std::uint32_t, std::uint64_t place)
                       __attribute__((always_inline)) { prefetch_place(place); });
  }

  Added add(Slot slot) { return add_at(found(slot).data()); }
  Added add_shared(Slot slot) {
    bool seen = true;
    for (const std::uint64_t place : places(slot)) seen &= counters_.raise_shared(place) != 0;
    return added(!seen);
  }
  // Removes one copy; returns whether there was one. False: nothing has changed.
  bool remove(Slot slot) {
    if (!may_contain(slot)) return false;
    for (const std::uint64_t place : places(slot)) counters_.lower(place);
    return true;
  }
  bool may_contain(Slot slot) const {
    return probes_.each_while(
        slot.hash, [&](std::uint64_t place) { return counters_.get_as<counter_bits>(place) != 0; });
  }
  bool may_contain_shared(Slot slot) const {
    return probes_.each_while(
        slot.hash, [&](std::uint64_t place) { return counters_.get_shared(place) != 0; });
  }

  // Steps as probe_steps.hpp wants them.
  const Probes& probes() const { return probes_; }
  [[gnu::always_inline]] void prefetch_place(std::uint64_t place) const {
    counters_.prefetch(place);
  }
  Added add_at(const std::uint64_t* places) {
    return added(!counters_.raise_each<counter_bits>(places, shape_.probes));
  }
  bool has_at(const std::uint64_t* places) const {
    return counters_.smallest<counter_bits>(places, shape_.probes) != 0;
  }

  // How many copies, never too few; most_count() means that or more.
  std::uint64_t count(Slot slot) const {
    return counters_.smallest<counter_bits>(found(slot).data(), shape_.probes);
  }
  std::uint64_t most_count() const { return counters_.most(); }
  // Saturated counters, which are never lowered again.
  std::uint64_t stuck() const { return counters_.count_stuck(); }

  // Adds the counters: the bytes are those of a filter that was given both lists.
  void unite(const CountingBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    counters_.add(other.counters_);
  }
  // Keeps the smaller counters: each common key as often as in the set that has fewer of it, and
  // all of those can be removed. Counters of keys that only one set had stay behind.
  void intersect(const CountingBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    counters_.keep_smaller(other.counters_);
  }
  // Matches every key from now on: all counters are saturated.
  void fill() { counters_.fill(); }

  // Different keys; copies do not count.
  double estimate() const {
    const double empty = 1 - fill_ratio();
    if (empty <= 0) return std::numeric_limits<double>::infinity();
    return -static_cast<double>(shape_.counters) / shape_.probes * real::log(empty);
  }
  double rate_now() const { return real::pow(fill_ratio(), shape_.probes); }
  double fill_ratio() const {
    return static_cast<double>(counters_.count_nonzero()) / static_cast<double>(shape_.counters);
  }

 private:
  // No filter is too small for the law of its places.
  static constexpr std::uint64_t granule = 512;
  static constexpr std::uint64_t most_counters = std::uint64_t{1} << 56;

  CounterPlaces places(Slot slot) const { return {slot.hash, probes_}; }
  ProbePlaces found(Slot slot) const {
    ProbePlaces places;
    probes_.find(slot.hash, places.data());
    return places;
  }

  Shape shape_;
  Probes probes_;
  Counters counters_;
};

}  // namespace bloomery::inline v0::detail
