// Walks the members of an exact map in ascending order, as a forward iterator over std::uint64_t.
//
//    word i   | .. | 1 | 0 | 1 |    each one bit is a member: low + (i * 64 + place) / bits_each
//
// Where an integer has two bits (two_bit_map.hpp), at most one of them is set.
// Limits:  valid until the map changes or goes.
// Threads: a value; any number may walk a map that nobody changes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <bloomery/detail/bits/words.hpp>

namespace bloomery::inline v0::detail {

template <unsigned bits_each>
class MemberIterator {
 public:
  using value_type = std::uint64_t;
  using difference_type = std::ptrdiff_t;
  using reference = std::uint64_t;
  using pointer = void;
  // Members are made on the way, so the older category has no more than input.
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;

  MemberIterator() = default;
  // At the first member.
  MemberIterator(ConstWords words, std::uint64_t low) : words_(words), low_(low) {
    if (!words_.empty()) left_ = words_[0];
    find();
  }
  static MemberIterator end(ConstWords words, std::uint64_t low) {
    MemberIterator past;
    past.words_ = words;
    past.low_ = low;
    past.word_ = words.size();
    return past;
  }

  std::uint64_t operator*() const {
    return low_ +
           (word_ * word_bits + static_cast<std::uint64_t>(std::countr_zero(left_))) / bits_each;
  }
  MemberIterator& operator++() {
    left_ &= left_ - 1;
    find();
    return *this;
  }
  MemberIterator operator++(int) {
    MemberIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const MemberIterator& a, const MemberIterator& b) {
    return a.word_ == b.word_ && a.left_ == b.left_;
  }

 private:
  // To the next word with a one, unless there is one left here.
  void find() {
    while (left_ == 0 && word_ < words_.size())
      if (++word_ < words_.size()) left_ = words_[word_];
  }

  ConstWords words_;
  std::uint64_t low_ = 0;
  std::size_t word_ = 0;    // of words_; their number at the end
  std::uint64_t left_ = 0;  // its ones that are still to come
};

}  // namespace bloomery::inline v0::detail
