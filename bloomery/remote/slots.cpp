#include <bloomery/redis/slots.hpp>

#include <array>
#include <cassert>
#include <string>
#include <vector>

namespace bloomery::inline v0 {
namespace {

// Most significant bit first, polynomial x^16 + x^12 + x^5 + 1, begins with 0.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t crc16(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char c : bytes)
    crc = static_cast<std::uint16_t>((crc << 8) ^
                                     crc_table[(crc >> 8) ^ static_cast<unsigned char>(c)]);
  return crc;
}

std::vector<std::string> make_tags() {
  std::vector<std::string> tags(cluster_slots);
  unsigned missing = cluster_slots;
  for (unsigned number = 0; missing > 0; ++number) {
    std::string text = std::to_string(number);
    std::string& tag = tags[crc16(text) % cluster_slots];
    if (!tag.empty()) continue;
    tag = std::move(text);
    --missing;
  }
  return tags;
}

}  // namespace

unsigned slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % cluster_slots;
}

std::string_view tag_of_slot(unsigned slot) {
  assert(slot < cluster_slots && "a cluster has 16384 slots");
  static const std::vector<std::string> tags = make_tags();
  return tags[slot];
}

}  // namespace bloomery::inline v0
