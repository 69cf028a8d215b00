// A set of 64-bit integers whose memory grows with their number, not with their range.
//
//    added     | 9 3 7 3 |                              settled when it is full: sorted, then each
//                  |                                    number to one of
//    sorted    | 3 | 7 | 9 | 2^40 | ...                 8 bytes each: where they lie far apart
//    words     2^32 .. 2 * 2^32 - 1 --> Roaring bitmap  where at least four of 65536 neighbours are
//              5 * 2^32 ..          --> Roaring bitmap  there: 2 bytes each, or one bit
//
// A Roaring bitmap costs some 60 bytes for each 65536 integers of which it holds one: numbers far
// apart would pay that each, so they stay in the array until their neighbours have come.
// Limits:  bytes() counts what CRoaring says its containers hold, plus a share for how they are
//          kept; it is a close estimate of the heap (sparse_numbers_test compares).
// Threads: one.
// See:     Lemire et al., Roaring Bitmaps: Implementation of an Optimized Software Library, 2018.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

extern "C" {
struct roaring_bitmap_s;
struct roaring_uint32_iterator_s;
}

namespace bloomery::inline v0::detail {

class SparseNumbers {
 public:
  // The numbers that wait to be settled never take more than a 16th of `most_bytes`.
  explicit SparseNumbers(std::uint64_t most_bytes);
  SparseNumbers(const SparseNumbers&) = delete;
  SparseNumbers& operator=(const SparseNumbers&) = delete;
  ~SparseNumbers();

  // True: it is time to settle, before another is added.
  bool add(std::uint64_t number) {
    added_.push_back(number);
    return added_.size() == most_added_;
  }
  // Merges what was added into the set. `repeated` is called for every number that was there
  // before, as often as it came again, in unspecified order; it may be empty. False when the system
  // refuses memory; then the set may only be destroyed.
  bool settle(const std::function<void(std::uint64_t)>& repeated = {});

  // Of what is settled.
  std::uint64_t count() const;
  std::uint64_t bytes() const;  // also of the numbers that wait
  // The number below which about half of the bytes lie; above the smallest. Needs two.
  std::uint64_t middle() const;
  // Forgets this number and all above it.
  void drop_from(std::uint64_t number);

  // The numbers in ascending order, a block at a time; none at the end.
  class Walk {
   public:
    explicit Walk(const SparseNumbers& numbers);
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk();
    std::span<const std::uint64_t> next();

   private:
    void open_word();

    const SparseNumbers& numbers_;
    std::size_t place_ = 0;  // in sorted_
    std::map<std::uint32_t, struct SparseWord>::const_iterator word_;
    roaring_uint32_iterator_s* in_word_ = nullptr;
    std::vector<std::uint64_t> block_;
    std::vector<std::uint32_t> lows_;
  };

 private:
  friend class Walk;
  struct Free {
    void operator()(std::uint64_t* numbers) const { std::free(numbers); }
  };

  void settle_in_words(const std::function<void(std::uint64_t)>& repeated);
  bool merge(const std::function<void(std::uint64_t)>& repeated);
  bool promote();
  bool resize(std::size_t numbers);

  std::uint64_t most_bytes_;
  std::size_t most_added_ = 0;
  std::vector<std::uint64_t> added_;
  std::vector<std::uint64_t> room_;              // to sort them
  std::unique_ptr<std::uint64_t, Free> sorted_;  // ascending, different, of no word in words_
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::map<std::uint32_t, SparseWord> words_;  // by the high half of their numbers
  std::uint64_t words_bytes_ = 0;
};

// The numbers that share a high half.
struct SparseWord {
  struct Free {
    void operator()(roaring_bitmap_s* bitmap) const;
  };
  std::unique_ptr<roaring_bitmap_s, Free> bitmap;
  std::uint64_t bytes = 0;
};

}  // namespace bloomery::inline v0::detail
