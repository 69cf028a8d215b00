// One bit per integer of a range: an exact set, sorted for free.
//
//    integer n  -->  bit n - low  -->  word (n - low) / 64, place (n - low) % 64
//
// 8-digit phone numbers take 12.5 MB, all of IPv4 512 MiB, whatever the number of members.
// Limits:  costs its range, not its members: {1, 99999999999} would take 12.5 GB.
// Threads: add_shared and may_contain_shared by any number at once; the rest by one.
// See:     docs/kinds.md "bitmap"; bitmap_test.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/list_ones.hpp>
#include <bloomery/detail/bits/member_iterator.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class Bitmap {
 public:
  static constexpr KindId id{1, "bitmap"};
  static constexpr bool exact = true;
  static constexpr unsigned widest = 48;  // a range of 2^48 integers would take 32 TiB
  using Input = Ordinal;
  struct Shape {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"low", &Shape::low}, Field{"high", &Shape::high}};
  // The bit of an integer that lies in the range.
  struct Slot {
    std::uint64_t bit = 0;
  };

  static Result<Shape> plan(const Want& want) {
    if (!want.range.given())
      return Error{Code::impossible, "a bitmap is planned from a range of integers; none is given"};
    if (auto sound = check_range(want.range, widest); !sound) return sound.error();
    return Shape{want.range.low, want.range.high};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (auto sound = check_range({shape.low, shape.high}, widest); !sound) return sound.error();
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return words_for(integers(shape)) * 8; }
  static double expected_rate(const Shape&, std::uint64_t) { return 0; }
  static std::uint64_t integers(const Shape& shape) { return shape.high - shape.low + 1; }

  Bitmap(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        words_(reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)) {
    assert(lent.size() == bytes(shape) && "a bitmap is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }
  bool in_range(Ordinal n) const { return n.value >= shape_.low && n.value <= shape_.high; }

  Slot locate(Ordinal n) const {
    assert(in_range(n) && "an integer outside the range has no bit; ask in_range first");
    return {n.value - shape_.low};
  }
  [[gnu::always_inline]] void prefetch(Slot slot) const {
    __builtin_prefetch(&words_[slot.bit / word_bits], 0, 2);
  }

  template <class Visit>
  void each_byte(Slot slot, Visit&& visit) const {
    visit(slot.bit / 8);
  }

  Added add(Slot slot) { return added(!set_bit(words_, slot.bit)); }
  Added add_shared(Slot slot) { return added(!set_bit_shared(words_, slot.bit)); }
  // Returns whether it was there.
  bool remove(Slot slot) { return clear_bit(words_, slot.bit); }
  bool contains(Slot slot) const { return get_bit(words_, slot.bit); }
  bool may_contain(Slot slot) const { return contains(slot); }
  bool may_contain_shared(Slot slot) const { return get_bit_shared(words_, slot.bit); }

  // 512 integers to a cache line.
  std::uint64_t lines() const { return (integers(shape_) - 1) / 512 + 1; }
  void find_lines(const Ordinal* ordinals, std::size_t n, std::uint64_t* lines) const {
    for (std::size_t i = 0; i < n; ++i) lines[i] = locate(ordinals[i]).bit / 512;
  }
  bool has_one_line() const { return true; }

  std::uint64_t count() const { return count_ones(words_); }

  // Calls each(integer) for every member, in ascending order, until it returns false.
  template <class Each>
  void for_each(Each&& each) const {
    for_each_one(words_, [&](std::uint64_t bit) { return each(shape_.low + bit); });
  }
  // Writes the members from `from` on, in ascending order, as many as `to` holds; returns how many.
  // A T must hold every integer of the range.
  template <class T>
  std::size_t copy_members(std::span<T> to, std::uint64_t from) const {
    if (from > shape_.high) return 0;
    return copy_ones(words_, from > shape_.low ? from - shape_.low : 0, shape_.low, to);
  }
  MemberIterator<1> begin() const { return {words_, shape_.low}; }
  MemberIterator<1> end() const { return MemberIterator<1>::end(words_, shape_.low); }

  // Calls each(integer) for every integer of the range that is not a member, in ascending order,
  // until it returns false.
  template <class Each>
  void for_each_missing(Each&& each) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t left = ~words_[i];
      if (i + 1 == words_.size()) left &= last_word_mask();
      for (; left != 0; left &= left - 1)
        if (!goes_on(each, shape_.low + i * word_bits +
                               static_cast<std::uint64_t>(std::countr_zero(left))))
          return;
    }
  }

  // How many members are smaller than n. Linear in the range before n.
  std::uint64_t rank(Ordinal n) const {
    if (n.value <= shape_.low) return 0;
    if (n.value > shape_.high) return count();
    const std::uint64_t bit = n.value - shape_.low;
    const std::uint64_t below = (std::uint64_t{1} << (bit % word_bits)) - 1;
    return count_ones(words_.first(bit / word_bits)) +
           static_cast<std::uint64_t>(std::popcount(words_[bit / word_bits] & below));
  }

  // The member with this many smaller ones; nothing when there are not that many.
  std::optional<Ordinal> select(std::uint64_t smaller) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto here = static_cast<std::uint64_t>(std::popcount(words_[i]));
      if (smaller >= here) {
        smaller -= here;
        continue;
      }
      std::uint64_t left = words_[i];
      for (; smaller != 0; --smaller) left &= left - 1;
      return Ordinal{shape_.low + i * word_bits +
                     static_cast<std::uint64_t>(std::countr_zero(left))};
    }
    return std::nullopt;
  }

  void unite(const Bitmap& other) {
    combine(other, [](auto a, auto b) { return a | b; });
  }
  void intersect(const Bitmap& other) {
    combine(other, [](auto a, auto b) { return a & b; });
  }
  void subtract(const Bitmap& other) {
    combine(other, [](auto a, auto b) { return a & ~b; });
  }
  void exclusive(const Bitmap& other) {
    combine(other, [](auto a, auto b) { return a ^ b; });
  }

  // The set of every integer in the range.
  void fill() {
    std::memset(words_.data(), 0xff, words_.size_bytes());
    words_.back() &= last_word_mask();
  }

  // Exact: the estimate is the count, and the false-positive rate is 0.
  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return 0; }
  double fill_ratio() const { return estimate() / static_cast<double>(integers(shape_)); }

  // Bits beyond the range must be zero, or count and fill would be wrong. Asked by open.
  Result<void> check_bits() const {
    if ((words_.back() & ~last_word_mask()) != 0)
      return Error{Code::damaged, "a bitmap has bits set beyond the end of its range"};
    return {};
  }

 private:
  std::uint64_t last_word_mask() const {
    const std::uint64_t rest = integers(shape_) % word_bits;
    return rest == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
  }

  template <class Combine>
  void combine(const Bitmap& other, Combine&& with) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = with(words_[i], other.words_[i]);
  }

  Shape shape_;
  Words words_;
};

}  // namespace bloomery::inline v0::detail
