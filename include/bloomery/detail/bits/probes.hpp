// Where a hash lands among n places: the probes of classic filters, and of counters.
//
//    g = hash * odd^(i+1)    place = high word of g * n
//
// All places of a key are found before the first is used, and all are read before one is judged:
// its loads then wait together, and so do those of the next keys. A branch on what was read would
// be mispredicted for half of the absent keys, and the loads behind it would be thrown away.
// Threads: values; no state.
#pragma once

#include <array>
#include <cstdint>

#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/steady.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::uint32_t most_probes = 64;

// The places of one key, the first `probes` of them.
using ProbePlaces = std::array<std::uint64_t, most_probes>;

class Probes {
 public:
  Probes(std::uint64_t places, std::uint32_t probes) : places_(places), probes_(probes) {}

  std::uint32_t count() const { return probes_; }

  // Calls visit(i, place) for each probe; some places perhaps twice.
  template <class Visit>
  [[gnu::always_inline]] void each(Hash hash, Visit&& visit) const {
    std::uint64_t g = hash.bits;
    for (std::uint32_t i = 0; i < probes_; ++i) {
      g *= remix_constants[5];
      visit(i, mulhi(g, places_));
    }
  }
  // Calls visit(place) for each probe while it returns true; returns whether all did.
  template <class Visit>
  [[gnu::always_inline]] bool each_while(Hash hash, Visit&& visit) const {
    std::uint64_t g = hash.bits;
    for (std::uint32_t i = 0; i < probes_; ++i) {
      g *= remix_constants[5];
      if (!visit(mulhi(g, places_))) return false;
    }
    return true;
  }
  [[gnu::always_inline]] void find(Hash hash, std::uint64_t* places) const {
    each(
        hash, [&](std::uint32_t i, std::uint64_t place)
                  __attribute__((always_inline)) { places[i] = place; });
  }

 private:
  Steady places_;
  std::uint32_t probes_;
};

}  // namespace bloomery::inline v0::detail
