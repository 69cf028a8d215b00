// An image without what follows from the rest: padding, places of regions, checksums. Mutated as
// few bytes, then put together again so that it is refused for nothing but what was mutated.
//
//    0     what is done to it     u8, the flags below
//    1     a byte, and where      u8, u32: put into the file before or after the sums are made
//    6     superblock             its first 144 bytes
//    150   directory              u16 length, then its bytes
//    ...   payloads               one behind the other; zeros where bytes are missing
//
// tests/fuzz/condense.py makes such inputs of files. Offsets are copied from docs/format.md.
// Limits:  a payload of more than 64 KiB is not laid out; what it says of itself stays.
// Threads: a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/hash/xxh3.hpp>

#include <tests/fuzz/byte_feed.hpp>

namespace bloomery::fuzz {

class CondensedImage {
 public:
  enum Flag : std::uint8_t {
    keep_places = 1,    // regions are where the superblock says, not where they must be
    keep_payloads = 2,  // payloads are where the directory says
    poke_before = 4,    // the byte is put in, then the sums are made
    poke_after = 8,     // the other way round
    cut = 16,           // the file ends before that byte
    give_key = 32,      // a secret key from elsewhere
    header_only = 64,   // payloads are not verified
    as_stream = 128,
  };

  CondensedImage(const std::uint8_t* data, std::size_t size) {
    ByteFeed feed(data, size);
    flags_ = feed.byte();
    byte_ = static_cast<char>(feed.byte());
    place_ = feed.number<std::uint32_t>();
    block_ = feed.text(block_bytes);
    directory_ = feed.text(feed.number<std::uint16_t>());
    payloads_ = feed.rest();
  }

  bool asks_for(Flag flag) const { return (flags_ & flag) != 0; }

  std::string whole() const {
    std::string file(slots_bytes, '\0');
    std::memcpy(file.data(), block_.data(), block_.size());
    file += directory_;
    align(file);
    const std::size_t table = file.size();
    std::vector<Region> payloads = find_payloads();
    std::size_t chunks = 0;
    for (const Region& payload : payloads)
      chunks += (payload.length + chunk_bytes - 1) / chunk_bytes;
    file.resize(table + 8 * chunks);
    std::string_view left = payloads_;
    for (Region& payload : payloads) {
      align(file);
      payload.offset = file.size();
      const std::string_view there = left.substr(0, payload.length);
      left.remove_prefix(there.size());
      file += there;
      file.resize(payload.offset + payload.length);
    }
    align(file);
    place(file, payloads, {table, 8 * chunks});
    seal(file, payloads, {table, 8 * chunks});
    return file;
  }

 private:
  struct Region {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  static constexpr std::size_t block_bytes = 144;
  static constexpr std::size_t slot_bytes = 4096;
  static constexpr std::size_t slots_bytes = 2 * slot_bytes;
  static constexpr std::size_t chunk_bytes = 65536;
  static constexpr std::size_t first_record = slots_bytes + 32;
  static constexpr std::size_t record_bytes = 256;
  static constexpr std::size_t most_payload_bytes = 65536;

  static void align(std::string& file) { file.resize((file.size() + 4095) / 4096 * 4096); }
  static void put(std::string& file, std::size_t at, std::uint64_t word) {
    if (at + sizeof word <= file.size()) std::memcpy(file.data() + at, &word, sizeof word);
  }
  static std::uint64_t get(std::string_view bytes, std::size_t at) {
    std::uint64_t word = 0;
    if (at + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
  }

  // As long as the records say, of as many as there are.
  std::vector<Region> find_payloads() const {
    std::vector<Region> payloads;
    std::uint32_t records = 0;
    if (directory_.size() >= 8) std::memcpy(&records, directory_.data() + 4, sizeof records);
    for (std::size_t i = 0; i < records && 32 + (i + 1) * record_bytes <= directory_.size(); ++i) {
      const std::uint64_t length = get(directory_, 32 + i * record_bytes + 80);
      payloads.push_back({0, length <= most_payload_bytes ? length : 0});
    }
    return payloads;
  }

  void place(std::string& file, const std::vector<Region>& payloads, Region table) const {
    for (std::size_t i = 0; i < payloads.size() && !asks_for(keep_payloads); ++i)
      put(file, first_record + i * record_bytes + 72, payloads[i].offset);
    if (asks_for(keep_places)) return;
    put(file, 56, file.size());
    put(file, 88, slots_bytes);
    put(file, 96, directory_.size());
    put(file, 112, table.offset);
    put(file, 120, table.length);
  }

  std::size_t place_in(const std::string& file) const { return place_ % file.size(); }

  // Sums of chunks, of the table, of the directory, and of both superblocks, which are equal.
  void seal(std::string& file, const std::vector<Region>& payloads, Region table) const {
    if (asks_for(poke_before)) file[place_in(file)] = byte_;
    std::uint64_t chunk = 0;
    for (const Region& payload : payloads)
      for (std::uint64_t at = 0; at < payload.length; at += chunk_bytes, ++chunk) {
        const auto length = std::min<std::uint64_t>(chunk_bytes, payload.length - at);
        const std::uint64_t seed = get(file, 48) ^ chunk;
        put(file, table.offset + 8 * chunk, sum(file, payload.offset + at, length, seed));
      }
    put(file, 104, sum(file, slots_bytes, directory_.size(), 0));
    put(file, 128, sum(file, table.offset, table.length, 0));
    std::memcpy(file.data() + slot_bytes, file.data(), slot_bytes - 8);
    put(file, slot_bytes - 8, sum(file, 0, slot_bytes - 8, 0));
    put(file, slots_bytes - 8, sum(file, slot_bytes, slot_bytes - 8, 1));
    if (asks_for(poke_after)) file[place_in(file)] = byte_;
    if (asks_for(cut)) file.resize(place_in(file));
  }

  static std::uint64_t sum(std::string_view file, std::size_t at, std::size_t length,
                           std::uint64_t seed) {
    return detail::xxh3_64(file.data() + at, length, seed);
  }

  std::uint8_t flags_ = 0;
  char byte_ = 0;
  std::uint32_t place_ = 0;
  std::string_view block_;
  std::string_view directory_;
  std::string_view payloads_;
};

}  // namespace bloomery::fuzz
