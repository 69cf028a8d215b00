// An exact set that grows: the 128-bit hashes of its keys.
//
//    high half * lines --> its line: 48 bits of that half; the low half, whole, in the next line
//
// One cache miss for a key that is not there, two neighbouring lines for one that is
// (line_table.hpp). The table grows in place by a third when 85 % of its slots are used: 19
// to 25 bytes a key at any number, and never two copies of the whole.
// Limits:  two keys are taken for one if all 128 bits agree: below 1e-20 at 1e9 keys that nobody
//          chose to collide. Against those who choose keys, use a hardened Hasher.
//          Below 390,000 keys a key takes 22 to 33 bytes, and a set 1.8 KB at least.
// Threads: as every LineSet.
// See:     docs/kinds.md "hash-set"; hash_set_test.
#pragma once

#include <cstddef>
#include <string_view>

#include <bloomery/detail/bits/line_table.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/line_set.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

struct HashSetLaw {
  static constexpr KindId id{12, "hash-set"};
  static constexpr std::string_view title = "exact set";
  static constexpr bool exact = true;
  using Input = WideHash;
  using Lines = HashSetLines;
  static constexpr int hash_bits = 128;
  static WideHash key_of(WideHash hash) { return hash; }
  // Grows by 1/3, while it is small by 1/2: less costs time, more costs memory.
  static constexpr unsigned growing_part = 3;
  static constexpr unsigned small_growing_part = 2;
  // How many keys ahead lines are prefetched, and while the table is larger than the shared cache;
  // 0: no difference.
  static constexpr std::size_t ahead = 16;
  static constexpr std::size_t far_ahead = 0;
};

using HashSet = LineSet<HashSetLaw>;
extern template class LineSet<HashSetLaw>;

}  // namespace bloomery::inline v0::detail
