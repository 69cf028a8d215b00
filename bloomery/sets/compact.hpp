// A growing set of whole 64-bit hashes in about 9 bytes a key: small enough for every line of a
// huge file, and so exact that nobody can notice the difference.
//
//    hash * lines --> its line, 64 bytes with ten slots; 48 bits of the hash are stored there
//
// One memory wait a key (bits/line_table.hpp). The table grows in place by a half when 85 % of its
// slots are used: 7.5 to 11.3 bytes a key, 9.3 in the mean, at any number; nobody needs to guess.
// Two keys are one if all 64 bits of their hashes agree: of n keys about n^2 / 2^65 are lost,
// 3e-4 of 10^8, 0.03 of 10^9.
// Limits:  below 390,000 keys entries have 64 bits, and a key takes 11 to 18 bytes (a few hundred
//          bytes at least). Hashes that crowd into a few lines are slower and larger: against those
//          who choose keys, use a hardened Hasher.
// Threads: add_shared and may_contain_shared by any number at once (one lock); the rest by one.
// See:     docs/kinds.md "compact"; compact_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <tuple>

#include <bloomery/bits/line_table.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash/hash.hpp>
#include <bloomery/sets/concepts.hpp>
#include <bloomery/sets/parts.hpp>
#include <bloomery/sets/shape_fields.hpp>

namespace bloomery {

class Compact {
 public:
  static constexpr KindId id{14, "compact"};
  static constexpr bool whole_hashes = true;
  using Input = Hash;
  // What is saved: the sorted hashes, without the room between them.
  struct Shape {
    std::uint64_t keys = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"keys", &Shape::keys}};

  // A rate below keys / 2^64 is impossible; any other is kept.
  static Result<Shape> plan(const Want& want);
  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes);
  // In memory, when planned for and holding that many keys.
  static std::uint64_t bytes(const Shape& shape);
  static double expected_rate(const Shape& shape, std::uint64_t keys);

  // Keys are optional: with them it is made large enough to take so many without growing.
  // memory_bytes is a hard cap.
  static Result<Compact> make(const Want& want);
  static Result<Compact> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) { table_.cap_bytes(bytes); }
  // Copies the hashes together: 8 bytes a key of new memory.
  Parts parts() const;

  Added add(Hash hash) {
    if (!table_.has_room()) [[unlikely]]
      if (const Added grown = grow_for(hash); grown != Added::fresh) return grown;
    return added(table_.add(hash.bits));
  }
  Added add_shared(Hash hash);
  bool may_contain(Hash hash) const { return table_.contains(hash.bits); }
  bool may_contain_shared(Hash hash) const;
  // An Error when memory ran out; what was added before stays.
  Result<std::size_t> add_all(std::span<const Hash> hashes, bool* fresh);
  void may_contain_all(std::span<const Hash> hashes, bool* answers) const;

  Result<void> unite(const Compact& other);
  Result<void> intersect(const Compact& other);
  Result<void> subtract(const Compact& other);

  std::uint64_t count() const { return table_.count(); }
  std::uint64_t bytes() const { return table_.bytes(); }
  std::uint64_t capacity() const { return planned_keys_; }
  double rate_asked() const { return rate_; }
  std::uint64_t adds() const { return count(); }
  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return expected_rate({}, count()); }
  double expected_rate_now() const { return rate_now(); }
  double fill_ratio() const;
  // It grows: what it was planned for is a first guess.
  bool overfull() const { return false; }

 private:
  using Table = LineTable<CompactLines>;

  Compact() = default;

  // Seen if it is there; fresh when there is room now; full when memory or the cap refuses.
  [[gnu::noinline]] Added grow_for(Hash hash);
  Error full_error() const;
  template <class Keep>
  void keep_if(Keep&& keep);

  Table table_;
  std::uint64_t planned_keys_ = 0;
  double rate_ = 0;
  std::unique_ptr<std::shared_mutex> lock_ = std::make_unique<std::shared_mutex>();
};

}  // namespace bloomery
