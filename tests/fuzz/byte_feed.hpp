// The input of a fuzzer, taken from its front: numbers, short texts, and what is left.
//
//    | number | length, text | ... | rest |
//
// Past the end come zeros and empty texts, so that every input means something.
// Limits:  texts are views into the input: AddressSanitizer sees only reads beyond the whole of it.
//          Give what must not be read beyond its end as rest(), or copy it.
// Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace bloomery::fuzz {

class ByteFeed {
 public:
  ByteFeed(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  template <class T>
  T number() {
    static_assert(std::is_arithmetic_v<T>);
    T number{};
    const std::size_t there = std::min(sizeof number, left_.size());
    if (there != 0) std::memcpy(&number, left_.data(), there);
    left_.remove_prefix(there);
    return number;
  }
  std::uint8_t byte() { return number<std::uint8_t>(); }
  std::string_view text(std::size_t length) {
    const auto text = left_.substr(0, length);
    left_.remove_prefix(text.size());
    return text;
  }
  // Its length is in one byte before it.
  std::string_view short_text() { return text(byte()); }
  std::string_view rest() { return text(left_.size()); }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

}  // namespace bloomery::fuzz
