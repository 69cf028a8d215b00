// The set behind BF.*: reserved, growing, or a window over the last adds. Knows no server.
//
//    reserved      | blocked: the capacity, 0.85 of the rate |   one line a key
//    beyond it     | prefix shards: the rest of the rate     |   grow on, a shard at a time
//    small starts  | prefix shards: the whole rate           |   up to 4096 keys reserved
//    nonscaling    | blocked: the capacity, the whole rate   |   then full
//    window        | the window kind: last N different keys  |   never full
//
// None of it is laid out before the keys need it: a set begins as a list of the hashes of its first
// 32 keys (a window: of none), so that reserving costs neither time nor memory.
// A capacity that was guessed well costs little more than a plain blocked set; a bad guess costs
// what growing costs, and no single add does more than rebuild one shard.
// Dumps: a header chunk, then chunks that can be loaded one by one, in order. A set that has got
// only some of its chunks says maybe to every key and takes none.
// Limits:  docs/redis_native.md. Expansion is only remembered: growth is smooth.
// Threads: any number may ask, or one may change it.
// See:     native_shards.hpp; native_chunks.hpp; native_bloom_test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/window_bloom.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

#include <bloomery/served/bloom_body.hpp>
#include <bloomery/served/native/first_hashes.hpp>
#include <bloomery/served/native/native_chunks.hpp>
#include <bloomery/served/native/native_shards.hpp>

namespace bloomery::inline v0::detail::served {

struct BloomWant {
  double rate = 0.01;
  std::uint64_t capacity = 100;
  std::uint32_t expansion = 2;
  bool nonscaling = false;
  std::uint64_t window = 0;      // surely remember the last so many adds; 0: for ever
  Hasher hasher{};               // hardened(key) by default is up to the caller
  std::uint64_t memory_cap = 0;  // bytes(), never more; 0: no cap
};

// Refuses what no set can be.
Result<void> check(const BloomWant& want);

class NativeBloom final : public BloomBody {
 public:
  static Result<NativeBloom> make(const BloomWant& want);

  // Full: nonscaling and at its capacity. Refused: not all chunks are loaded yet. If the key was
  // not taken, nothing has changed.
  AddOutcome add(std::string_view key);
  bool may_contain(std::string_view key) const;
  std::size_t add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                      std::span<AddOutcome> answers) override;
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override;
  // A window counts every add, also of what it has seen.
  bool changes_when_seen() const override { return want_.window != 0; }
  NativeBloom* native() override { return this; }

  // The capacity is what was reserved, and beyond it what there is room for now.
  Info info() const override;
  // Adds that were fresh.
  std::uint64_t items() const { return items_; }
  // Expected for the items it holds.
  double rate_now() const override;
  double bits_per_key() const;  // 0 while it is empty
  std::uint64_t payload_bytes() const override { return memory_bytes(); }
  std::uint64_t memory_bytes() const override;
  std::vector<std::string> debug_lines() const override;
  const BloomWant& want() const { return want_; }
  const Hasher& hasher() const { return want_.hasher; }
  void cap_memory(std::uint64_t bytes) { want_.memory_cap = bytes; }

  // Adds what the other holds. Both must have the same hasher and must have been reserved alike.
  // The rate follows from the union: see info().
  Result<void> merge(const NativeBloom& other);
  Result<NativeBloom> copy() const;
  std::unique_ptr<FilterBody> clone() const override;
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override;
  // The same for sets that were given the same commands.
  std::uint64_t digest() const;

  // A piece is a chunk. A set may change between two calls: what was in it when the dump began is
  // in the dump.
  Piece piece(std::uint64_t cursor) const override;
  // From the first chunk; then is_whole() once all others were given to load_piece in order.
  // memory_cap: a set that would take more is refused.
  static Result<NativeBloom> load(std::string_view first, std::uint64_t memory_cap);
  // A chunk says itself where it belongs.
  Result<void> load_piece(std::uint64_t next, std::string_view chunk) override;
  void save(FieldWriter& writer) const override { save_pieces(*this, writer); }
  bool is_whole() const { return state_ != State::loading; }
  // Is this the first chunk of such a dump?
  static bool is_first_chunk(std::string_view chunk);

 private:
  using Blocked = Owned<BlockedBloom>;
  using Window = Owned<WindowBloom>;

  // Bits that a head has promised. Their memory is taken when the first of them come.
  struct Loading {
    Part part;
    std::uint64_t length = 0;
    std::uint64_t loaded = 0;
  };

  explicit NativeBloom(const BloomWant& want) : want_(want) {}

  // How far the set has come. Listed: first_ holds all its hashes.
  enum class State : std::uint8_t { listed, loading, laid_out };
  static constexpr std::size_t most_listed = 32;

  bool is_blocked() const;
  std::uint64_t held_by_bits() const { return blocked_ ? blocked_->adds() : 0; }
  Want blocked_want() const;
  Result<BlockedBloom::Shape> blocked_shape() const;
  Result<std::uint64_t> planned_bytes() const;
  Result<void> lay_out();
  Result<void> begin_tables();
  void drop_tables();
  bool add_listed(Hash hash);
  Result<void> merges_with(const NativeBloom& other) const;
  AddOutcome add_early(Hash hash);

  PrefixShards::Law shards_law() const;
  Result<void> begin_shards();
  std::uint64_t memory_left() const;
  AddOutcome add_laid_out(Hash hash);
  AddOutcome add_hash(Hash hash);
  std::size_t add_group(std::span<const Hash> hashes, std::span<AddOutcome> answers);
  void ask_group(std::span<const Hash> hashes, bool* answers) const;
  std::uint64_t dense_from() const { return (want_.window + want_.capacity) / 4 + 1; }
  void tell_dense() const;

  // native_bloom_chunks.cpp
  Part bits() const;
  std::string head() const;
  Result<void> read_bits(ChunkReader& reader);
  Result<void> read_listed(ChunkReader& reader);
  Result<void> load_bits(ChunkReader& reader);
  Result<void> take_bits();
  Result<void> load_shards(ChunkReader& reader);
  bool has_all() const;

  BloomWant want_;
  std::uint64_t items_ = 0;
  FirstHashes first_;
  std::unique_ptr<Blocked> blocked_;
  std::unique_ptr<Window> window_;
  std::unique_ptr<PrefixShards> shards_;
  std::unique_ptr<Loading> loading_;  // becomes blocked or window when its bits are all there
  State state_ = State::listed;
};

}  // namespace bloomery::inline v0::detail::served
