// A sorted table of hash prefixes that can be streamed out, and into a larger one.
//
//    prefixes   0010  0011'01  10  1101'1       no one covers another
//    table      quotient (first q bits) tells the block, the rest is a field: bits/quotient_law.hpp
//    growing    read in ascending order, append to a table with more slots or more quotients
//
// A prefix of n bits covers 2^(64-n) of the 2^64 hashes. Since no prefix covers another, the sum of
// these shares is the false-positive rate: the number of prefixes of each length gives it exactly.
// A prefix that is shorter than q (its fingerprint is used up) is written as several, of q bits.
// As a multiset (add_copy, remove, count) it holds prefixes of one length, each as often as it was
// added.
// Limits:  2^6 to 2^58 quotients; 1 to 64 slots for 64 quotients. A table whose keys crowd (spills
//          above 511 slots, or beyond the last block) takes no more of them.
// Threads: any number may ask while nobody adds.
// See:     quotient_table_test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// The hashes whose first `bits` bits are those of `start`; the other bits of start are zero.
struct Prefix {
  std::uint64_t start = 0;
  unsigned bits = 64;
  // The last hash that it covers.
  std::uint64_t end() const { return bits == 64 ? start : start | (~std::uint64_t{0} >> bits); }
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

class QuotientTable {
 public:
  struct Size {
    std::uint32_t quotient_bits = 6;
    std::uint32_t slots = 64;  // in a block of 64 quotients
    std::uint32_t field_bits = 2;
    // After the last quotients, for their spills. If they run out, the table of a set only grows
    // early; a multiset can need room for many copies of one key at once, anywhere.
    std::uint32_t tail_blocks = 2;
    friend bool operator==(const Size&, const Size&) = default;
  };
  static constexpr std::uint32_t least_quotient_bits = 6;
  static constexpr std::uint32_t most_quotient_bits = 58;
  static constexpr std::uint32_t most_slots = 64;
  static constexpr std::uint32_t most_field_bits = 49;
  static constexpr std::uint32_t most_tail_blocks = 512;

  // A moved-from table refers to no memory.
  QuotientTable(QuotientTable&& other) noexcept
      : size_(other.size_),
        memory_(std::move(other.memory_)),
        view_(std::exchange(other.view_, {})),
        entries_(std::exchange(other.entries_, 0)),
        lengths_(std::move(other.lengths_)) {}
  QuotientTable& operator=(QuotientTable&& other) noexcept {
    size_ = other.size_;
    memory_ = std::move(other.memory_);
    view_ = std::exchange(other.view_, {});
    entries_ = std::exchange(other.entries_, 0);
    lengths_ = std::move(other.lengths_);
    return *this;
  }

  static Result<void> check(const Size& size);
  // The size must pass check().
  static std::uint64_t bytes(const Size& size);
  // The most slots that blocks of this length have room for.
  static std::uint32_t widest_slots(std::uint32_t slots, std::uint32_t field_bits);

  static Result<QuotientTable> make(const Size& size);
  // Bytes from outside: every count and every order that the law has is checked. keeps_copies: of
  // a multiset, whose prefixes all have the full length.
  static Result<QuotientTable> open(const Size& size, Memory memory, bool keeps_copies = false);

  // A table of its own with the same prefixes.
  Result<QuotientTable> copy() const;

  // As Memory::relocate.
  void relocate(void* (*move)(void* own, void* block), void* own) {
    memory_.relocate(move, own);
    view_.words = reinterpret_cast<std::uint64_t*>(memory_.bytes().data());
  }

