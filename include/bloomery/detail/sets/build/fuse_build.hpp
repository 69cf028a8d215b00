// Building a fuse set: hashes to shards, shards peeled one by one.
//
//    hashes --gather--> shard 0 | shard 1 | ...        8 bytes a key, left out for one shard
//    shard --sort by segment, count, peel, assign, pack--> its part of the payload
//
// Peeling: a field that only one key owns can be given to that key; take the key away and other
// fields become single. Shards are at most 2^20 keys, so that their tables stay in cache and
// scratch stays small; a sweep from left to right touches a few segments at a time.
//
// The bytes depend on the set of hashes only: not on their order, not on how often they are
// repeated, not on the crew.
// Limits:  scratch is 8 bytes a key, and 22 bytes a key of the shards in work; a set of one shard
//          does not need the 8. Under a cap the keys are read several times, for some shards each.
// Threads: those of the crew, each with a shard and a scratch of its own.
// See:     binary_fuse_test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/fuse.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/build/crew.hpp>
#include <bloomery/detail/sets/build/gather.hpp>
#include <bloomery/detail/sets/build/hash_source.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

// The shape for so many different keys, with the first seed.
FuseShape plan_fuse(std::uint64_t keys, unsigned arity, unsigned width);

class FuseBuild {
 public:
  struct Order {
    unsigned arity = 3;
    unsigned width = 8;
    std::uint64_t scratch_bytes = 0;  // the most to use; 0: no limit
  };

  // What one worker needs to build shards. Made once and used for one after the other.
  struct Scratch {
    Memory in_order;  // the keys of a shard, by segment
    Memory table;     // a word for each field: XOR of the keys that own it, and their number
    Memory queue;     // fields that one key owned, in the order of peeling
    std::uint64_t bytes() const { return in_order.size() + table.size() + queue.size(); }
  };

  FuseBuild(HashSource source, const Order& order, Crew crew = {})
      : source_(std::move(source)), order_(order), crew_(std::move(crew)) {}

  // Builds all shards, with new seeds and a new count of keys where those are needed.
  Result<void> build_all();

  const FuseShape& shape() const { return shape_; }
  // The payload, once every shard is built.
  Memory take_payload() { return std::move(payload_); }
  // The most scratch that was in use at once.
  std::uint64_t peak_scratch_bytes() const { return peak_scratch_bytes_; }

 private:
  enum class Outcome {
    built,
    stuck,    // no seed of a shard works: the next seed of the set, then all shards again
    repeats,  // two hashes are equal: count the different ones, then all shards again
  };

  // Plans for so many keys and takes memory for the payload.
  Result<void> lay_out(std::uint64_t keys, std::uint64_t seed);
  // Calls each(shard, scratch) for all shards; stops early once `ended` is true.
  template <class Each>
  Result<void> for_each_shard(const std::atomic<bool>& ended, Each&& each);
  Result<void> make_scratch(Scratch& scratch, std::uint64_t most_keys) const;
  Result<Outcome> build_shards();
  Result<std::uint64_t> count_different();
  Outcome build_shard(std::uint64_t shard, Scratch& scratch);
  std::span<std::uint64_t> in_segment_order(std::uint64_t shard, Scratch& scratch);
  std::span<std::uint64_t> without_repeats(std::span<std::uint64_t> in_order) const;
  void store(std::uint64_t shard, std::uint64_t seed, const Scratch& scratch);

  HashSource source_;
  Order order_;
  Crew crew_;
  FuseShape shape_;
  Memory payload_;
  Gathered gathered_;     // the mixed hashes of the shards in work; none for one shard
  bool repeats_ = false;  // there are, and have to be dropped
  std::uint64_t peak_scratch_bytes_ = 0;
};

}  // namespace bloomery::inline v0::detail
