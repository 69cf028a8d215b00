// Zeroed bytes from the allocator of whoever hosts us: the heap, or Redis, which counts them.
//
// Bytes may be promised first: they have a size and are all zero, and take no memory until
// somebody wants to write to them.
// A size that came from outside may be absurd, so no way to get bytes ends the program: make()
// returns nothing.
// Threads: host() is set once, before the first make(); values are as safe as plain memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace bloomery::inline v0::detail::served {

// The allocator. The first two return nullptr when there is no memory.
struct Host {
  void* (*take)(std::size_t) = std::malloc;
  void* (*take_zeroed)(std::size_t) = [](std::size_t bytes) { return std::calloc(1, bytes); };
  void (*give_back)(void*) = std::free;
  // Most pages of these bytes have been written to, and they are read at random.
  void (*is_dense)(const void*, std::size_t) = [](const void*, std::size_t) {};
};

inline Host& host() {
  static Host chosen;
  return chosen;
}

// Objects of such a class lie in bytes of the host, which counts them.
struct InHostMemory {
  static void* operator new(std::size_t bytes) {
    if (void* const start = host().take(bytes)) return start;
    throw std::bad_alloc();
  }
  static void operator delete(void* start) { host().give_back(start); }
};

class HostBytes {
 public:
  HostBytes() = default;
  HostBytes(HostBytes&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HostBytes& operator=(HostBytes&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HostBytes() {
    if (start_ != nullptr) host().give_back(start_);
  }

  // Nothing when the host does not have that many.
  static std::optional<HostBytes> make(std::uint64_t size) {
    if (size == 0 || size > SIZE_MAX / 2) return std::nullopt;
    HostBytes bytes;
    bytes.size_ = static_cast<std::size_t>(size);
    bytes.start_ = static_cast<std::uint8_t*>(host().take_zeroed(bytes.size_));
    if (bytes.start_ == nullptr) return std::nullopt;
    return bytes;
  }

  static std::optional<HostBytes> copy_of(const HostBytes& other) {
    if (!other.is_taken()) return promised(other.size_);
    HostBytes bytes;
    bytes.size_ = other.size_;
    bytes.start_ = static_cast<std::uint8_t*>(host().take(other.size_));
    if (bytes.start_ == nullptr) return std::nullopt;
    std::memcpy(bytes.start_, other.start_, other.size_);
    return bytes;
  }

  // No memory is taken before is_taken().
  static HostBytes promised(std::uint64_t size) {
    HostBytes bytes;
    bytes.size_ = static_cast<std::size_t>(size);
    return bytes;
  }
  // Is there memory behind them? Else they are only promised, and data() is nullptr.
  bool is_taken() const { return start_ != nullptr; }
  // Takes the memory of promised bytes; false when the host does not have that many.
  bool take() {
    if (is_taken()) return true;
    auto taken = make(size_);
    if (taken) *this = std::move(*taken);
    return is_taken();
  }
  bool is_zero() const {
    return !is_taken() || size_ == 0 ||
           (start_[0] == 0 && std::memcmp(start_, start_ + 1, size_ - 1) == 0);
  }
  // Writes into bytes that may be promised. False without memory.
  bool put(std::uint64_t offset, std::string_view from) {
    const bool zeros = from.find_first_not_of('\0') == from.npos;
    if (!is_taken() && zeros) return true;
    if (!take()) return false;
    if (!from.empty()) std::memcpy(start_ + offset, from.data(), from.size());
    return true;
  }
  // At most most_piece_bytes of them.
  static constexpr std::size_t most_piece_bytes = std::size_t{16} << 20;
  std::string_view piece(std::uint64_t offset, std::uint64_t length) const {
    static char zeros[most_piece_bytes];  // never written, so that it takes no memory
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(length, most_piece_bytes));
    return {is_taken() ? reinterpret_cast<const char*>(start_) + offset : zeros, bytes};
  }
  // move(block) returns the new place of the block, whose bytes it has copied, or nullptr.
  template <class Move>
  void relocate(Move&& move) {
    if (start_ == nullptr) return;
    if (void* const place = move(start_)) start_ = static_cast<std::uint8_t*>(place);
  }
  std::uint64_t memory_bytes() const { return is_taken() ? size_ : 0; }

  // Bytes that the host lent already, such as a string it has loaded.
  static HostBytes adopt(void* start, std::size_t size) {
    HostBytes bytes;
    bytes.start_ = static_cast<std::uint8_t*>(start);
    bytes.size_ = size;
    return bytes;
  }

  // Bytes that are all zero take no memory.
  friend HostBytes promised_if_zero(HostBytes bytes) {
    return bytes.is_zero() ? promised(bytes.size_) : std::move(bytes);
  }

  std::uint8_t* data() { return start_; }
  const std::uint8_t* data() const { return start_; }
  std::size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(start_), size_}; }

 private:
  std::uint8_t* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bloomery::inline v0::detail::served
