// How often was a key added? Counters where classic has bits; the smallest of a key's k counters is
// the answer, never below the truth.
//
//    minimum increase    add raises only the smallest of the key's counters: those that stand
//                        higher were raised by others. The closest answers, and no removal.
//    minimum selection   add raises every counter of the key once, remove lowers them.
//
// Under minimum increase a counter may stand for several keys at once, as high as the most frequent
// of them: lowering it for one would count the others too low, so removal is refused.
// A counter saturates at its maximum (255, 65,535 or 4,294,967,295) and stays there; an answer that
// high means "at least".
// Limits:  a counter of 8, 16 or 32 bits for each bit of classic, and its k cache misses. A rare
//          key that shares its counters with frequent ones is counted too high.
// Threads: any number may ask while nobody adds; one adds.
// See:     docs/kinds.md "spectral"; spectral_bloom_test. Cohen and Matias: Spectral Bloom Filters.
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

class SpectralBloom {
 public:
  static constexpr KindId id{7, "spectral"};
  using Input = Hash;
  struct Shape {
    std::uint64_t counters = 0;
    std::uint32_t probes = 0;
    std::uint32_t counter_bits = 0;  // 8, 16 or 32
    std::uint32_t selection = 0;     // 0 minimum increase, 1 minimum selection
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{
      Field{"counters", &Shape::counters}, Field{"probes", &Shape::probes},
      Field{"counter_bits", &Shape::counter_bits}, Field{"selection", &Shape::selection}};
  struct Slot {
    Hash hash;
  };

  // Counters as classic has bits; each just wide enough for want.most_count, 16 bits if that is
  // left open. want.removal chooses minimum selection.
  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    const auto keys = static_cast<double>(want.keys);
    if (!enough_bits(1, keys, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
    if (want.most_count > widest_count)
      return Error{Code::impossible, "a counter of 32 bits counts to 4294967295 and no further"};
    const double exact_counters = plan::classic_bits(keys, want.rate);
    const double probes = std::max(1.0, std::round(exact_counters / keys * plan::ln2));
    const auto granules = static_cast<std::uint64_t>(std::ceil(exact_counters / granule));
    return Shape{std::max<std::uint64_t>(granules, 1) * granule, static_cast<std::uint32_t>(probes),
                 bits_for(want.most_count), want.removal ? 1U : 0U};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.counters == 0 || shape.counters % granule != 0 || shape.counters > most_counters ||
        shape.probes == 0 || shape.probes > most_probes || shape.selection > 1 ||
        (shape.counter_bits != 8 && shape.counter_bits != 16 && shape.counter_bits != 32))
      return Error{Code::damaged, "a spectral filter of " + std::to_string(shape.counters) +
                                      " counters of " + std::to_string(shape.counter_bits) +
                                      " bits, " + std::to_string(shape.probes) +
                                      " probes and selection " + std::to_string(shape.selection) +
                                      " is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) {
    return shape.counters * (shape.counter_bits / 8);
  }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return plan::classic_rate(static_cast<double>(keys), static_cast<double>(shape.counters),
                              shape.probes);
  }

  SpectralBloom(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        probes_(shape.counters, shape.probes),
        counters_(
            {reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)},
            shape.counter_bits) {
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

  Added add(Slot slot) {
    if (shape_.selection == 1) return add_at(found(slot).data());
    return counters_.with_width([&]<unsigned bits>() {
      prefetch(slot);
      const std::uint64_t before = least<bits>(slot);
      // A place that comes twice is above `before` the second time. With a branch: a line that
      // does not change need not be written back to memory, for which a lone key would wait.
      probes_.each(slot.hash, [&](std::uint32_t, std::uint64_t place) {
        if (counters_.get_as<bits>(place) == before) counters_.raise(place);
      });
      return added(before == 0);
    });
  }
  bool may_contain(Slot slot) const {
    return counters_.with_width([&]<unsigned bits>() {
      return probes_.each_while(
          slot.hash, [&](std::uint64_t place) { return counters_.get_as<bits>(place) != 0; });
    });
  }

  // Steps as probe_steps.hpp wants them.
  const Probes& probes() const { return probes_; }
  [[gnu::always_inline]] void prefetch_place(std::uint64_t place) const {
    counters_.prefetch(place);
  }
  Added add_at(const std::uint64_t* places) {
    return counters_.with_width([&]<unsigned bits>() {
      if (shape_.selection == 1) return added(!counters_.raise_each<bits>(places, shape_.probes));
      return added(counters_.raise_smallest<bits>(places, shape_.probes) == 0);
    });
  }
  bool has_at(const std::uint64_t* places) const {
    return counters_.with_width(
        [&]<unsigned bits>() { return counters_.smallest<bits>(places, shape_.probes) != 0; });
  }

  // How often, never too low; most_count() means that often or more.
  std::uint64_t count(Slot slot) const {
    return counters_.with_width([&]<unsigned bits>() { return least<bits>(slot); });
  }
  std::uint64_t most_count() const { return counters_.most(); }
  // Saturated counters, which are never lowered again.
  std::uint64_t stuck() const { return counters_.count_stuck(); }

  // Why no key can be removed, or nullptr.
  const char* removal_refused() const {
    if (shape_.selection == 1) return nullptr;
    return "this spectral set counts by minimum increase, where one counter may stand for several "
           "keys: lowering it would count the others too low; plan the set for removal";
  }
  // Removes one copy; returns whether there was one. False: nothing has changed.
  bool remove(Slot slot) {
    assert(shape_.selection == 1 && "minimum increase has no removal; ask removal_refused first");
    if (!may_contain(slot)) return false;
    for (const std::uint64_t place : places(slot)) counters_.lower(place);
    return true;
  }

  // Adds the counters. Minimum selection: the bytes of a set that was given both lists. Minimum
  // increase: never too low, and no closer than the two sets were together.
  void unite(const SpectralBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    counters_.add(other.counters_);
  }
  // Keeps the smaller counters: no common key is counted lower than in the set with fewer of it.
  void intersect(const SpectralBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    counters_.keep_smaller(other.counters_);
  }
  // The set of everything, each key at least most_count() times.
  void fill() { counters_.fill(); }

  // Different keys; how often they came does not count.
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
  static constexpr std::uint64_t most_counters = std::uint64_t{1} << 54;
  static constexpr std::uint64_t widest_count = 0xffff'ffff;

  static std::uint32_t bits_for(std::uint64_t most_count) {
    if (most_count == 0) return 16;
    return most_count <= 0xff ? 8 : most_count <= 0xffff ? 16 : 32;
  }

  // The smallest of a key's counters.
  template <unsigned bits>
  std::uint64_t least(Slot slot) const {
    std::uint64_t least = counters_.most();
    probes_.each_while(slot.hash, [&](std::uint64_t place) {
      least = std::min(least, counters_.get_as<bits>(place));
      return least != 0;
    });
    return least;
  }
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
