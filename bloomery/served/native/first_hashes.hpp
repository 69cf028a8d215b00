// The hashes of the first few keys of a set, in the order in which they came.
//
// A new native set is only this list: it takes 8 bytes a key, and nothing is allocated for what was
// reserved. When the list is full the set lays out its tables or bits and adds the hashes to them
// in this order, so that a replica and a reloaded set come to the same bytes.
// Invariant: room for bit_ceil(size) hashes, whatever was added and removed before, so that equal
//            lists take equal memory.
// Threads:   any number may ask, or one may change it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <bloomery/hash.hpp>
#include <bloomery/served/host_bytes.hpp>
#include <bloomery/served/mover.hpp>
#include <bloomery/served/native/native_chunks.hpp>

namespace bloomery::inline v0::detail::served {

class FirstHashes {
 public:
  std::span<const std::uint64_t> all() const {
    return {reinterpret_cast<const std::uint64_t*>(bytes_.data()), size_};
  }
  std::size_t size() const { return size_; }
  std::uint64_t bytes() const { return bytes_.size(); }
  bool contains(Hash hash) const { return std::ranges::find(all(), hash.bits) != all().end(); }
  std::uint64_t count(Hash hash) const {
    return static_cast<std::uint64_t>(std::ranges::count(all(), hash.bits));
  }

  // False: there is not enough memory, and nothing has changed.
  bool add(Hash hash) {
    if (!has_room_for(size_ + 1)) return false;
    std::memcpy(bytes_.data() + size_ * sizeof hash.bits, &hash.bits, sizeof hash.bits);
    ++size_;
    return true;
  }
  // The last copy. False if the set has no copy.
  bool remove(Hash hash) {
    const auto hashes = all();
    const auto found = std::find(hashes.rbegin(), hashes.rend(), hash.bits);
    if (found == hashes.rend()) return false;
    const auto at = static_cast<std::size_t>(hashes.rend() - found) - 1;
    std::uint8_t* const place = bytes_.data() + at * sizeof hash.bits;
    std::memmove(place, place + sizeof hash.bits, (size_ - at - 1) * sizeof hash.bits);
    --size_;
    // Without memory for a smaller room it stays in the larger one.
    static_cast<void>(has_room_for(size_));
    return true;
  }

  std::optional<FirstHashes> clone() const {
    FirstHashes twin;
    for (const std::uint64_t hash : all())
      if (!twin.add({hash})) return std::nullopt;
    return twin;
  }

  void move(const Mover& mover) { mover.bytes(bytes_); }

  void write(ChunkWriter& writer) const {
    writer.put(size_);
    writer.put_bytes(std::as_bytes(all()));
  }
  // What write() wrote, no more than `most`.
  static Result<FirstHashes> read(ChunkReader& reader, std::size_t most) {
    const std::uint64_t count = reader.word();
    if (count > most || reader.left() != count * sizeof(std::uint64_t))
      return damaged_chunk("it lists hashes that are not there");
    FirstHashes hashes;
    for (std::uint64_t i = 0; i < count; ++i)
      if (!hashes.add({reader.word()}))
        return Error{Code::no_memory, "there is not enough memory for it"};
    return hashes;
  }

 private:
  bool has_room_for(std::size_t hashes) {
    const std::size_t wanted = hashes == 0 ? 0 : std::bit_ceil(hashes) * sizeof(std::uint64_t);
    if (wanted == bytes_.size()) return true;
    if (wanted == 0) {
      bytes_ = HostBytes{};
      return true;
    }
    auto moved = HostBytes::make(wanted);
    if (!moved) return false;
    if (size_ != 0)
      std::memcpy(moved->data(), bytes_.data(), std::min(wanted, size_ * sizeof(std::uint64_t)));
    bytes_ = std::move(*moved);
    return true;
  }

  HostBytes bytes_;
  std::size_t size_ = 0;
};

}  // namespace bloomery::inline v0::detail::served
