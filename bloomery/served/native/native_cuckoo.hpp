// The multiset behind CF.*: keys that can be removed again and counted, growing. Knows no server.
//
//    hash   | first L bits are kept, once for every add |
//
// The first L bits of each key's hash stand in prefix shards, copies side by side. All prefixes
// have one length for ever, so that two keys with the same prefix are alike in everything: to
// remove one copy leaves one for the other, at any time of its growth. (In a chain of cuckoo tables
// a key can be found in the wrong link, and removing it there removes another key.) L is chosen so
// that the false-positive rate at `most` keys is the rate asked for; with fewer keys it is lower. A
// table with more keys spends fewer bits on each. The first 128 keys are a list of their hashes:
// nothing is laid out for what was reserved.
// Limits:  with expansion at most 64 times its capacity or 2^26 keys, the larger; then full. 255
//          copies of a key.
// Threads: any number may ask, or one may change it.
// See:     native_shards.hpp; native_cuckoo_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

#include <bloomery/served/cuckoo_body.hpp>
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

class NativeCuckoo final : public CuckooBody {
 public:
  static Result<NativeCuckoo> make(const CuckooWant& want);

  // One copy more: fresh. Full: at the most keys, or copies of this one. Refused: not all chunks
  // are loaded yet. Nothing has changed when it is not taken.
  AddOutcome add(std::string_view key);
  // Only if none is there: fresh, or seen and nothing has changed.
  AddOutcome add_nx(std::string_view key);
  void add_all(std::span<const std::string_view> keys, const Adding& adding,
               std::span<AddOutcome> answers) override;
  bool may_contain(std::string_view key) const;
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override;
  // It grows by parts and keeps its rate, so it needs no limit but its own.
  bool has_grown_out(std::uint64_t) const override { return false; }
  bool dumps_when_empty() const override { return true; }
  // How many copies; more if another key has the same prefix.
  std::uint64_t count(std::string_view key) const override;
  bool remove(std::string_view key) override;

  // Buckets: the capacity that was reserved, or room for more, by the bucket size.
  Info info() const override;
  std::uint64_t items() const { return shards_ ? shards_->entries() : first_.size(); }
  std::uint64_t most_items() const;  // then it is full
  double rate_now() const;
  double bits_per_key() const;  // 0 while it is empty
  std::uint64_t payload_bytes() const override { return memory_bytes(); }
  std::uint64_t memory_bytes() const override;
  std::string debug_line() const override;
  const CuckooWant& want() const { return want_; }
  const Hasher& hasher() const { return want_.hasher; }
  void cap_memory(std::uint64_t bytes) { want_.memory_cap = bytes; }
  // Gives back what removed keys have left free. At its end no key counts as removed. Without
  // memory to compact into the filter stays as it is.
  void compact(const Compaction& part) override;

  Result<NativeCuckoo> copy() const;
  std::unique_ptr<FilterBody> clone() const override;
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override;
  std::uint64_t digest() const;

  // As NativeBloom.
  Piece piece(std::uint64_t cursor) const override;
  static Result<NativeCuckoo> load(std::string_view first, std::uint64_t memory_cap);
  Result<void> load_piece(std::uint64_t next, std::string_view chunk) override;
  void save(FieldWriter& writer) const override { save_pieces(*this, writer); }
  bool is_whole() const { return whole_; }
  static bool is_first_chunk(std::string_view chunk);

 private:
  explicit NativeCuckoo(const CuckooWant& want) : want_(want) {}

  static constexpr std::size_t most_listed = 128;

  bool is_listed() const { return shards_ == nullptr; }
  Result<void> lay_out();
  bool has(Hash hash) const { return shards_ ? shards_->may_contain(hash) : first_.contains(hash); }
  AddOutcome add_hash(Hash hash);
  std::string head() const;
  template <class Act>
  void each(std::span<const std::string_view> keys, Act&& act) const;
  std::uint64_t memory_left() const;

  CuckooWant want_;
  FirstHashes first_;
  std::unique_ptr<PrefixShards> shards_;  // nullptr while the set is a list
  std::uint64_t removed_ = 0;
  bool whole_ = true;
};

}  // namespace bloomery::inline v0::detail::served
