// An exact set that grows: the 128-bit hashes of its keys.
//
//    high half * lines --> its line: 48 bits of that half; the low half, whole, in the next line
//
// One memory wait for a key that is not there, two neighbouring lines for one that is
// (bits/line_table.hpp). The table grows in place by a third when 85 % of its slots are used: 19
// to 25 bytes a key at any number, and never two copies of the whole.
// Limits:  two keys are taken for one if all 128 bits agree: below 1e-20 at 1e9 keys that nobody
//          chose to collide. Against those who choose keys, use a hardened Hasher.
//          Below 390,000 keys a key takes 22 to 33 bytes, and a set 1.8 KB at least.
// Threads: add_shared and may_contain_shared by any number at once (one lock); the rest by one.
// See:     docs/kinds.md "hash-set"; hash_set_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <tuple>
#include <vector>

#include <bloomery/bits/line_table.hpp>
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
  static constexpr bool whole_hashes = true;
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

  // Keys are optional: with them it is made large enough to take so many without growing.
  // memory_bytes is a hard cap.
  static Result<HashSet> make(const Want& want);
  static Result<HashSet> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) { table_.cap_bytes(bytes); }
  // Copies the hashes together: 16 bytes a key of new memory.
  Parts parts() const;

  Added add(WideHash hash) {
    if (!table_.has_room()) [[unlikely]]
      if (const Added grown = grow_for(hash); grown != Added::fresh) return grown;
    return added(table_.add(hash));
  }
  Added add_shared(WideHash hash);
  bool contains(WideHash hash) const { return table_.contains(hash); }
  bool may_contain(WideHash hash) const { return contains(hash); }
  bool may_contain_shared(WideHash hash) const;
  // An Error when memory ran out; what was added before stays.
  Result<std::size_t> add_all(std::span<const WideHash> hashes, bool* fresh);
  void may_contain_all(std::span<const WideHash> hashes, bool* answers) const;

  Result<void> unite(const HashSet& other);
  Result<void> intersect(const HashSet& other);
  Result<void> subtract(const HashSet& other);

  std::uint64_t count() const { return table_.count(); }
  std::uint64_t bytes() const { return table_.bytes(); }
  std::uint64_t capacity() const { return planned_keys_; }
  double rate_asked() const { return 0; }
  std::uint64_t adds() const { return count(); }
  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return expected_rate({}, count()); }
  double expected_rate_now() const { return rate_now(); }
  double fill_ratio() const;
  bool overfull() const { return false; }

  // Calls each(hash) for every member, in rising order: 16 bytes a key of new memory.
  template <class Each>
  void for_each(Each&& each) const {
    std::vector<WideHash> sorted(count());
    table_.copy_sorted(sorted.data());
    for (const WideHash& hash : sorted) each(hash);
  }

 private:
  using Table = LineTable<HashSetLines>;

  HashSet() = default;

  // Seen if it is there; fresh when there is room now; full when memory or the cap refuses.
  [[gnu::noinline]] Added grow_for(WideHash hash);
  Error full_error() const;
  template <class Keep>
  void keep_if(Keep&& keep);

  Table table_;
  std::uint64_t planned_keys_ = 0;
  std::unique_ptr<std::shared_mutex> lock_ = std::make_unique<std::shared_mutex>();
};

}  // namespace bloomery