  const Size& size() const { return size_; }
  const Memory& memory() const { return memory_; }
  QuotientView view() const { return view_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t slots() const {
    return (std::uint64_t{1} << (size_.quotient_bits - 6)) * size_.slots;
  }
  // How many prefixes of each length there are.
  using Lengths = std::array<std::uint64_t, 65>;
  Lengths held() const { return lengths_.all(); }
  // The share of all hashes that such prefixes cover.
  static double covered(const Lengths& held);
  double covered() const { return lengths_.covered(); }
  // Bytes of the table, with what it keeps outside its memory.
  std::uint64_t bytes_taken() const { return memory_.size() + lengths_.bytes(); }

  // One step of up to 64 hashes, `ahead` more in sight; bit i: hash i was new, or may be there.
  // Adding stops at the first one without a slot.
  std::uint64_t add_step(const std::uint64_t* hashes, std::size_t n, std::size_t ahead,
                         std::size_t* taken);
  std::uint64_t ask_step(const std::uint64_t* hashes, std::size_t n, std::size_t ahead) const {
    return kernels().quotient_ask(view_, hashes, n, ahead);
  }
  // Prefetches the block of a hash, for a step that will come soon.
  [[gnu::always_inline]] void call_for(std::uint64_t hash) const {
    const std::uint64_t block = hash >> (64 - view_.quotient_bits) >> 6;
    const std::uint64_t* const words = view_.words + block * view_.block_words;
    __builtin_prefetch(words, 0, 2);
    __builtin_prefetch(words + 8, 0, 2);
  }

  // Multisets. Adds one copy; false when no slot is free.
  bool add_copy(std::uint64_t hash);
  // Removes one copy; false when the table has none.
  bool remove(std::uint64_t hash);
  std::uint64_t count(std::uint64_t hash) const;

  // Streams the prefixes out in ascending order.
  class Reader {
   public:
    explicit Reader(const QuotientTable& table);
    // Nothing after the last one.
    std::optional<Prefix> next();

   private:
    friend QuotientTable;
    bool find_runs();
    void enter(std::uint64_t block);
    Prefix read();

    QuotientView view_;
    std::uint64_t homes_;
    std::uint64_t block_ = 0;     // whose runs are being read
    std::uint64_t left_ = 0;      // of its occupied bits
    std::uint64_t at_block_ = 0;  // where the next field stands
    std::uint64_t ends_ = 0;
    unsigned at_slot_ = 0;
  };

  // Streams prefixes in: each behind, and not covered by, those before. False when no slot is left.
  // What was appended is there after finish().
  class Appender {
   public:
    explicit Appender(QuotientTable& table) : table_(table), view_(table.view_) {}
    bool append(const Prefix& prefix);
    void finish();

   private:
    friend QuotientTable;
    bool put(const Prefix& prefix);
    bool append_field(std::uint64_t quotient, std::uint64_t field);
    void enter(std::uint64_t block);

    QuotientTable& table_;
    const QuotientView view_;
    std::uint64_t last_quotient_ = ~std::uint64_t{0};
    // The current block: how many of its slots are taken, and where runs end so far.
    std::uint64_t at_block_ = 0;
    std::uint64_t ends_ = 0;
    unsigned at_slot_ = 0;
    Lengths lengths_{};
  };

  // Streams all prefixes of one table into an empty one; false when that runs out of slots.
  static bool pour(const QuotientTable& from, QuotientTable& to);

 private:
  // Counts by length, for the few lengths that a table has.
  class LengthCounts {
   public:
    void add(unsigned bits, std::uint64_t count);
    void take(unsigned bits) { --counts_[bits - shortest_]; }
    Lengths all() const;
    double covered() const;
    std::uint64_t bytes() const { return counts_.capacity() * sizeof counts_[0]; }

   private:
    unsigned shortest_ = 0;
    std::vector<std::uint64_t> counts_;
  };

  QuotientTable(const Size& size, Memory memory);
  Result<void> check_blocks(bool keeps_copies);
  unsigned full_length() const { return size_.quotient_bits + size_.field_bits - 1; }

  Size size_;
  Memory memory_;
  QuotientView view_;
  std::uint64_t entries_ = 0;
  LengthCounts lengths_;
};

}  // namespace bloomery::inline v0::detail
