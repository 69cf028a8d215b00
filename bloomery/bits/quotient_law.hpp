// The law of a quotient table: prefixes of hashes, sorted, in blocks that spill into the next.
//
//    hash    | quotient: q bits | fingerprint: up to f bits | not kept |
//    field   | fingerprint | 1 | 0 ... 0 |     f + 1 bits; the last one marks where it ends
//
//    block   64 bits     occupied   bit i: quotient 64 b + i has a run of fields
//            9, 7 bits   spill, used
//            s bits      run ends   bit j: slot j holds the last field of its run
//            s fields    slot 0 first; then zeros up to a whole word
//
// The runs of a block stand in order of their quotients, each sorted by its fields, packed
// from the start of the block or behind what the block before it has spilled. `spill`: how many
// fields of earlier blocks stand from the start of this one on; `used`: how many of its slots are
// taken. Free slots are zero. A field covers every hash that begins with its prefix; one without
// fingerprint bits covers all of its quotient.
// Everything here is local to the file that includes it: each row of kernels has its own copy,
// compiled for its CPU, so the linker cannot give one row the copy of another.
// Limits:  up to 64 slots a block, fields of 2 to 49 bits, q + f <= 64; a spill of at most 511.
// Threads: none of this is atomic.
// See:     quotient_table.hpp; docs/format.md "scalable".
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/kernels.hpp>

