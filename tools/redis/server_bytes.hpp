// Zeroed bytes from the allocator of whoever hosts us: the heap, or Redis, which counts them.
//
// A size that came from outside may be absurd, so there is no way to get bytes that ends the
// server: make() says no.
// Threads: host() is set once, before the first make(); values are as safe as plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace bloomery::redis {

// Who lends the bytes. The first two give null when there are none.
struct Host {
  void* (*take)(std::size_t) = std::malloc;
  void* (*take_zeroed)(std::size_t) = [](std::size_t bytes) { return std::calloc(1, bytes); };
  void (*give_back)(void*) = std::free;
};

inline Host& host() {
  static Host chosen;
  return chosen;
}

class ServerBytes {
 public:
  ServerBytes() = default;
  ServerBytes(ServerBytes&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ServerBytes& operator=(ServerBytes&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ServerBytes() {
    if (start_ != nullptr) host().give_back(start_);
  }

  // Nothing when the host has not that many.
  static std::optional<ServerBytes> make(std::uint64_t size) {
    if (size == 0 || size > SIZE_MAX / 2) return std::nullopt;
    ServerBytes bytes;
    bytes.size_ = static_cast<std::size_t>(size);
    bytes.start_ = static_cast<std::uint8_t*>(host().take_zeroed(bytes.size_));
    if (bytes.start_ == nullptr) return std::nullopt;
    return bytes;
  }

  static std::optional<ServerBytes> copy_of(const ServerBytes& other) {
    ServerBytes bytes;
    bytes.size_ = other.size_;
    bytes.start_ = static_cast<std::uint8_t*>(host().take(other.size_));
    if (bytes.start_ == nullptr) return std::nullopt;
    std::memcpy(bytes.start_, other.start_, other.size_);
    return bytes;
  }

  // Bytes that the host lent already, such as a string it has loaded.
  static ServerBytes adopt(void* start, std::size_t size) {
    ServerBytes bytes;
    bytes.start_ = static_cast<std::uint8_t*>(start);
    bytes.size_ = size;
    return bytes;
  }

  std::uint8_t* data() { return start_; }
  const std::uint8_t* data() const { return start_; }
  std::size_t size() const { return size_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(start_), size_}; }

 private:
  std::uint8_t* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bloomery::redis
