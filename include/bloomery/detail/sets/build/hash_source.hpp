// The hashes of all keys of a build: stored, or computed again on each pass over the keys, so that
// a build from texts or integers needs no array of hashes.
//
// Limits:  borrows the keys.
// Threads: any number may go through one.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <span>

#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class HashSource {
 public:
  template <std::convertible_to<std::span<const Hash>> Hashes>
  HashSource(const Hashes& hashes) : size_(hashes.size()), ready_(hashes.data()) {}
  // The source (key_source.hpp) is copied; what it borrows is not.
  template <KeySource<Hash> Source>
  explicit HashSource(const Source& source) : size_(source.size()) {
    if constexpr (requires { source.inputs(); })
      ready_ = source.inputs();
    else
      make_ = [source](std::size_t first, std::size_t n, Hash* out) { source.make(first, n, out); };
  }

  std::size_t size() const { return size_; }

  // Calls visit(hash) for the keys [first, end) in order.
  template <class Visit>
  void for_each(std::size_t first, std::size_t end, Visit&& visit) const {
    if (!make_) {
      for (const Hash hash : std::span(ready_ + first, end - first)) visit(hash);
      return;
    }
    std::array<Hash, 256> room;
    for (; first < end; first += room.size()) {
      const std::size_t n = std::min(room.size(), end - first);
      make_(first, n, room.data());
      for (std::size_t i = 0; i < n; ++i) visit(room[i]);
    }
  }

 private:
  std::size_t size_;
  const Hash* ready_ = nullptr;
  std::function<void(std::size_t, std::size_t, Hash*)> make_;
};

}  // namespace bloomery::inline v0::detail
