// Where a hash lands among n counters: its probes (bits/probes.hpp), a place that came before left
// out.
//
// If a key raised one counter twice, that counter would have to be at least two to remove the key,
// and would no longer count keys. So each place is taken once, however often the key lands on it.
// Threads: values; no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/probes.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class CounterPlaces {
 public:
  CounterPlaces(Hash hash, const Probes& probes) {
    probes.each(hash, [&](std::uint32_t, std::uint64_t place) {
      places_[size_] = place;  // counts only if it is not among those before
      size_ += !has(place);
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

  ProbePlaces places_;
  std::size_t size_ = 0;
};

}  // namespace bloomery::inline v0::detail
