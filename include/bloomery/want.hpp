// Want: what a set is to hold. Every set is planned from one.
//
// Any two of keys, rate and memory_bytes give the third; if all three are given, memory is a cap.
// Prefer to give keys and rate where both are known; memory and rate where memory is what is short.
//
// Example:
//    #include <bloomery/any_set.hpp>
//    const Want usual{.keys = 10'000'000, .rate = 0.01};          // approximate kinds
//    const Want in_64_mib{.rate = 0.01, .memory_bytes = 64 << 20};  // as many keys as fit
//    const Want integers{.range = {.low = 0, .high = 99'999'999}};  // exact maps
//    const auto set = AnySet::make("blocked", usual);
//    if (!set) return set.error();                 // names the field and what to write instead
//    const auto smaller = AnySet::make("blocked", in_64_mib);
//    if (smaller && smaller->capacity() < usual.keys) crawl("fewer keys fit");
//    const auto map = AnySet::make("bitmap", integers);
//
// Errors:  a Want is only a wish: Set<K>::make(want) returns an Error that names the field and what
//          to write instead.
// Limits:  rates from 1e-12 to 0.5.
// Threads: a value.
// See:     docs/kinds.md, which fields each kind uses.
#pragma once

#include <cstdint>

namespace bloomery::inline v0 {

// Both ends are in the range. 1..0, which holds nothing, stands for no range.
struct Range {
  std::uint64_t low = 1;
  std::uint64_t high = 0;
  constexpr bool given() const { return low != 1 || high != 0; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

struct Want {
  std::uint64_t keys = 0;          // how many the set is to hold
  double rate = 0;                 // false-positive rate once it holds so many
  Range range = {};                // for exact maps: which integers
  std::uint64_t memory_bytes = 0;  // 0: no limit; with keys or rate left 0, gives the missing one
  std::uint64_t most_count = 0;    // for spectral: the highest count; 0 leaves it open
  bool removal = false;            // for spectral: allow keys to be removed
  // Static kinds: what building may take beside the set and the keys; 0: up to 24 bytes a key.
  std::uint64_t scratch_bytes = 0;
  std::uint64_t allowed = 0;  // for cascade: keys that must not match
  std::uint64_t shards = 0;   // for sharded: how many; 0: so that each has at most 64 KiB
};

// How many threads a call may use; 0: as many as there are cores.
struct Threads {
  unsigned count = 0;
};

}  // namespace bloomery::inline v0
