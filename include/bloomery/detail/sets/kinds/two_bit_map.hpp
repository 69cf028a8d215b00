// Two bits per integer of a range: seen never, once, or many times. Exact.
//
//    32 states to a word, first one lowest:   | .. | n=2 | n=1 | n=0 |
//    00 never, 01 once, 10 many. 11 is never written; open refuses it.
//
// Which of a billion integers appear exactly once, in 1 GiB for all of 2^32, whatever their number.
// Limits:  costs its range, not its members; counts no further than "many".
// Threads: add_shared and may_contain_shared by any number at once; the rest by one.
// See:     docs/kinds.md "two-bit"; two_bit_map_test.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/member_iterator.hpp>
#include <bloomery/detail/bits/packed.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/steady.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

enum class Seen : std::uint8_t { never = 0, once = 1, many = 2 };

class TwoBitMap {
 public:
  static constexpr KindId id{2, "two-bit"};
  static constexpr bool exact = true;
  static constexpr unsigned widest = 47;  // a range of 2^47 integers would take 32 TiB
  using Input = Ordinal;
  struct Shape {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"low", &Shape::low}, Field{"high", &Shape::high}};
  // Which state, counted from the low end of the range.
  struct Slot {
    std::uint64_t state = 0;
  };

  static Result<Shape> plan(const Want& want) {
    if (!want.range.given())
      return Error{Code::impossible,
                   "a two-bit map is planned from a range of integers; none is given"};
    if (auto sound = check_range(want.range, widest); !sound) return sound.error();
    return Shape{want.range.low, want.range.high};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (auto sound = check_range({shape.low, shape.high}, widest); !sound) return sound.error();
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return Packed(2).words(integers(shape)) * 8; }
  static double expected_rate(const Shape&, std::uint64_t) { return 0; }
  static std::uint64_t integers(const Shape& shape) { return shape.high - shape.low + 1; }

  TwoBitMap(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        low_(shape.low),
        words_(reinterpret_cast<std::uint64_t*>(lent.data()), lent.size() / sizeof(std::uint64_t)) {
    assert(lent.size() == bytes(shape) && "a two-bit map is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }
  bool in_range(Ordinal n) const { return n.value >= shape_.low && n.value <= shape_.high; }

  Slot locate(Ordinal n) const {
    assert(in_range(n) && "an integer outside the range has no state; ask in_range first");
    return {n.value - low_};
  }
  [[gnu::always_inline]] void prefetch(Slot slot) const {
    __builtin_prefetch(&words_[slot.state / 32], 0, 2);
  }

  Added add(Slot slot) {
    std::uint64_t& word = words_[slot.state / 32];
    const std::uint64_t before = word;
    word = raised(before, shift_of(slot));
    return added(state_in(before, slot) == Seen::never);
  }

  // Relaxed is enough: states only rise, and each call raises the word it has just read.
  Added add_shared(Slot slot) {
    std::atomic_ref word(words_[slot.state / 32]);
    std::uint64_t before = word.load(std::memory_order_relaxed);
    while (state_in(before, slot) != Seen::many &&
           !word.compare_exchange_weak(before, raised(before, shift_of(slot)),
                                       std::memory_order_relaxed)) {
    }
    return added(state_in(before, slot) == Seen::never);
  }

  // Removes the integer, however often it was added; returns whether it was there.
  bool remove(Slot slot) {
    std::uint64_t& word = words_[slot.state / 32];
    const bool before = state_in(word, slot) != Seen::never;
    word &= ~(std::uint64_t{3} << shift_of(slot));
    return before;
  }

  // 0, 1, or 2 for many.
  std::uint64_t count(Slot slot) const { return static_cast<std::uint64_t>(state(slot)); }
  std::uint64_t most_count() const { return static_cast<std::uint64_t>(Seen::many); }
  Seen state(Slot slot) const { return state_in(words_[slot.state / 32], slot); }
  bool contains(Slot slot) const { return state(slot) != Seen::never; }
  bool may_contain(Slot slot) const { return contains(slot); }
  bool may_contain_shared(Slot slot) const {
    return state_in(load_shared(words_[slot.state / 32]), slot) != Seen::never;
  }

  // 256 integers to a cache line.
  std::uint64_t lines() const { return (integers(shape_) - 1) / 256 + 1; }
  void find_lines(const Ordinal* ordinals, std::size_t n, std::uint64_t* lines) const {
    for (std::size_t i = 0; i < n; ++i) lines[i] = locate(ordinals[i]).state / 256;
  }
  bool has_one_line() const { return true; }

  // How many integers were seen at all, once, many times.
  std::uint64_t count() const { return count_ones(words_); }
  std::uint64_t count_once() const { return count_of(ones_place); }
  std::uint64_t count_many() const { return count_of(twos_place); }

  // Calls each(integer) in ascending order for every integer seen at all, exactly once, more than
  // once, until it returns false.
  template <class Each>
  void for_each(Each&& each) const {
    walk(ones_place | twos_place, each);
  }
  template <class Each>
  void for_each_once(Each&& each) const {
    walk(ones_place, each);
  }
  template <class Each>
  void for_each_many(Each&& each) const {
    walk(twos_place, each);
  }

  // Those seen at all.
  MemberIterator<2> begin() const { return {words_, shape_.low}; }
  MemberIterator<2> end() const { return MemberIterator<2>::end(words_, shape_.low); }

  // Adds the counts of both: once and once makes many.
  void unite(const TwoBitMap& other) {
    combine(other, [](std::uint64_t a, std::uint64_t b) {
      const std::uint64_t many = ((a | b) & twos_place) | ((a & b & ones_place) << 1);
      return many | ((a | b) & ones_place & ~(many >> 1));
    });
  }
  // Keeps the smaller count of both.
  void intersect(const TwoBitMap& other) {
    combine(other, [](std::uint64_t a, std::uint64_t b) {
      const std::uint64_t many = a & b & twos_place;
      const std::uint64_t in_both = (a | a >> 1) & (b | b >> 1) & ones_place;
      return many | (in_both & ~(many >> 1));
    });
  }

  // Every integer of the range, seen many times.
  void fill() {
    for (std::uint64_t& word : words_) word = twos_place;
    words_.back() &= last_word_mask();
  }

  double estimate() const { return static_cast<double>(count()); }
  double rate_now() const { return 0; }
  double fill_ratio() const { return estimate() / static_cast<double>(integers(shape_)); }

  Result<void> check_bits() const {
    for (const std::uint64_t word : words_)
      if ((word & (word >> 1) & ones_place) != 0)
        return Error{Code::damaged, "a two-bit map holds the state 11, which is never written"};
    if ((words_.back() & ~last_word_mask()) != 0)
      return Error{Code::damaged, "a two-bit map has states beyond the end of its range"};
    return {};
  }

 private:
  static constexpr std::uint64_t ones_place = 0x5555'5555'5555'5555;
  static constexpr std::uint64_t twos_place = 0xaaaa'aaaa'aaaa'aaaa;

  static unsigned shift_of(Slot slot) { return static_cast<unsigned>(slot.state % 32 * 2); }
  static Seen state_in(std::uint64_t word, Slot slot) {
    return static_cast<Seen>((word >> shift_of(slot)) & 3);
  }
  // never -> once -> many -> many
  static std::uint64_t raised(std::uint64_t word, unsigned shift) {
    const std::uint64_t state = (word >> shift) & 3;
    return state == 2 ? word : word + (std::uint64_t{1} << shift);
  }

  std::uint64_t last_word_mask() const {
    const std::uint64_t rest = integers(shape_) % 32 * 2;
    return rest == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
  }

  std::uint64_t count_of(std::uint64_t places) const {
    std::uint64_t ones = 0;
    for (const std::uint64_t word : words_)
      ones += static_cast<std::uint64_t>(std::popcount(word & places));
    return ones;
  }

  template <class Each>
  void walk(std::uint64_t places, Each&& each) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t left = words_[i] & places; left != 0; left &= left - 1)
        if (!goes_on(each,
                     shape_.low + i * 32 + static_cast<std::uint64_t>(std::countr_zero(left)) / 2))
          return;
  }

  template <class Combine>
  void combine(const TwoBitMap& other, Combine&& with) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = with(words_[i], other.words_[i]);
  }

  Shape shape_;
  Steady low_;  // of the shape
  Words words_;
};

}  // namespace bloomery::inline v0::detail
