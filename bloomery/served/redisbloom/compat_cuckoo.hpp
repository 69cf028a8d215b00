// The cuckoo filter of RedisBloom, bit for bit: tables of one-byte fingerprints, oldest first.
//
//    key -> h = murmur(key, 0);  fingerprint = h mod 255 + 1, 0 is an empty place
//    table i: buckets * expansion^i buckets of bucket_size bytes, the number a power of two
//    home 1 = h mod buckets,  home 2 = (h ^ fingerprint * 0x5bd1e995) mod buckets
//
// A key goes to the first empty place from the newest table to the oldest. If no place is empty it
// moves others in the newest table; if that fails all moves are undone and a new table is made. The
// two homes are each other's other home in every table, as numbers of buckets are powers of two.
// Whatever comes from outside is checked before anything is made of it; a header promises bytes
// that are not there yet, so it is held to a cap. A table takes its memory when the first key or
// the first chunk comes for it.
// Limits:  8 bits of fingerprint: the false-positive rate grows with every table, to 38 % at 31,000
//          keys from the default capacity (docs/redis.md). Removing a false positive removes
//          another key.
// Threads: any number may ask; one may change it.
// See:     tests/served/compat_cuckoo_test.cpp for the golden bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/served/cuckoo_body.hpp>

namespace bloomery::inline v0::detail::served {

class CompatCuckoo final : public CuckooBody {
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
  // From what save() wrote, or RedisBloom, in encoding 4.
  static Result<std::unique_ptr<CompatCuckoo>> load(FieldReader& reader, int encoding);
  // From a header; the tables are empty until load_piece brings them.
  static Result<std::unique_ptr<CompatCuckoo>> from_header(std::string_view header,
                                                           std::uint64_t cap_bytes);
  static bool is_header_length(std::size_t length) {
    return length == header_bytes || length == old_header_bytes;
  }

  // One copy more.
  AddOutcome add(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  // Only if it is not there.
  AddOutcome add_new(std::string_view key, std::uint64_t cap_bytes = UINT64_MAX);
  bool may_contain(std::string_view key) const;
  void add_all(std::span<const std::string_view> keys, const Adding& adding,
               std::span<AddOutcome> answers) override;
  void may_contain_all(std::span<const std::string_view> keys,
                       std::span<bool> answers) const override;
  bool has_grown_out(std::uint64_t most_expansions) const override {
    return tables_.size() >= most_expansions;
  }
  std::uint64_t count(std::string_view key) const override;
  bool remove(std::string_view key) override;
  // With more than one table and a tenth removed RedisBloom compacts.
  bool wants_compaction() const override;
  // Moves fingerprints from newer tables into gaps of older ones and drops the newest when it is
  // empty. A step is about one look at a bucket. The same filter and part give the same filter.
  void compact(const Compaction& part) override;

  const Fields& fields() const { return fields_; }
  std::uint64_t buckets_of(std::size_t table) const {
    return tables_[table].size() / fields_.bucket_size;
  }
  // Its bytes are what RedisBloom's structures would take.
  Info info() const override;
  std::uint64_t payload_bytes() const override;
  std::uint64_t memory_bytes() const override;
  std::string debug_line() const override;

  // At position 0 the header, from 1 on the tables.
  Piece piece(std::uint64_t position) const override;
  Result<void> load_piece(std::uint64_t next, std::string_view bytes) override;
  void save(FieldWriter& writer) const override;
  std::unique_ptr<FilterBody> clone() const override;
  std::uint64_t move_parts(const Mover& mover, std::uint64_t from) override;

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
  static Result<std::unique_ptr<CompatCuckoo>> from(const Fields& fields,
                                                    std::vector<HostBytes> tables);
  std::string header() const;

  bool grow(std::uint64_t cap_bytes);
  bool fits_newest(KeyHash hash);
  AddOutcome add_hash(KeyHash hash, std::uint64_t cap_bytes);
  std::uint8_t* bucket(std::size_t table, std::uint64_t home);
  const std::uint8_t* bucket(std::size_t table, std::uint64_t home) const;
  std::uint8_t* place_of(std::size_t table, KeyHash hash, std::uint8_t fingerprint);
  std::uint64_t move_into_older(std::size_t table, std::uint64_t place, std::uint64_t& steps);
  bool moves_into_older(std::size_t table, std::uint64_t place, std::uint64_t& steps);
  void count_key();
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
