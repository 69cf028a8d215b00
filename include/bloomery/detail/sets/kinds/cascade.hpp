// A block list and an allow list in one set, without an error on either: a filter of the blocked
// keys, and the exact list of those allowed keys that the filter would have matched.
//
//    128-bit hash --low half--> filter (blocked)  --no-->  no
//                                  maybe
//                  --all 128 bits--> exceptions, sorted  --listed--> no
//                                  not listed: maybe
//
// Every blocked key matches, no allowed key does, and keys of neither list pass at the rate of the
// filter. The list takes 16 bytes for each allowed key that passes the filter: at 1 % that is 1.3
// bits an allowed key. Where there are so many allowed keys that a finer filter and a shorter list
// are smaller together, the filter is made finer than was asked.
// Limits:  takes no keys once it is built, since a new blocked key could make allowed keys match
//          that are not in the list; two cascades cannot be united for the same reason.
//          Two keys are taken for one if all 128 bits agree; see hash_set.hpp.
// Threads: any number may ask.
// See:     docs/kinds.md "cascade"; cascade_builder.hpp makes it; cascade_test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class CascadeBuilder;

class Cascade {
 public:
  // Not a kind of its own in files: its form says what the two parts are to each other.
  static constexpr KindId id{1004, "cascade"};
  static constexpr Form form = Form::cascade;
  static constexpr bool two_lists = true;
  using Input = WideHash;
  using Filter = Owned<BlockedBloom>;
  using Builder = CascadeBuilder;
  struct Shape {
    BlockedBloom::Shape filter;
    double filter_rate = 0;
    std::uint64_t listed = 0;  // allowed keys to expect in the list, and four spreads
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  // For want.keys blocked and want.allowed allowed keys.
  static Result<Shape> plan(const Want& want);
  static std::uint64_t bytes(const Shape& shape);
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    return BlockedBloom::expected_rate(shape.filter, keys);
  }

  static Result<Cascade> from_parts(Parts parts);
  // Borrows the payloads.
  Parts parts() const;

  bool may_contain(WideHash hash) const;
  void may_contain_all(std::span<const WideHash> hashes, bool* answers) const;

  // Both refused: the exceptions of one are not those of the other.
  Result<void> unite(const Cascade& other);
  Result<void> intersect(const Cascade& other);
  // Why it takes no more keys, and what to do instead.
  static Error takes_no_more();

  std::uint64_t allowed() const { return allowed_; }  // keys of the allow list
  std::uint64_t listed() const { return exceptions_.size() / sizeof(WideHash); }
  const Filter& filter() const { return filter_; }
  std::uint64_t bytes() const { return filter_.bytes() + exceptions_.size(); }
  std::uint64_t capacity() const { return filter_.capacity(); }
  double rate_asked() const { return rate_asked_; }
  std::uint64_t adds() const { return filter_.adds(); }  // blocked keys that were surely new
  double estimate() const { return filter_.estimate(); }
  // Of keys that are in neither list.
  double rate_now() const { return filter_.rate_now(); }
  double expected_rate_now() const { return filter_.expected_rate_now(); }
  double fill_ratio() const { return filter_.fill_ratio(); }
  // The filter may have been made finer than asked.
  bool overfull() const { return filter_.overfull() && filter_.expected_rate_now() > rate_asked_; }

 private:
  friend CascadeBuilder;
  Cascade(Filter filter, Memory exceptions, std::uint64_t allowed, double rate_asked)
      : filter_(std::move(filter)),
        exceptions_(std::move(exceptions)),
        allowed_(allowed),
        rate_asked_(rate_asked) {}

  std::span<const WideHash> exceptions() const {
    return {reinterpret_cast<const WideHash*>(exceptions_.bytes().data()),
            static_cast<std::size_t>(listed())};
  }
  Result<void> check_exceptions() const;

  Filter filter_;
  Memory exceptions_;  // in ascending order
  std::uint64_t allowed_;
  double rate_asked_;
};

}  // namespace bloomery::inline v0::detail
