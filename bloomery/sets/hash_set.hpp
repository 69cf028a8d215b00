// An exact set that grows: the 128-bit hashes of its keys, sorted, in tables with a little room.
//
//    hash  127 122 121 ................................. 0
//          shard   mulhi(rest, slots) = home slot; entries stand in rising order from there
//
//    table | . h3 h7 h8 . . h9 | h12 .     linear probing that keeps the order: an ask stops at the
//            ^home of h7, h8               first larger entry, growing is one pass, and what is
//                                          saved does not depend on the order of adding
//
// 64 shards that grow by a quarter when 7/8 full, one at a time: 18 to 23 bytes a key at any size,
// and never two copies of the whole.
// Limits:  two keys are taken for one if all 128 bits agree: below 1e-20 at 1e9 keys that nobody
//          chose to collide. Against those who choose keys, use a hardened Hasher.
// Threads: add_shared and may_contain_shared by any number at once (a lock per shard); the rest by
//          one.
// See:     docs/kinds.md "hash-set"; hash_set_test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>

#include <bloomery/bits/memory.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash/hash.hpp>
#include <bloomery/sets/concepts.hpp>
#include <bloomery/sets/parts.hpp>
#include <bloomery/sets/shape_fields.hpp>

namespace bloomery {

class HashSet {
 public:
  static constexpr KindId id{12, "hash-set"};
  static constexpr bool exact = true;
  using Input = WideHash;
  // What is saved: the sorted hashes without the room between them.
  struct Shape {
    std::uint64_t keys = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"keys", &Shape::keys}};

  static Result<Shape> plan(const Want& want);
  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes);
  // In memory, when planned for and holding that many keys.
  static std::uint64_t bytes(const Shape& shape);
  static double expected_rate(const Shape& shape, std::uint64_t keys);

  // Keys are optional: room for so many is taken at the first add to each shard.
  // memory_bytes is a hard cap.
  static Result<HashSet> make(const Want& want);
  static Result<HashSet> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) { memory_cap_ = bytes; }
  // Copies the hashes together: 16 bytes a key of new memory.
  Parts parts() const;

  Added add(WideHash hash);
  Added add_shared(WideHash hash);
  bool contains(WideHash hash) const;
  bool may_contain(WideHash hash) const { return contains(hash); }
  bool may_contain_shared(WideHash hash) const;
  // An Error when memory ran out; what was added before stays.
  Result<std::size_t> add_all(std::span<const WideHash> hashes, bool* fresh);
  void may_contain_all(std::span<const WideHash> hashes, bool* answers) const;

  Result<void> unite(const HashSet& other);
  Result<void> intersect(const HashSet& other);
  Result<void> subtract(const HashSet& other);

  std::uint64_t count() const;
  std::uint64_t bytes() const;
  std::uint64_t capacity() const { return planned_keys_; }
  double rate_asked() const { return 0; }
  std::uint64_t adds() const { return count(); }
  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return expected_rate({}, count()); }
  double expected_rate_now() const { return rate_now(); }
  double fill_ratio() const;
  bool overfull() const { return false; }

  // Calls each(hash) for every member, in rising order.
  template <class Each>
  void for_each(Each&& each) const {
    for (const Shard& shard : shards_)
      for (const WideHash& entry : shard.entries())
        if (entry != WideHash{}) each(entry);
  }

 private:
  static constexpr unsigned shard_bits = 6;
  static constexpr std::size_t shard_count = std::size_t{1} << shard_bits;

  // A table of `slots` homes and a tail for entries pushed beyond the last one. An entry of all
  // zeros is no entry; the one key in 2^128 that hashes to it takes the next value.
  struct Shard {
    Memory table;
    std::uint64_t slots = 0;
    std::uint64_t used = 0;

    std::span<WideHash> entries() {
      return {reinterpret_cast<WideHash*>(table.bytes().data()), table.size() / sizeof(WideHash)};
    }
    std::span<const WideHash> entries() const {
      return {reinterpret_cast<const WideHash*>(table.bytes().data()),
              table.size() / sizeof(WideHash)};
    }
    std::uint64_t home(WideHash hash) const;
  };

  HashSet() = default;

  static std::size_t shard_of(WideHash hash) { return hash.high >> (64 - shard_bits); }
  static WideHash nonzero(WideHash hash) { return hash == WideHash{} ? WideHash{0, 1} : hash; }
  static std::uint64_t tail_slots(std::uint64_t slots);
  static std::uint64_t planned_slots(std::uint64_t keys);

  Added insert(Shard& shard, WideHash hash);
  static bool find(const Shard& shard, WideHash hash);
  static bool lay_out(const Shard& from, Shard& to);
  // False when memory or the cap refuses.
  bool grow(Shard& shard, std::uint64_t slots);
  Error full_error() const;
  template <class Keep>
  void keep_if(Keep&& keep);

  std::array<Shard, shard_count> shards_{};
  std::unique_ptr<std::array<std::mutex, shard_count>> locks_ =
      std::make_unique<std::array<std::mutex, shard_count>>();
  std::uint64_t planned_keys_ = 0;
  std::uint64_t memory_cap_ = 0;                                                     // 0: none
  std::unique_ptr<std::uint64_t> table_bytes_ = std::make_unique<std::uint64_t>(0);  // atomic
};

}  // namespace bloomery
