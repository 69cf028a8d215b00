// What `compact` and `hash-set` share: a growing set of whole hashes in a LineTable.
//
//    LineSet<Law>    Law names the kind, its hash and the lines these are stored in; compact.hpp
//                    and hash_set.hpp hold the two laws and what follows from them
//
// Threads: add_shared and may_contain_shared by any number at once (one lock); the rest by one.
// See:     line_table.hpp; compact_test, hash_set_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include <bloomery/detail/bits/line_table.hpp>
#include <bloomery/detail/bits/lock.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

template <class Law>
class LineSet {
 public:
  static constexpr KindId id = Law::id;
  static constexpr bool exact = Law::exact;
  static constexpr bool whole_hashes = true;
  using Input = typename Law::Input;
  // What is saved: the sorted hashes, without the room between them.
  struct Shape {
    std::uint64_t keys = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"keys", &Shape::keys}};

  // An exact kind takes any rate; else a rate below what the bits of a hash give is impossible.
  static Result<Shape> plan(const Want& want);
  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes);
  // In memory, when planned for and holding that many keys.
  static std::uint64_t bytes(const Shape& shape);
  static double expected_rate(const Shape& shape, std::uint64_t keys);

  // Keys are optional: with them it is made large enough to take so many without growing.
  // memory_bytes is a hard cap.
  static Result<LineSet> make(const Want& want);
  static Result<LineSet> from_parts(Parts parts);
  // From now on it grows no further than this; 0: no cap.
  void cap_memory(std::uint64_t bytes) { table_.cap_bytes(bytes); }
  // Copies the hashes together: sizeof(Input) a key of new memory.
  Result<Parts> parts() const;

  Added add(Input hash) {
    if (!table_.has_room()) [[unlikely]] {
      if (may_contain(hash)) return Added::seen;
      if (!grow()) return Added::full;
    }
    return added(table_.add(Law::key_of(hash)));
  }
  Added add_shared(Input hash);
  bool may_contain(Input hash) const { return table_.contains(Law::key_of(hash)); }
  bool contains(Input hash) const requires(Law::exact) { return may_contain(hash); }
  bool may_contain_shared(Input hash) const;
  // An Error when memory ran out; what was added before stays.
  Result<std::size_t> add_all(std::span<const Input> hashes, bool* fresh);
  void may_contain_all(std::span<const Input> hashes, bool* answers) const;

  Result<void> unite(const LineSet& other);
  Result<void> intersect(const LineSet& other);
  Result<void> subtract(const LineSet& other);

  // Gives back what it grew by. An Error when memory is refused; then nothing has changed.
  Result<void> clear();

  std::uint64_t count() const { return table_.count(); }
  std::uint64_t bytes() const { return table_.bytes(); }
  std::uint64_t capacity() const { return planned_keys_; }
  double rate_asked() const { return rate_; }
  // Beside add_shared too.
  std::uint64_t adds() const {
    const LockedShared hold(*lock_);
    return count();
  }
  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return expected_rate({}, count()); }
  double expected_rate_now() const { return rate_now(); }
  double fill_ratio() const;
  // It grows: what it was planned for is a first guess.
  bool overfull() const { return false; }

  // Calls each(hash) for every member, in ascending order, until it returns false: sizeof(Input) a
  // key of new memory.
  template <class Each>
  void for_each(Each&& each) const requires(Law::exact) {
    std::vector<Key> sorted(count());
    table_.copy_sorted(sorted.data());
    for (const Key& key : sorted)
      if (!goes_on(each, Input{key})) return;
  }

 private:
  using Table = LineTable<typename Law::Lines>;
  using Key = typename Table::Key;
  static_assert(sizeof(Key) == sizeof(Input));

  LineSet() = default;

  // False when memory or the cap refuses.
  [[gnu::noinline]] bool grow();
  Error full_error() const;
  template <class Use>
  void each_called(std::span<const Input> hashes, Use&& use) const;
  template <class Keep>
  void keep_if(Keep&& keep);

  Table table_;
  std::uint64_t planned_keys_ = 0;
  double rate_ = 0;  // 0 of an exact kind
  std::unique_ptr<SharedMutex> lock_ = std::make_unique<SharedMutex>();
};

}  // namespace bloomery::inline v0::detail
