// One cache line of quotiented hashes: the law of the sets `compact` and `hash-set`.
//
//    hash * lines = | line, 64 bits | left over, 64 bits |
//                     where it lies   what the line stores of it: the upper entry_bits
//
// A line that is known pays for the bits that chose it. Neighbouring hashes of one line differ by
// `lines` in what is left over, so with 2^s lines or more its lowest s bits say nothing new:
// entries of 64 - s bits are enough to name every hash of the line, and no two hashes share one.
//
//    bytes   0 .. 19   20 .. 23   24 .. 63    10 tags, head, 10 rests: 48-bit entries, which need
//                                             2^16 lines
//            0 .. 13   16 .. 19   22 .. 63    7 tags, head, 7 rests: 64-bit entries, for fewer
//
// The tag is the lowest 16 bits of an entry; eight are compared at once. The head has three bits a
// slot: 0 for an empty slot, else 1 + how many lines the entry lies behind its home (0 to 6). Its
// upper bits, 2 or 8, tell of which classes (the lowest bits of the entry) an entry had to go past
// this line. Slots fill from the first one.
//
// Hashes of 128 bits have their high half in such a line and their low half, whole, in the cache
// line behind it: 8 slots in 2^16 lines or more, else 7.
// Threads: as the bytes.
// See:     line_table.hpp; docs/kinds.md "compact"; hash_line_test.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <bloomery/detail/hash/budget.hpp>

namespace bloomery::inline v0::detail {

// How many lines behind its home an entry may lie.
inline constexpr unsigned farthest_line = 6;
inline constexpr std::size_t hash_line_bytes = 64;

template <unsigned slot_count, unsigned rest_bytes, unsigned head_offset>
class alignas(hash_line_bytes) HashLine {
 public:
  static constexpr unsigned slots = slot_count;
  static constexpr unsigned entry_bits = 16 + 8 * rest_bytes;
  static constexpr unsigned dropped_bits = 64 - entry_bits;
  static constexpr std::uint64_t least_lines = std::uint64_t{1} << dropped_bits;

  struct Place {
    std::uint64_t line;
    std::uint64_t entry;
  };
  static Place place_of(std::uint64_t hash, std::uint64_t lines) {
    return {mulhi(hash, lines), (hash * lines) >> dropped_bits};
  }

  // Whether the entry, at this distance from its home, is in a slot of this line that is `right`.
  template <class Right>
  bool has(std::uint64_t entry, unsigned distance, Right&& right) const {
    // Bit 8 * lane + octet: one mask for all slots, since which of them has it cannot be predicted.
    std::uint64_t equal = equal_tags(entry) & first_octet;
    if constexpr (slots > 8) {
      equal |= tag(8) == (entry & 0xffff) ? 2 : 0;
      equal |= tag(9) == (entry & 0xffff) ? 2 << 8 : 0;
    }
    for (; equal != 0; equal &= equal - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(equal));
      const unsigned slot = bit / 8 + 8 * (bit % 8);
      if (rest(slot) == entry >> 16 && code(slot) == distance + 1 && right(slot)) return true;
    }
    return false;
  }

  unsigned used() const {
    return (static_cast<unsigned>(std::bit_width(head() & codes_mask)) + 2) / 3;
  }
  // Whether an entry of the same class had to go past this line: if not, a search ends here.
  bool passed(std::uint64_t entry) const { return (head() >> class_bit(entry) & 1) != 0; }
  unsigned distance(unsigned slot) const { return code(slot) - 1; }
  std::uint64_t entry(unsigned slot) const { return rest(slot) << 16 | tag(slot); }

  // Into the first empty slot, or over an entry that is taken elsewhere.
  void put(unsigned slot, std::uint64_t entry, unsigned distance) {
    const auto low = static_cast<std::uint16_t>(entry);
    std::memcpy(bytes_ + 2 * slot, &low, sizeof low);
    put_rest(slot, entry >> 16);
    put_head((head() & ~(7U << (3 * slot))) | (distance + 1) << (3 * slot));
  }
  void mark_passed(std::uint64_t entry) { put_head(head() | 1U << class_bit(entry)); }

  // Of a full line: the slot whose entry lies nearest to its home.
  unsigned nearest_slot() const {
    unsigned best = 0;
    for (unsigned slot = 1; slot < slots; ++slot)
      if (code(slot) < code(best)) best = slot;
    return best;
  }

 private:
  static_assert(slots <= 8 || slots == 10);
  // The lowest bit of the bytes that stand for the first eight slots.
  static constexpr std::uint64_t first_octet = 0x0101'0101'0101'0101 >>
                                               (slots < 8 ? 8 * (8 - slots) : 0);
  static constexpr unsigned rests_offset = hash_line_bytes - slots * rest_bytes;
  static constexpr unsigned classes = std::bit_floor(32 - 3 * slots);
  static constexpr std::uint32_t codes_mask = (std::uint32_t{1} << (3 * slots)) - 1;
  static_assert(2 * slots <= head_offset && head_offset + 4 <= rests_offset);
  static_assert(classes >= 2 && farthest_line + 1 < 8);

