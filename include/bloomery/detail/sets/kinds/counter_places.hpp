// Where a hash lands among n counters: the places of a classic filter, each of them once.
//
//    g = hash * odd^(i+1)    place = high word of g * n    a place that came before is left out
//
// If a key raised one counter twice, that counter would have to be at least two to remove the key,
// and would no longer count keys. So each place is taken once, however often the key lands on it.
// Threads: values; no state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::uint32_t most_counter_probes = 64;

// Calls visit(place) for each probe while it returns true, some places perhaps twice; returns
// whether all did.
template <class Visit>
[[gnu::always_inline]] inline bool each_counter_probe(Hash hash, std::uint64_t counters,
                                                      std::uint32_t probes, Visit&& visit) {
  std::uint64_t g = hash.bits;
  for (std::uint32_t i = 0; i < probes; ++i) {
    g *= remix_constants[5];
    if (!visit(mulhi(g, counters))) return false;
  }
  return true;
}

class CounterPlaces {
 public:
  CounterPlaces(Hash hash, std::uint64_t counters, std::uint32_t probes) {
    each_counter_probe(hash, counters, probes, [&](std::uint64_t place) {
      places_[size_] = place;  // counts only if it is not among those before
      size_ += !has(place);
      return true;
    });
  }

  const std::uint64_t* begin() const { return places_.data(); }
  const std::uint64_t* end() const { return places_.data() + size_; }

 private:
  bool has(std::uint64_t place) const {
    bool found = false;
    for (std::size_t i = 0; i < size_; ++i) found |= places_[i] == place;
    return found;
  }

  std::array<std::uint64_t, most_counter_probes> places_;
  std::size_t size_ = 0;
};

}  // namespace bloomery::inline v0::detail
