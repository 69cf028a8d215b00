// A set that grows without end: prefixes of hashes in a sorted table that is rebuilt, a quarter
// larger, whenever it is full.
//
//    first table   | prefixes of l bits                        |   half of the rate
//    a step on     | the same | prefixes of l + 2 bits         |   1/30 of what is left of the rate
//    a step on     | the same ...   | prefixes of l + 3 bits   |   1/30 of what is left of the rate
//
// What a prefix covers does not change when the table grows. So the rate is the sum of what every
// step has added, and is known exactly: the share of all hashes that is covered. Each step uses
// prefixes so long that it takes at most its part of the rate; the fields widen by a bit about
// every twelve doublings. When blocks are full each is split in two, and every prefix then has one
// bit more in its quotient and one less in its fingerprint.
// Limits:  about 13 bits a key at 1 % for the number it was planned for; grown, 14.7 to 19.5,
//          see docs/kinds.md "scalable". While it grows the tables before and after are both
//          in memory. Keys whose hashes are crowded (not well mixed) are refused as full.
// Threads: add_shared and may_contain_shared by any number at once (one lock); the rest by one.
// See:     bits/quotient_law.hpp; scalable_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>

#include <bloomery/detail/bits/lock.hpp>
#include <bloomery/detail/bits/quotient_table.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class Scalable {
 public:
  static constexpr KindId id{13, "scalable"};
  using Input = Hash;
  using Shape = QuotientTable::Size;
  static constexpr std::tuple fields{Field{"quotient_bits", &Shape::quotient_bits},
                                     Field{"slots", &Shape::slots},
                                     Field{"field_bits", &Shape::field_bits}};

  // The first table.
  static Result<Shape> plan(const Want& want);
  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes);
  static std::uint64_t bytes(const Shape& shape) { return QuotientTable::bytes(shape); }
  static double expected_rate(const Shape& shape, std::uint64_t keys);
  // How many prefixes a table takes before it grows.
  static std::uint64_t room(const Shape& shape);
  // The table after one that holds these prefixes: with so much room or more, and at least so many
  // quotients.
  using Lengths = QuotientTable::Lengths;
  static Result<Shape> plan_next(const Lengths& held, double rate, std::uint64_t room_wanted,
                                 unsigned quotient_bits);

  // What a set of this want has become with so many keys, by the plans of its tables.
  static Result<Grown> grown(const Want& want, std::uint64_t keys);

  // keys: how many are expected (0: start small). rate: kept, whatever comes, until overfull().
  // memory_bytes: a hard cap, also for the two tables while it grows.
  static Result<Scalable> make(const Want& want);
  static Result<Scalable> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) { memory_cap_ = bytes; }
  // Borrows the table.
  Parts parts() const;

  Added add(Hash hash);
  Added add_shared(Hash hash);
  bool may_contain(Hash hash) const;
  bool may_contain_shared(Hash hash) const;
  // An Error when the set cannot grow; what was added before stays.
  Result<std::size_t> add_all(std::span<const Hash> hashes, bool* fresh);
  void may_contain_all(std::span<const Hash> hashes, bool* answers) const;

  // What either covers; what both cover. Any two sets; the rate is what comes of it.
  Result<void> unite(const Scalable& other);
  Result<void> intersect(const Scalable& other);

  // Begins again with the first table. An Error when memory is refused; then nothing has changed.
  Result<void> clear();

  const QuotientTable& table() const { return table_; }
  Shape shape() const { return table_.size(); }
  std::uint64_t bytes() const { return table_.memory().size(); }
  std::uint64_t capacity() const { return planned_keys_; }
  double rate_asked() const { return rate_; }
  // Beside add_shared too.
  std::uint64_t adds() const {
    const LockedShared hold(*lock_);
    return adds_;
  }
  double estimate() const;
  double rate_now() const { return table_.covered(); }
  double expected_rate_now() const { return rate_now(); }
  double fill_ratio() const;
  // Beside add_shared too.
  bool overfull() const {
    const LockedShared hold(*lock_);
    return rate_now() > rate_;
  }

 private:
  Scalable(QuotientTable table, const Want& want);

  template <class Pour>
  Result<void> lay_out(const Lengths& held, std::uint64_t room_wanted, unsigned quotient_bits,
                       Pour&& pour_into);
  Result<void> grow();
  // Adds up to 64 hashes, and grows; cut where that fails.
  CutStep add_step(const Hash* hashes, std::size_t n, std::size_t ahead);
  Error full_error() const;

  QuotientTable table_;
  std::uint64_t room_ = 0;
  std::uint64_t planned_keys_ = 0;
  double rate_ = 0;
  std::uint64_t memory_cap_ = 0;  // 0: none
  std::uint64_t adds_ = 0;
  std::unique_ptr<SharedMutex> lock_ = std::make_unique<SharedMutex>();
};

}  // namespace bloomery::inline v0::detail