  static unsigned class_bit(std::uint64_t entry) {
    return 31 - static_cast<unsigned>(entry % classes);
  }

  // A byte of ones for each of the first eight tags that is the entry's. With the vectors of the
  // compiler: two instructions on any x86-64 and on ARM, and the same loop elsewhere.
  std::uint64_t equal_tags(std::uint64_t entry) const {
    using Tags [[gnu::vector_size(16)]] = std::uint16_t;
    using Bytes [[gnu::vector_size(8)]] = std::int8_t;
    Tags tags;
    std::memcpy(&tags, bytes_, sizeof tags);
    const Bytes same =
        __builtin_convertvector(tags == Tags{} + static_cast<std::uint16_t>(entry), Bytes);
    return std::bit_cast<std::uint64_t>(same);
  }
  std::uint64_t word_at(unsigned offset) const {
    std::uint64_t word;
    std::memcpy(&word, bytes_ + offset, sizeof word);
    return word;
  }
  std::uint32_t head() const {
    std::uint32_t head;
    std::memcpy(&head, bytes_ + head_offset, sizeof head);
    return head;
  }
  void put_head(std::uint32_t head) { std::memcpy(bytes_ + head_offset, &head, sizeof head); }
  unsigned code(unsigned slot) const { return head() >> (3 * slot) & 7; }
  std::uint64_t tag(unsigned slot) const {
    std::uint16_t tag;
    std::memcpy(&tag, bytes_ + 2 * slot, sizeof tag);
    return tag;
  }
  // The eight bytes that end where the rest ends lie inside the line.
  std::uint64_t rest(unsigned slot) const {
    return word_at(rests_offset + rest_bytes * (slot + 1) - 8) >> (64 - 8 * rest_bytes);
  }
  void put_rest(unsigned slot, std::uint64_t rest) {
    std::memcpy(bytes_ + rests_offset + rest_bytes * slot, &rest, rest_bytes);
  }

  std::byte bytes_[hash_line_bytes];
};

// A line for hashes of 64 bits.
template <class HalfLine>
struct NarrowKeyLine : HalfLine {
  using Key = std::uint64_t;
  struct Low {};

  static std::uint64_t high_of(Key key) { return key; }
  static Low low_of(Key) { return {}; }
  static Key joined(std::uint64_t high, Low) { return high; }
  Low low(unsigned) const { return {}; }

  bool has(std::uint64_t entry, Low, unsigned distance) const {
    return HalfLine::has(entry, distance, [](unsigned) { return true; });
  }
  void put(unsigned slot, std::uint64_t entry, Low, unsigned distance) {
    HalfLine::put(slot, entry, distance);
  }
};

// A line and its neighbour, for hashes of 128 bits.
template <class HalfLine>
struct WideKeyLine : HalfLine {
  using Key = WideHash;
  using Low = std::uint64_t;

  static std::uint64_t high_of(const Key& key) { return key.high; }
  static Low low_of(const Key& key) { return key.low; }
  static Key joined(std::uint64_t high, Low low) { return {high, low}; }
  Low low(unsigned slot) const { return lows_[slot]; }

  bool has(std::uint64_t entry, Low low, unsigned distance) const {
    return HalfLine::has(entry, distance, [&](unsigned slot) { return lows_[slot] == low; });
  }
  void put(unsigned slot, std::uint64_t entry, Low low, unsigned distance) {
    HalfLine::put(slot, entry, distance);
    lows_[slot] = low;
  }

 private:
  std::uint64_t lows_[8];
};

// Turns entries back into hashes: the smallest hash whose product with `lines` is at least
// (line, left over). Only the constructor divides.
class HashRestorer {
 public:
  // Two lines or more.
  explicit HashRestorer(std::uint64_t lines) : lines_(lines) {
    inverse_ = (0 - lines) / lines + 1;  // 2^64 is one line and 2^64 - lines
    std::uint64_t rest = (0 - lines) % lines;
    for (int bit = 0; bit < 64; ++bit) {
      const bool over = rest >= lines - rest;  // 2 * rest >= lines
      rest = over ? rest - (lines - rest) : 2 * rest;
      fraction_ = 2 * fraction_ + over;
    }
  }

  std::uint64_t hash_of(std::uint64_t line, std::uint64_t left_over) const {
    // (line * 2^64 + left_over) / lines, rounded down in three places: at most three too small.
    std::uint64_t hash = line * inverse_ + mulhi(line, fraction_) + mulhi(left_over, inverse_);
    // The product in two words.
    std::uint64_t high = mulhi(hash, lines_), low = hash * lines_;
    for (; high < line || (high == line && low < left_over); high += low < lines_) {
      ++hash;
      low += lines_;
    }
    return hash;
  }

 private:
  std::uint64_t lines_;
  std::uint64_t inverse_;       // of 2^64 / lines what is whole,
  std::uint64_t fraction_ = 0;  // and what is not, as a part of 2^64
};

}  // namespace bloomery::inline v0::detail
