// What the laws share: numbered keys and wants that fit any kind, and the bytes of a set.
//
//    key i    approximate kinds and the hash set: the integer i itself, hashed by the set
//             maps: the i-th integer of the range in a scattered order
//    want     maps: a range of at least eight integers a key, so that most are strangers
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {

// The maps begin here and not at 0, so that a forgotten `- low` shows.
inline constexpr std::uint64_t first_integer = 1'000'003;

template <class K>
inline constexpr bool is_ranged = Set<K>::is_ranged;

// May be added to by several threads at once?
template <class K>
inline constexpr bool adds_shared = requires(Body<K> body, typename K::Input input) {
  body.add_shared(input);
};

// Where laws of sets that only grow do not hold as they stand: kinds that can be full or forget
// take no more keys than they were planned for; some do not merge; some keep copies of a key apart.
template <class K>
inline constexpr bool takes_any_number = !Bounded<K> && !Forgetting<K>;
template <class K>
inline constexpr bool merges = !Kind<K> || Mergeable<K>;
template <class K>
inline constexpr bool keeps_copies = Removable<K>&& Bounded<K>;

template <class K>
Want want_for(std::uint64_t keys, double rate = 0.01) {
  if constexpr (is_ranged<K>)
    return {.range = {first_integer, first_integer + std::bit_ceil(keys) * 8 - 1}};
  else
    return {.keys = keys, .rate = rate};
}

// An odd multiplier visits every integer of a range of 2^j once.
template <class K>
std::uint64_t numbered(const Want& want, std::uint64_t i) {
  if constexpr (is_ranged<K>)
    return want.range.low + ((i * 0x9e37'79b1) & (want.range.high - want.range.low));
  else
    return i;
}

template <class K>
std::vector<std::uint64_t> numbered_keys(const Want& want, std::uint64_t first,
                                         std::uint64_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = numbered<K>(want, first + i);
  return keys;
}

// As many bools as keys, which a std::vector does not have.
class Bools {
 public:
  explicit Bools(std::size_t size) : bools_(std::make_unique<bool[]>(size)), size_(size) {}
  operator std::span<bool>() const { return {bools_.get(), size_}; }
  bool* data() const { return bools_.get(); }
  bool operator[](std::size_t i) const { return bools_[i]; }
  std::size_t count() const {
    std::size_t ones = 0;
    for (std::size_t i = 0; i < size_; ++i) ones += bools_[i];
    return ones;
  }
  std::vector<bool> copy() const { return std::vector<bool>(bools_.get(), bools_.get() + size_); }

 private:
  std::unique_ptr<bool[]> bools_;
  std::size_t size_;
};

// Calls each<K>() for every kind that is added to, with the kind's name on any failure inside.
// Static kinds have laws of their own: static_laws_test.cpp; what is built from two lists has them
// in tests/sets/kinds/cascade_test.cpp.
template <class Each>
void for_all_kinds(Each&& each) {
  AllKinds::for_each([&]<class K>() {
    if constexpr (!Buildable<K> && !TwoListed<K>) {
      SCOPED_TRACE(std::string(K::id.name));
      each.template operator()<K>();
    }
  });
}

// Calls each<K>() for every kind that is built from all its keys at once.
template <class Each>
void for_static_kinds(Each&& each) {
  AllKinds::for_each([&]<class K>() {
    if constexpr (Buildable<K>) {
      SCOPED_TRACE(std::string(K::id.name));
      each.template operator()<K>();
    }
  });
}

template <class Each>
void for_merging_kinds(Each&& each) {
  for_all_kinds([&]<class K>() {
    if constexpr (merges<K>) each.template operator()<K>();
  });
}

template <class K>
std::size_t count_members(const Set<K>& set, const std::vector<std::uint64_t>& keys) {
  Bools answers(keys.size());
  set.may_contain_all(keys, answers);
  return answers.count();
}

// Shapes and payloads of all parts: equal for sets of equal bits, whatever was added how often.
inline FileBytes bits_of(const Parts& parts) {
  FileBytes bytes;
  for (const Part& part : parts.parts) {
    bytes.insert(bytes.end(), part.shape.begin(), part.shape.end());
    bytes.insert(bytes.end(), part.payload.begin(), part.payload.end());
  }
  return bytes;
}

template <class K>
FileBytes bits_of(const Set<K>& set) {
  const ScratchDirectory scratch;
  set.save(scratch / "set.blm");
  return bits_of(open_image(scratch / "set.blm").value().parts);
}

}  // namespace bloomery::detail