namespace bloomery::inline v0::detail {

namespace quotient {
namespace {

constexpr unsigned most_spill = 511;
constexpr unsigned first_end_bit = 64 + 16;

// How many hashes ahead a block is prefetched.
constexpr std::size_t lookahead = 32;

enum class Outcome : std::uint8_t { fresh, seen, refused };

struct Place {
  std::uint64_t* block;
  unsigned slot;
};

inline std::uint64_t below(unsigned bit) { return (std::uint64_t{1} << bit) - 1; }

inline unsigned ones(std::uint64_t word) {
  return static_cast<unsigned>(__builtin_popcountll(word));
}

// For bytes of sums in ascending order: how many of them are at most k? Sums and k below 128.
inline unsigned bytes_up_to(std::uint64_t sums, std::uint64_t k) {
  constexpr std::uint64_t each = 0x0101'0101'0101'0101;
  const std::uint64_t reached = ((k * each | 0x80 * each) - sums) & 0x80 * each;
  return static_cast<unsigned>(((reached >> 7) * each) >> 56);
}

// The place of one number k of a word, counted from 0; the word has more than k ones.
inline unsigned place_of_one(std::uint64_t word, unsigned k) {
  constexpr std::uint64_t each = 0x0101'0101'0101'0101;
  std::uint64_t sums = word - ((word >> 1) & 0x5555'5555'5555'5555);
  sums = (sums & 0x3333'3333'3333'3333) + ((sums >> 2) & 0x3333'3333'3333'3333);
  sums = ((sums + (sums >> 4)) & 0x0f0f'0f0f'0f0f'0f0f) * each;
  const unsigned byte = bytes_up_to(sums, k);
  k -= static_cast<unsigned>(((sums << 8) >> (8 * byte)) & 0xff);
  // The eight bits of that byte to eight bytes, then the same again.
  const std::uint64_t spread = (((word >> (8 * byte)) & 0xff) * each) & 0x8040'2010'0804'0201;
  const std::uint64_t bits = (spread + 0x7f7f'7f7f'7f7f'7f7f) >> 7 & each;
  return 8 * byte + bytes_up_to(bits * each, k);
}

// How a row of kernels finds that place: known when it is compiled.
using Select = unsigned (*)(std::uint64_t word, unsigned k);

inline unsigned spill_of(const std::uint64_t* block) { return block[1] & most_spill; }
inline unsigned used_of(const std::uint64_t* block) { return (block[1] >> 9) & 127; }
inline void count_spill(std::uint64_t* block) { ++block[1]; }
inline void count_used(std::uint64_t* block) { block[1] += 1 << 9; }

inline std::uint64_t ends_of(const QuotientView& view, const std::uint64_t* block) {
  return (block[1] >> 16 | block[2] << 48) & (~std::uint64_t{0} >> (64 - view.slots));
}
// The bits that change.
inline void turn_ends(std::uint64_t* block, std::uint64_t ends) {
  block[1] ^= ends << 16;
  block[2] ^= ends >> 48;
}
inline bool ends_at(const std::uint64_t* block, unsigned slot) {
  const unsigned bit = first_end_bit + slot;
  return block[bit / 64] >> (bit % 64) & 1;
}
inline void turn_end(std::uint64_t* block, unsigned slot) {
  const unsigned bit = first_end_bit + slot;
  block[bit / 64] ^= std::uint64_t{1} << (bit % 64);
}

inline unsigned field_bit(const QuotientView& view, unsigned slot) {
  return first_end_bit + view.slots + slot * view.field_bits;
}

inline std::uint64_t field_at(const QuotientView& view, const std::uint64_t* block, unsigned slot) {
  const unsigned bit = field_bit(view, slot);
  const std::uint64_t* word = block + bit / 64;
  const std::uint64_t high = word[1] << 1 << (63 - bit % 64);
  return (word[0] >> (bit % 64) | high) & below(view.field_bits);
}

inline void put_field(const QuotientView& view, std::uint64_t* block, unsigned slot,
                      std::uint64_t field) {
  const unsigned bit = field_bit(view, slot);
  std::uint64_t* word = block + bit / 64;
  const std::uint64_t mask = below(view.field_bits);
  word[0] = (word[0] & ~(mask << (bit % 64))) | field << (bit % 64);
  if (bit % 64 + view.field_bits > 64) {
    const unsigned kept = 64 - bit % 64;
    word[1] = (word[1] & ~(mask >> kept)) | field >> kept;
  }
}

inline std::uint64_t* home(const QuotientView& view, std::uint64_t hash) {
  return view.words + (hash >> (64 - view.quotient_bits) >> 6) * view.block_words;
}

// The longest prefix of a hash that the table keeps, as a field.
inline std::uint64_t field_of(const QuotientView& view, std::uint64_t hash) {
  return (hash << view.quotient_bits >> (65 - view.field_bits)) << 1 | 1;
}

// Does the prefix `field` cover the full field `wanted`? They may differ from its mark on.
inline bool covers(std::uint64_t field, std::uint64_t wanted) {
  return (field ^ wanted) >> 1 < (field & (~field + 1));
}

inline void step_on(const QuotientView& view, Place& at) {
  if (++at.slot == view.slots) at = {at.block + view.block_words, 0};
}

// Where the run after the first `runs` runs of this block begins.
inline Place run_start(Select select, const QuotientView& view, std::uint64_t* block,
                       unsigned runs) {
  unsigned slot = spill_of(block);
  while (slot >= view.slots) {
    slot -= view.slots;
    block += view.block_words;
  }
  if (runs == 0) return {block, slot};
  std::uint64_t ends = ends_of(view, block) >> slot;
  for (unsigned here = ones(ends); here < runs; here = ones(ends)) {
    runs -= here;
    block += view.block_words;
    slot = 0;
    ends = ends_of(view, block);
  }
  Place at{block, slot + select(ends, runs - 1)};
  step_on(view, at);
  return at;
}

// Does a field of the run of quotient i cover the hash? Follows the run wherever it lies.
inline bool walk_run(Select select, const QuotientView& view, std::uint64_t* block, unsigned i,
                     std::uint64_t wanted) {
  Place at = run_start(select, view, block, ones(block[0] & below(i)));
  for (;; step_on(view, at)) {
    if (covers(field_at(view, at.block, at.slot), wanted)) return true;
    if (ends_at(at.block, at.slot)) return false;
  }
}

// How many bits a word has up to its highest one; a word below 2^63.
inline unsigned bits_of(std::uint64_t word) {
  return 63 - static_cast<unsigned>(__builtin_clzll(word << 1 | 1));
}

// The same for an occupied quotient. Most runs lie in their own block and have one or two fields:
// these are found without a branch that could go either way.
inline bool run_has(Select select, const QuotientView& view, std::uint64_t hash) {
  std::uint64_t* block = home(view, hash);
  const unsigned i = hash >> (64 - view.quotient_bits) & 63;
  const std::uint64_t wanted = field_of(view, hash);
  const unsigned spill = spill_of(block);
  const unsigned runs = ones(block[0] & below(i));
  const std::uint64_t ends = ends_of(view, block) >> (spill & 63);
  if (spill >= view.slots || ones(ends) <= runs) return walk_run(select, view, block, i, wanted);
  const unsigned last = select(ends, runs);
  unsigned slot = bits_of(ends & below(last));
  bool there = covers(field_at(view, block, spill + slot), wanted);
  slot += slot != last;
  there |= covers(field_at(view, block, spill + slot), wanted);
  while (slot != last) there |= covers(field_at(view, block, spill + ++slot), wanted);
  return there;
}

inline bool is_occupied(const QuotientView& view, std::uint64_t hash) {
  return home(view, hash)[0] >> (hash >> (64 - view.quotient_bits) & 63) & 1;
}

// Moves the fields from `slot` to the end of the block one slot on. The last slot is zero.
inline void shift_fields(const QuotientView& view, std::uint64_t* block, unsigned slot,
                         unsigned used) {
  const unsigned bit = field_bit(view, slot);
  const unsigned end = field_bit(view, used + 1);
  const unsigned first = bit / 64;
  const unsigned width = view.field_bits;
  for (unsigned word = (end - 1) / 64; word > first; --word)
    block[word] = block[word] << width | block[word - 1] >> (64 - width);
  const std::uint64_t kept = block[first] & below(bit % 64);
  block[first] = kept | (block[first] ^ kept) << width;
}

// Makes room at a place, moving what stands there and behind it, up to the free slot of `last`.
inline void open_slot(const QuotientView& view, Place at, std::uint64_t* last) {
  for (std::uint64_t* block = last;; block -= view.block_words) {
    const unsigned slot = block == at.block ? at.slot : 0;
    unsigned used = used_of(block);
    if (used == view.slots)
      put_field(view, block, --used, 0);  // moved to the next block before
    else
      count_used(block);
    shift_fields(view, block, slot, used);
    const std::uint64_t ends = ends_of(view, block);
    const std::uint64_t moved = ends & ~below(slot);
    const std::uint64_t kept_ends = ~std::uint64_t{0} >> (64 - view.slots);
    turn_ends(block, moved ^ (moved << 1 & kept_ends));
    if (block == at.block) return;
    const std::uint64_t* before = block - view.block_words;
    put_field(view, block, 0, field_at(view, before, view.slots - 1));
    if (ends_at(before, view.slots - 1)) turn_end(block, 0);
  }
}

// The first block with a free slot, at or after `from`. nullptr when no block has one, or when a
// spill between the home block and that one would not fit its counter.
inline std::uint64_t* free_block(const QuotientView& view, const std::uint64_t* home_block,
                                 std::uint64_t* from) {
  const std::uint64_t* end = view.words + view.blocks * view.block_words;
  for (const std::uint64_t* block = home_block + view.block_words; block <= from && block != end;
       block += view.block_words)
    if (spill_of(block) == most_spill) return nullptr;
  for (std::uint64_t* block = from; block != end; block += view.block_words) {
    if (block != from && spill_of(block) == most_spill) return nullptr;
    if (used_of(block) != view.slots) return block;
  }
  return nullptr;
}

// Adds the longest prefix of a hash unless a field covers it, or, where copies are kept, behind
// its copies. Refused: no free slot.
inline Outcome add(Select select, const QuotientView& view, std::uint64_t hash,
                   bool keeps_copies = false) {
  std::uint64_t* block = home(view, hash);
  const unsigned i = hash >> (64 - view.quotient_bits) & 63;
  const std::uint64_t wanted = field_of(view, hash);
  const bool occupied = block[0] >> i & 1;
  Place at = run_start(select, view, block, ones(block[0] & below(i)));
  Place last{};  // of the run, when the new field comes behind it
  while (occupied) {
    const std::uint64_t field = field_at(view, at.block, at.slot);
    if (!keeps_copies && covers(field, wanted)) return Outcome::seen;
    if (field > wanted) break;
    if (ends_at(at.block, at.slot)) last = at;
    step_on(view, at);
    if (last.block != nullptr) break;
  }
  std::uint64_t* const free = free_block(view, block, at.block);
  if (free == nullptr) return Outcome::refused;
  open_slot(view, at, free);
  put_field(view, at.block, at.slot, wanted);
  const bool ends_run = !occupied || last.block != nullptr;
  if (ends_run) turn_end(at.block, at.slot);
  if (last.block != nullptr) turn_end(last.block, last.slot);
  for (std::uint64_t* on = block; on != free;) {
    on += view.block_words;
    count_spill(on);
  }
  block[0] |= std::uint64_t{1} << i;
  return Outcome::fresh;
}

// How many fields equal the longest prefix of a hash.
inline unsigned count(Select select, const QuotientView& view, std::uint64_t hash) {
  if (!is_occupied(view, hash)) return 0;
  std::uint64_t* const block = home(view, hash);
  const unsigned i = hash >> (64 - view.quotient_bits) & 63;
  const std::uint64_t wanted = field_of(view, hash);
  unsigned copies = 0;
  for (Place at = run_start(select, view, block, ones(block[0] & below(i)));; step_on(view, at)) {
    copies += field_at(view, at.block, at.slot) == wanted;
    if (ends_at(at.block, at.slot)) return copies;
  }
}

// Moves the fields behind `slot` one slot back, over it; the last slot in use becomes zero.
inline void close_fields(const QuotientView& view, std::uint64_t* block, unsigned slot,
                         unsigned used) {
  const unsigned bit = field_bit(view, slot);
  const unsigned first = bit / 64;
  const unsigned last = (field_bit(view, used) - 1) / 64;
  const unsigned width = view.field_bits;
  const std::uint64_t kept = block[first] & below(bit % 64);
  for (unsigned word = first; word <= last; ++word) {
    const std::uint64_t next = word == last ? 0 : block[word + 1] << (64 - width);
    block[word] = block[word] >> width | next;
  }
  block[first] = (block[first] & ~below(bit % 64)) | kept;
}

// Takes a place away: what stands behind it moves up, also from the blocks it was spilled into.
// Returns the block that has a slot more to give now.
inline std::uint64_t* close_slot(const QuotientView& view, Place at) {
  const std::uint64_t* const end = view.words + view.blocks * view.block_words;
  for (std::uint64_t *block = at.block, *next = nullptr;; block = next, at.slot = 0) {
    next = block + view.block_words;
    const unsigned used = used_of(block);
    close_fields(view, block, at.slot, used);
    const std::uint64_t ends = ends_of(view, block);
    turn_ends(block, ends ^ ((ends & below(at.slot)) | (ends >> 1 & ~below(at.slot))));
    if (used < view.slots || next == end || spill_of(next) == 0) {
      block[1] -= 1 << 9;  // one used less
      return block;
    }
    put_field(view, block, view.slots - 1, field_at(view, next, 0));
    if (ends_at(next, 0)) turn_end(block, view.slots - 1);
  }
}

// Removes one field that equals the longest prefix of a hash; false if the table has no such field.
inline bool remove(Select select, const QuotientView& view, std::uint64_t hash) {
  if (!is_occupied(view, hash)) return false;
  std::uint64_t* const block = home(view, hash);
  const unsigned i = hash >> (64 - view.quotient_bits) & 63;
  const std::uint64_t wanted = field_of(view, hash);
  Place at = run_start(select, view, block, ones(block[0] & below(i)));
  Place before{};  // in the run
  while (field_at(view, at.block, at.slot) != wanted) {
    if (ends_at(at.block, at.slot)) return false;
    before = at;
    step_on(view, at);
  }
  // The run ends one field earlier, or was its only field and is now gone.
  if (ends_at(at.block, at.slot)) {
    if (before.block != nullptr)
      turn_end(before.block, before.slot);
    else
      block[0] ^= std::uint64_t{1} << i;
  }
  const std::uint64_t* const free = close_slot(view, at);
  for (std::uint64_t* on = block; on != free;) {
    on += view.block_words;
    --on[1];  // one spilled less
  }
  return true;
}

[[gnu::always_inline]] inline void call_for(const QuotientView& view, std::uint64_t hash) {
  const std::uint64_t* block = home(view, hash);
  __builtin_prefetch(block, 0, 2);
  __builtin_prefetch(block + 8, 0, 2);
}

// First finds which quotients are occupied, about half of them, then asks only those: one branch
// misprediction a step instead of one a key.
inline std::uint64_t ask_step(Select select, const QuotientView& view, const std::uint64_t* hashes,
                              std::size_t n, std::size_t ahead) {
  std::uint64_t occupied = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + lookahead < n + ahead) call_for(view, hashes[i + lookahead]);
    occupied |= std::uint64_t{is_occupied(view, hashes[i])} << i;
  }
  std::uint64_t there = 0;
  for (; occupied != 0; occupied &= occupied - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctzll(occupied));
    there |= std::uint64_t{run_has(select, view, hashes[i])} << i;
  }
  return there;
}

// Stops at the first hash that is refused; `taken` is the number of hashes before it.
inline std::uint64_t add_step(Select select, const QuotientView& view, const std::uint64_t* hashes,
                              std::size_t n, std::size_t ahead, std::size_t* taken) {
  std::uint64_t fresh = 0;
  for (*taken = 0; *taken < n; ++*taken) {
    if (*taken + lookahead < n + ahead) call_for(view, hashes[*taken + lookahead]);
    const Outcome outcome = add(select, view, hashes[*taken]);
    if (outcome == Outcome::refused) break;
    fresh |= std::uint64_t{outcome == Outcome::fresh} << *taken;
  }
  return fresh;
}

}  // namespace
}  // namespace quotient
}  // namespace bloomery::inline v0::detail
