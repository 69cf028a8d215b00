// Views whose elements are made when they are read: as std::views::transform, which Clang 14
// cannot compile from the headers of GCC 12.
//
//    made_range(0, 100, [](int i) { return i * 3; })          0, 3, 6, ...
//
// With `walkable` false it cannot be gone through while it is const, as std::views::filter.
#pragma once

#include <cstddef>
#include <iterator>
#include <ranges>

namespace bloomery::detail {

template <class Make, bool walkable>
class MadeRange : public std::ranges::view_base {
 public:
  class Iterator {
   public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = decltype(Make{}(0));
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(int at) : at_(at) {}
    value_type operator*() const { return Make{}(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    int at_ = 0;
  };

  MadeRange(int first, int last) : first_(first), last_(last) {}
  Iterator begin() { return Iterator(first_); }
  Iterator end() { return Iterator(last_); }
  Iterator begin() const requires walkable { return Iterator(first_); }
  Iterator end() const requires walkable { return Iterator(last_); }

 private:
  int first_;
  int last_;
};

template <bool walkable = true, class Make>
MadeRange<Make, walkable> made_range(int first, int last, Make) {
  return {first, last};
}

}  // namespace bloomery::detail
