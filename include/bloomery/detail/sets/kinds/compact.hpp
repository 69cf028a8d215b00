// A growing set of whole 64-bit hashes in about 9 bytes a key: small enough for every line of a
// huge file, and nearly exact.
//
//    hash * lines --> its line, 64 bytes with ten slots; 48 bits of the hash are stored there
//
// One cache miss a key (line_table.hpp). The table grows in place by a half when 85 % of its
// slots are used: 7.5 to 11.3 bytes a key, 9.3 in the mean, whether or not the number was known.
// Two keys are one if all 64 bits of their hashes agree: of n keys about n^2 / 2^65 are lost,
// 3e-4 of 10^8, 0.03 of 10^9.
// Limits:  below 390,000 keys entries have 64 bits, and a key takes 11 to 18 bytes (a few hundred
//          bytes at least). Hashes that crowd into a few lines are slower and larger: against those
//          who choose keys, use a hardened Hasher.
// Threads: as every LineSet.
// See:     docs/kinds.md "compact"; compact_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <bloomery/detail/bits/line_table.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/line_set.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

struct CompactLaw {
  static constexpr KindId id{14, "compact"};
  static constexpr std::string_view title = "compact set";
  static constexpr bool exact = false;
  using Input = Hash;
  using Lines = CompactLines;
  static constexpr int hash_bits = 64;
  static std::uint64_t key_of(Hash hash) { return hash.bits; }
  // Grows by 1/2: less costs time, more costs memory.
  static constexpr unsigned growing_part = 2;
  static constexpr unsigned small_growing_part = 2;
  // How many keys ahead lines are prefetched, and while the table is larger than the shared cache;
  // 0: no difference.
  static constexpr std::size_t ahead = 24;
  static constexpr std::size_t far_ahead = 48;
};

using Compact = LineSet<CompactLaw>;
extern template class LineSet<CompactLaw>;

}  // namespace bloomery::inline v0::detail
