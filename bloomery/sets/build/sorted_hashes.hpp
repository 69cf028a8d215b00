// Finding a hash in a sorted list of hashes: where it would stand if all were spread evenly, then
// outwards in doubling steps, then by halves.
//
//    list  | . . . . . . g . . x . . . |    g = mulhi(high half, size): off by about sqrt(size) / 2
//
// The place of the first load depends only on the hash, so it can be prefetched.
// Limits:  hashes only; on keys that somebody chose it is a binary search with a detour.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

inline std::size_t likely_place(std::size_t size, WideHash hash) {
  return static_cast<std::size_t>(mulhi(hash.high, size));
}

// The number of entries whose hash is smaller: where `hash` stands if it is there. `hash_of` takes
// an entry's hash out of it.
template <class Entry, class HashOf>
std::size_t place_in(std::span<const Entry> list, WideHash hash, HashOf&& hash_of) {
  const auto is_smaller = [&](std::size_t i) { return hash_of(list[i]) < hash; };
  if (list.empty()) return 0;
  // Before `low` all are smaller, from `high` on none is.
  std::size_t low = likely_place(list.size(), hash);
  std::size_t high = low;
  std::size_t step = 4;
  if (is_smaller(low)) {
    high = ++low;
    while (high < list.size() && is_smaller(high)) {
      low = high + 1;
      high = std::min(list.size(), high + step);
      step *= 2;
    }
  } else {
    while (low > 0 && !is_smaller(low - 1)) {
      high = low - 1;
      low -= std::min(low, step);
      step *= 2;
    }
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_smaller(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

inline std::size_t place_in(std::span<const WideHash> list, WideHash hash) {
  return place_in(list, hash, [](const WideHash& entry) { return entry; });
}

inline bool is_in(std::span<const WideHash> list, WideHash hash) {
  const std::size_t place = place_in(list, hash);
  return place < list.size() && list[place] == hash;
}

}  // namespace bloomery::inline v0::detail
