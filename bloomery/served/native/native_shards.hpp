// Prefixes of hashes in many small sorted tables that grow one at a time.
//
//    directory   000 001 010 011 100 101 110 111     the first `depth` bits of a hash
//                 |___|   |   |   |_______________|
//    shards         a     b   c         d            a has its own depth 2, d depth 1
//    a shard     a quotient table (bits/quotient_table.hpp) of what follows those bits
//
// A full shard is rebuilt, about a sixth larger; one that is large enough splits in two, each
// with a bit less to keep of every prefix. So no add moves more than one shard, and only one shard
// is in memory twice. With eight shards or more none is split before it has 32,768 keys.
//
// As a set: what is covered is not added; prefixes of later keys are longer, such that all together
// never cover more than the rate (sets/scalable.hpp). As a multiset: all prefixes have one length,
// every add is kept, and each can be taken out again.
// Limits:  64-bit hashes; well mixed ones, or a shard crowds and says full.
// Threads: any number may ask, or one may change it.
// See:     native_bloom_test, native_cuckoo_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/quotient_table.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

#include <bloomery/served/add_outcome.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>
#include <bloomery/served/native/native_chunks.hpp>

namespace bloomery::inline v0::detail::served {

class PrefixShards : public InHostMemory {
 public:
  struct Law {
    double rate = 0.01;             // as a set: what all prefixes may cover
    unsigned prefix_bits = 0;       // as a multiset: of every prefix; 0: a set
    std::uint64_t first_keys = 64;  // how many are expected; room for some of them to begin with
  };
  static Result<PrefixShards> make(const Law& law);

  // memory_left: how many bytes more it may take, also for a moment.
  AddOutcome add(Hash hash, std::uint64_t memory_left);
  bool may_contain(Hash hash) const;
  [[gnu::always_inline]] void call_for(Hash hash) const {
    const Shard& shard = *directory_[place_of(hash)];
    shard.table.call_for(hash.bits << shard.depth);
  }
  // Multisets only. Full: it has the most copies of this key.
  AddOutcome add_copy(Hash hash, std::uint64_t memory_left);
  bool remove(Hash hash);
  std::uint64_t count(Hash hash) const;

  std::uint64_t entries() const { return entries_; }
  // All memory, with what lies beside the tables.
  std::uint64_t bytes() const;
  std::size_t shards() const { return shards_.size(); }
  std::uint64_t room() const { return room_; }
  double covered() const;
  const Law& law() const { return law_; }

  // What either covers; sets only.
  Result<void> unite(const PrefixShards& other, std::uint64_t memory_left);
  // Rebuilds shards in the least room, from the one at this place on; returns the place of the
  // next. A step is two entries; one shard at least is done.
  Result<std::uint64_t> compact(std::uint64_t place, std::uint64_t steps);
  Result<PrefixShards> clone() const;
  // The shards from this number on, until its time is over; the next number, or 0 at the end.
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from);

  // The shards from the one at this place on, as many as a chunk takes. Places are the first 48
  // bits of hashes; `next` is end_place after the last.
  static constexpr std::uint64_t end_place = std::uint64_t{1} << 48;
  std::uint64_t dump(std::uint64_t place, ChunkWriter& writer) const;
  // Shards to load into: none yet.
  static PrefixShards to_load(const Law& law);
  // Appends the shards of a chunk to those that were loaded before. memory_left as above.
  Result<void> load(ChunkReader& reader, std::uint64_t memory_left);
  std::uint64_t loaded_to() const { return loaded_to_; }
  bool is_whole() const { return loaded_to_ == end_place; }

 private:
  // 2^20 shards of 32,768 keys; beyond that they grow larger.
  static constexpr unsigned most_depth = 20;
  static constexpr unsigned first_depth = 10;

  struct Shard : InHostMemory {
    Shard(QuotientTable held, unsigned depth_bits, std::uint64_t first)
        : table(std::move(held)), depth(depth_bits), start(first) {}
    QuotientTable table;
    unsigned depth = 0;
    std::uint64_t room = 0;
    std::uint64_t start = 0;  // the first hash that belongs here
  };

  explicit PrefixShards(const Law& law) : law_(law) {}

  std::uint64_t place_of(Hash hash) const { return hash.bits >> 1 >> (63 - depth_); }
  Shard& shard_of(Hash hash) const { return *directory_[place_of(hash)]; }

  // A table to lay out: with this much room and so many quotients or more, at a depth.
  struct Target {
    std::uint64_t room;
    unsigned quotient_bits;
    unsigned depth;
  };
  Result<QuotientTable> table_for(const QuotientTable::Lengths& held, const Target& target) const;
  // pour_into(table) gives a table what is held, from the first prefix on; false: it crowds.
  template <class Pour>
  Result<QuotientTable> laid_out(const QuotientTable::Lengths& held, Target target,
                                 Pour&& pour_into) const;
  template <class Pour>
  Result<void> lay_out(Shard& shard, const QuotientTable::Lengths& held, std::uint64_t room,
                       std::uint64_t memory_left, Pour&& pour_into);
  Result<void> grow(Shard& shard, std::uint64_t memory_left);
  Result<void> split(Shard& shard, std::uint64_t memory_left);
  void put(std::unique_ptr<Shard> shard);
  void take_over(Shard& shard, QuotientTable table);
  void fill_directory();
  void enter_in_directory(Shard& shard);
  static std::uint64_t bytes_of(const Shard& shard);

  Law law_;
  unsigned depth_ = 0;
  std::vector<Shard*> directory_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t room_ = 0;
  std::uint64_t loaded_to_ = end_place;
};

}  // namespace bloomery::inline v0::detail::served
