// The multiset behind CF.*: keys that can be removed again and counted, growing. Knows no server.
//
//    hash   | first L bits are kept, once for every add |
//
// The first L bits of each key's hash stand in prefix shards, copies side by side. All prefixes
// have one length for ever, so that two keys with the same prefix are alike in everything: to
// remove one copy leaves one for the other, at any time of its growth. (In a chain of cuckoo
// tables a key can be found in the wrong link, and removing it there loses a stranger.) L is chosen
// so that at `most` keys strangers still pass at no more than the rate; with fewer keys they pass
// less often. A table with more keys spends fewer bits on each.
// The first 128 keys are a list of their hashes: nothing is laid out for what was reserved.
// Limits:  with expansion at most 64 times its capacity or 2^26 keys, the larger; then full. 255
//          copies of a key.
// Threads: any number may ask, or one may change it.
// See:     native_shards.hpp; native_cuckoo_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

#include <bloomery/served/mover.hpp>
#include <bloomery/served/native/first_hashes.hpp>
#include <bloomery/served/native/native_chunks.hpp>
#include <bloomery/served/native/native_shards.hpp>

namespace bloomery::inline v0::detail::served {

struct CuckooWant {
  double rate = 0.01;
  std::uint64_t capacity = 1024;
  std::uint32_t expansion = 1;        // 0: full at the capacity; else only remembered
  std::uint32_t bucket_size = 2;      // remembered
  std::uint32_t max_iterations = 20;  // remembered
  Hasher hasher{};
  std::uint64_t memory_cap = 0;  // bytes, never more; 0: no cap
};

class NativeCuckoo {
 public:
  static Result<NativeCuckoo> make(const CuckooWant& want);

  // One copy more. Fresh: none was there. Full: at the most keys, copies or bytes, or not whole;
  // nothing has changed then.
  Added add(std::string_view key);
  // Only if none is there: fresh, or seen and nothing has changed.
  Added add_nx(std::string_view key);
  // All of them, each by add or add_nx; added[i] tells of key i.
  void add_all(std::span<const std::string_view> keys, bool only_absent, Added* added);
  bool may_contain(std::string_view key) const;
  void may_contain_all(std::span<const std::string_view> keys, bool* answers) const;
  // How many copies; more if a stranger looks like it.
  std::uint64_t count(std::string_view key) const;
  // Takes out one copy; false if the filter has no copy.
  bool remove(std::string_view key);
  Error full_error() const;

  struct Info {
    std::uint64_t bytes = 0;    // of memory, all counted
    std::uint64_t buckets = 0;  // capacity that was reserved, or room for more, by the bucket size
    std::uint64_t filters = 0;  // tables that share the keys
    std::uint64_t items = 0;
    std::uint64_t removed = 0;
    std::uint64_t most_items = 0;  // then it is full
    std::uint32_t bucket_size = 0;
    std::uint32_t expansion = 0;
    std::uint32_t max_iterations = 0;
    double rate_asked = 0;
    double rate_now = 0;
    double bits_per_key = 0;  // 0 while it is empty
    bool hardened = false;
  };
  Info info() const;
  std::uint64_t items() const { return shards_ ? shards_->entries() : first_.size(); }
  std::uint64_t memory_usage() const;
  const CuckooWant& want() const { return want_; }
  const Hasher& hasher() const { return want_.hasher; }
  void cap_memory(std::uint64_t bytes) { want_.memory_cap = bytes; }
  // Gives back what removed keys have left free: of some tables, from a place on (0 begins), for
  // about so many steps. The place to go on, or 0 at the end; then no key counts as removed.
  Result<std::uint64_t> compact(std::uint64_t place = 0, std::uint64_t steps = UINT64_MAX);

  Result<NativeCuckoo> clone() const;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from);
  std::uint64_t digest() const;

  // As NativeBloom.
  Result<Chunk> dump(std::uint64_t cursor) const;
  static Result<NativeCuckoo> load(std::string_view first, std::uint64_t memory_cap);
  Result<void> load_chunk(std::string_view chunk);
  bool is_whole() const { return whole_; }
  static bool is_first_chunk(std::string_view chunk);

 private:
  explicit NativeCuckoo(const CuckooWant& want) : want_(want) {}

  static constexpr std::size_t most_listed = 128;

  bool is_listed() const { return shards_ == nullptr; }
  Result<void> lay_out();
  bool has(Hash hash) const { return shards_ ? shards_->may_contain(hash) : first_.contains(hash); }
  Added add_hash(Hash hash);
  template <class Act>
  void each(std::span<const std::string_view> keys, Act&& act) const;
  std::uint64_t memory_left() const;

  CuckooWant want_;
  FirstHashes first_;
  std::unique_ptr<PrefixShards> shards_;  // null while the set is a list
  std::uint64_t removed_ = 0;
  bool whole_ = true;
};

}  // namespace bloomery::inline v0::detail::served
