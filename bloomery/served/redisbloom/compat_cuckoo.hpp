// The cuckoo filter of RedisBloom, bit for bit: tables of one-byte fingerprints, oldest first.
//
//    key -> h = murmur(key, 0);  fingerprint = h mod 255 + 1, 0 is an empty place
//    table i: buckets * expansion^i buckets of bucket_size bytes, the number a power of two
//    home 1 = h mod buckets,  home 2 = (h ^ fingerprint * 0x5bd1e995) mod buckets
//
// A key goes to the first empty place from the newest table to the oldest. If there is none it
// pushes others around in the newest table; if that fails everything is put back and a new table
// is made. The two homes are each other's other home in every table, as numbers of buckets are
// powers of two.
// Whatever comes from outside is checked before anything is made of it; a header promises bytes
// that are not there yet, so it is held to a cap. A table takes its memory when the first key or
// the first chunk comes for it.
// Limits:  8 bits of fingerprint: with every table the chance grows that a stranger passes, to 38 %
//          at 31,000 keys from the default capacity (docs/redis.md). Removing a stranger that looks
//          like a key removes the key.
// Threads: any number may ask; one may change it.
// See:     tests/served/compat_cuckoo_test.cpp for the golden bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>

namespace bloomery::inline v0::detail::served {

class CompatCuckoo : public InHostMemory {
 public:
  struct Want {
    std::uint64_t capacity = 1024;
    std::uint16_t bucket_size = 2;
    std::uint16_t max_iterations = 20;
    std::uint16_t expansion = 1;  // rounded up to a power of two; 0: never grows
    std::uint64_t cap_bytes = UINT64_MAX;
  };
  struct Fields {
    std::uint64_t keys = 0;
    std::uint64_t buckets = 0;  // of the first table
    std::uint64_t removed = 0;  // since the last compaction
    std::uint64_t bucket_size = 0;
    std::uint64_t max_iterations = 0;
    std::uint64_t expansion = 0;
  };

  static Result<std::unique_ptr<CompatCuckoo>> make(const Want& want);
  // From what an RDB file holds: the fields, and the bytes of each table.
  static Result<std::unique_ptr<CompatCuckoo>> from(const Fields& fields,
                                                    std::vector<HostBytes> tables);
  // From a header; the tables are empty until load_chunk brings them.
  static Result<std::unique_ptr<CompatCuckoo>> from_header(std::string_view header,
                                                           std::uint64_t cap_bytes);
  static bool is_header_length(std::size_t length) {
    return length == header_bytes || length == old_header_bytes;
  }
  Result<std::unique_ptr<CompatCuckoo>> clone() const;
  // For active defragmentation: moves parts from a number on; the next number, or 0 at the end.
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from);

  enum class Added { fresh, seen, full, no_memory };
  Added add(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  // Only if it is not there.
  Added add_new(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  bool may_contain(std::string_view key) const;
  std::uint64_t count(std::string_view key) const;
  // Takes one copy out.
  bool remove(std::string_view key);
  // With more than one table and a tenth removed RedisBloom compacts.
  bool wants_compaction() const;
  // Moves fingerprints from newer tables into gaps of older ones and drops the newest when it is
  // empty; goes through all tables, or stops at the first that keeps something. Does about `steps`
  // looks at a bucket, then says where to go on; nothing when it has come to its end. The same
  // filter, position and steps give the same filter.
  enum class Compaction { through_all, while_tables_empty };
  struct Position {
    std::uint64_t table = UINT64_MAX;  // or the newest, if there are fewer
    std::uint64_t place = 0;
  };
  std::optional<Position> compact(Compaction compaction, Position from, std::uint64_t steps);
  void compact(Compaction compaction) { compact(compaction, Position{}, UINT64_MAX); }

  const Fields& fields() const { return fields_; }
  const std::vector<HostBytes>& tables() const { return tables_; }
  std::uint64_t buckets_of(std::size_t table) const {
    return tables_[table].size() / fields_.bucket_size;
  }
  std::uint64_t payload_bytes() const;
  // As CF.INFO reports it: what RedisBloom's structures would take.
  std::uint64_t reported_bytes() const { return 40 + 16 * tables_.size() + payload_bytes(); }
  std::uint64_t memory_bytes() const;

  std::string header() const;
  struct Chunk {
    std::uint64_t next = 0;  // 0: this was the end
    std::string_view bytes;
  };
  static constexpr std::uint64_t most_chunk_bytes = HostBytes::most_piece_bytes;
  // From position 1 on.
  Chunk chunk(std::uint64_t position) const;
  // Takes bytes that came with this `next`; false when they do not lie in one table.
  bool load_chunk(std::uint64_t next, std::string_view bytes);

  std::string debug_line() const;

 private:
  struct KeyHash {
    std::uint64_t home, other;
    std::uint8_t fingerprint;
  };

  static constexpr std::size_t header_bytes = 38;
  static constexpr std::size_t old_header_bytes = 46;

  CompatCuckoo() = default;
  static KeyHash hash_of(std::string_view key);
  static Result<void> check(const Fields& fields);

  bool grow(std::uint64_t cap_bytes);
  bool fits_newest(KeyHash hash);
  Added add_hash(KeyHash hash, std::uint64_t cap_bytes);
  std::uint8_t* bucket(std::size_t table, std::uint64_t home);
  const std::uint8_t* bucket(std::size_t table, std::uint64_t home) const;
  std::uint8_t* place_of(std::size_t table, KeyHash hash, std::uint8_t fingerprint);
  std::uint64_t move_into_older(std::size_t table, std::uint64_t place, std::uint64_t& steps);
  bool moves_into_older(std::size_t table, std::uint64_t place, std::uint64_t& steps);
  void append_table(HostBytes table);
  void drop_newest();
  void put(std::size_t table, std::uint8_t* place, std::uint8_t fingerprint);
  void clear(std::size_t table, std::uint8_t* place);

  Fields fields_;
  std::vector<HostBytes> tables_;
  std::vector<std::uint64_t>
      used_;  // places that are taken in each; a table without any is promised
};

}  // namespace bloomery::inline v0::detail::served
