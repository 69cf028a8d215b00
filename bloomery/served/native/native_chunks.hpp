// A native set as chunks of bytes: what dumps, RDB files and replicas carry.
//
//    chunk    magic "BLMRYset" | what: u8 | version: u8 | 6 zero bytes | body | XXH3-64 of all that
//    what     1 head of a bloom set, 2 of a cuckoo set, 3 bits, 4 shards
//
// Little-endian, no longer than most_chunk_bytes. Every chunk stands for itself; the checksum shows
// accidental damage, and readers check everything as if an attacker had made it.
// Threads: values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail::served {

inline constexpr std::size_t most_chunk_bytes = std::size_t{1} << 20;
// A set from outside is not larger, whatever its head says.
inline constexpr std::uint64_t most_loaded_bytes = std::uint64_t{1} << 36;

enum class ChunkKind : std::uint8_t { bloom = 1, cuckoo = 2, bits = 3, shards = 4 };

class ChunkWriter {
 public:
  explicit ChunkWriter(ChunkKind kind);
  void put(std::uint64_t word) { bytes_.append(reinterpret_cast<const char*>(&word), sizeof word); }
  void put_real(double number) { put(std::bit_cast<std::uint64_t>(number)); }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void put_hasher(const Hasher& hasher);
  std::size_t size() const { return bytes_.size(); }
  // With the sum.
  std::string finish() &&;

 private:
  std::string bytes_;
};

class ChunkReader {
 public:
  // Checks all but the body.
  static Result<ChunkReader> open(std::string_view chunk);

  ChunkKind kind() const { return kind_; }
  std::size_t left() const { return body_.size(); }
  // Past the end they return 0, and ended_well() stays false.
  std::uint64_t word();
  double real() { return std::bit_cast<double>(word()); }
  // Lent by the chunk; none, past the end.
  std::span<const std::byte> bytes(std::uint64_t length);
  Result<Hasher> hasher();
  // Exactly the whole body was read.
  bool ended_well() const { return sound_ && body_.empty(); }

 private:
  ChunkReader(ChunkKind kind, std::string_view body) : kind_(kind), body_(body) {}

  ChunkKind kind_;
  std::string_view body_;
  bool sound_ = true;
};

Error damaged_chunk(const char* what);

}  // namespace bloomery::inline v0::detail::served
