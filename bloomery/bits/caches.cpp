#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include <bloomery/detail/bits/caches.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t middling_second = std::uint64_t{1} << 20;
constexpr std::uint64_t middling_shared = std::uint64_t{32} << 20;

}  // namespace

// Not sysconf, which on virtual machines has told ten times as much as there is.
Caches caches_told_in(const std::string& directory) {
  Caches caches;
#ifndef __wasi__  // has no such files, and no std::ifstream
  unsigned last = 2;
  for (unsigned index = 0; index < 8; ++index) {
    const std::string place = directory + "/index" + std::to_string(index) + "/";
    unsigned level = 0;
    std::uint64_t kibibytes = 0;
    std::ifstream(place + "level") >> level;
    std::ifstream(place + "size") >> kibibytes;  // "1024K"
    if (level == 2) caches.second = kibibytes * 1024;
    if (level > last) {
      last = level;
      caches.shared = kibibytes * 1024;
    }
  }
#else
  static_cast<void>(directory);
#endif
  // Cores that share their second level have no third: Apple's, some of ARM's.
  if (caches.shared == 0) caches.shared = caches.second;
  return caches;
}

const Caches& caches() {
  static const Caches found = [] {
    Caches told = caches_told_in("/sys/devices/system/cpu/cpu0/cache");
    if (told.second == 0) told.second = middling_second;
    if (told.shared == 0) told.shared = std::max(middling_shared, told.second);
    return told;
  }();
  return found;
}

}  // namespace bloomery::inline v0::detail
