// Numbers in packed little-endian headers, written and read one after the other.
//
// A reader that has run past the end gives zeros and says so in whole(): one test after the last
// field instead of one after each.
// Limits:  the CPU is little-endian, as for the whole library.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace bloomery::inline v0::detail::served {

template <class T>
void write_packed(std::string& out, T number) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T read() {
    static_assert(std::is_arithmetic_v<T>);
    T number{};
    if (left_.size() < sizeof(T)) {
      short_ = true;
      left_ = {};
      return number;
    }
    std::memcpy(&number, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return number;
  }

  // Was every field there?
  bool whole() const { return !short_; }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool short_ = false;
};

}  // namespace bloomery::inline v0::detail::served
