// Different keys, numbered from 0 in the order in which they come, and a word for each.
//
//    slot   | tag 24 | number + 1, 40 |      0: empty; linear probing from the high bits of a hash
//    keys   | hash 128 | word 64 | ...       in the order of their numbers, in pieces that stay
//
// 24 bytes a key and 11 to 22 for its slot. What grows is the slots alone, and no key is copied.
// Limits:  two keys are taken for one if all 128 bits of their hashes agree: as with hash_set.hpp.
// Threads: one.
// See:     tallies_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class KeyNumbers {
 public:
  KeyNumbers() : slots_(first_slots, 0) {}

  // The number of this key. It is new if it is what size() was before.
  std::uint64_t number_of(WideHash hash) {
    if (hash == WideHash{}) hash = {0, 1};  // all zeros stand for a key of number_alone()
    const std::uint64_t tag = tag_of(hash);
    std::uint64_t at = home(hash);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if ((slots_[at] & tag_mask) != tag) continue;
      const std::uint64_t number = (slots_[at] & ~tag_mask) - 1;
      if (key(number).hash == hash) return number;
    }
    slots_[at] = tag | (size_ + 1);
    append(hash);
    ++in_slots_;
    if (in_slots_ > slots_.size() / 4 * 3) grow();
    return size_ - 1;
  }
  // A key that is equal to no other.
  std::uint64_t number_alone() {
    append({});
    return size_ - 1;
  }

  std::uint64_t& word(std::uint64_t number) { return key(number).word; }
  std::uint64_t size() const { return size_; }
  std::uint64_t bytes() const {
    return slots_.size() * sizeof(slots_[0]) + pieces_.size() * piece_keys * sizeof(Key);
  }

  // Prefetch the slot of a key that will be asked for, and some keys later the key itself.
  void prefetch_slot(WideHash hash) const { __builtin_prefetch(&slots_[home(hash)]); }
  void prefetch_key(WideHash hash) const {
    const std::uint64_t slot = slots_[home(hash)];
    if (slot != 0 && (slot & tag_mask) == tag_of(hash))
      __builtin_prefetch(&key((slot & ~tag_mask) - 1));
  }

 private:
  struct Key {
    WideHash hash;
    std::uint64_t word = 0;
  };
  static constexpr unsigned number_bits = 40;
  static constexpr std::uint64_t tag_mask = ~std::uint64_t{0} << number_bits;
  static constexpr unsigned piece_bits = 16;
  static constexpr std::size_t piece_keys = std::size_t{1} << piece_bits;
  static constexpr unsigned first_slot_bits = 12;
  static constexpr std::size_t first_slots = std::size_t{1} << first_slot_bits;

  // The home is made of the high word, the tag of the low one: independent bits.
  std::uint64_t home(WideHash hash) const { return hash.high >> shift_; }
  static std::uint64_t tag_of(WideHash hash) { return hash.low & tag_mask; }
  Key& key(std::uint64_t number) {
    return pieces_[number >> piece_bits][number & (piece_keys - 1)];
  }
  const Key& key(std::uint64_t number) const {
    return pieces_[number >> piece_bits][number & (piece_keys - 1)];
  }

  void append(WideHash hash) {
    if (size_ == pieces_.size() * piece_keys)
      pieces_.push_back(std::make_unique<Key[]>(piece_keys));
    key(size_).hash = hash;
    ++size_;
  }
  // Key by key, since only they know their whole hash: read in order, written where they belong.
  void grow() {
    const std::size_t grown = 2 * slots_.size();
    std::vector<std::uint64_t>().swap(slots_);  // so that there are never two
    slots_.resize(grown, 0);
    --shift_;
    for (std::uint64_t number = 0; number < size_; ++number) {
      const WideHash hash = key(number).hash;
      if (hash == WideHash{}) continue;
      std::uint64_t at = home(hash);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = tag_of(hash) | (number + 1);
    }
  }

  std::vector<std::uint64_t> slots_;
  unsigned shift_ = 64 - first_slot_bits;
  std::vector<std::unique_ptr<Key[]>> pieces_;
  std::uint64_t size_ = 0;
  std::uint64_t in_slots_ = 0;  // the others are alone
};

}  // namespace bloomery::inline v0::detail
