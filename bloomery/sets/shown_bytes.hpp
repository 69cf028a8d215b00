// Sizes for sentences: 5648896 as "5.39 MiB".
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace bloomery::inline v0::detail {

inline std::string shown_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1023.995 && unit + 1 < units.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", size, units[unit]);
  return text.data();
}

}  // namespace bloomery::inline v0::detail
