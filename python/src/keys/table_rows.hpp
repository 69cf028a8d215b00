// Keys that lie side by side in memory, as spans of the three forms.
//
//    InPlace        64-bit integers in the byte order of the machine, taken where they lie
//    Widened<T>     narrower integers, some thousand at a time
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "keys/key_column.hpp"

namespace bloomery::python {

// Some rows of a table; the owner of the memory outlives it.
class Rows {
 public:
  virtual ~Rows() = default;
  // Rows [first, first + n), n <= ready_keys unless the rows are taken where they lie.
  virtual KeySpan take(std::size_t first, std::size_t n) = 0;
  virtual bool in_place() const { return false; }
};

template <class T>
class IntegerRows final : public Rows {
 public:
  explicit IntegerRows(const void* at) : at_(static_cast<const T*>(at)) {}

  bool in_place() const override { return sizeof(T) == 8; }
  KeySpan take(std::size_t first, std::size_t n) override {
    if constexpr (sizeof(T) == 8) {
      return std::span<const Wide>(reinterpret_cast<const Wide*>(at_) + first, n);
    } else {
      wide_.resize(ready_keys);
      for (std::size_t i = 0; i < n; ++i) wide_[i] = at_[first + i];
      return std::span<const Wide>(wide_.data(), n);
    }
  }

 private:
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  const T* at_;
  std::vector<Wide> wide_;
};

// Rows of a fixed number of bytes. numpy pads shorter ones with zero bytes, which are not theirs.
class ByteRows final : public Rows {
 public:
  ByteRows(const void* at, std::size_t width, bool padded)
      : at_(static_cast<const char*>(at)), width_(width), padded_(padded) {}

  KeySpan take(std::size_t first, std::size_t n) override {
    texts_.resize(ready_keys);
    for (std::size_t i = 0; i < n; ++i) {
      const char* row = at_ + (first + i) * width_;
      std::size_t length = width_;
      if (padded_)
        while (length > 0 && row[length - 1] == 0) --length;
      texts_[i] = {row, length};
    }
    return Texts(texts_.data(), n);
  }

 private:
  const char* at_;
  std::size_t width_;
  bool padded_;
  std::vector<std::string_view> texts_;
};

// The rows for integers of this width; nullptr: there are none.
inline std::unique_ptr<Rows> integer_rows(const void* at, std::size_t bytes, bool is_signed) {
  switch (bytes * 2 + (is_signed ? 1 : 0)) {
    case 2: return std::make_unique<IntegerRows<std::uint8_t>>(at);
    case 3: return std::make_unique<IntegerRows<std::int8_t>>(at);
    case 4: return std::make_unique<IntegerRows<std::uint16_t>>(at);
    case 5: return std::make_unique<IntegerRows<std::int16_t>>(at);
    case 8: return std::make_unique<IntegerRows<std::uint32_t>>(at);
    case 9: return std::make_unique<IntegerRows<std::int32_t>>(at);
    case 16: return std::make_unique<IntegerRows<std::uint64_t>>(at);
    case 17: return std::make_unique<IntegerRows<std::int64_t>>(at);
    default: return nullptr;
  }
}

}  // namespace bloomery::python
