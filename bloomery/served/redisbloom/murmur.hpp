// MurmurHash64A, the hash under the filters of RedisBloom: eight bytes at a time, little-endian.
//
//    each word:   k *= m;  k ^= k >> 47;  k *= m;  h = (h ^ k) * m
//    the rest:    h = (h ^ rest) * m
//    at the end:  h ^= h >> 47;  h *= m;  h ^= h >> 47
//
// Limits:  made for speed; people who choose keys can make them collide. For reading and writing
//          what RedisBloom wrote, and for nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bloomery::inline v0::detail::served {

inline constexpr std::uint64_t murmur_multiplier = 0xc6a4'a793'5bd1'e995;

inline std::uint64_t murmur_64a(std::string_view key, std::uint64_t seed) {
  constexpr std::uint64_t m = murmur_multiplier;
  std::uint64_t h = seed ^ (key.size() * m);
  std::size_t at = 0;
  for (; at + 8 <= key.size(); at += 8) {
    std::uint64_t k;
    std::memcpy(&k, key.data() + at, 8);
    k *= m;
    k ^= k >> 47;
    k *= m;
    h = (h ^ k) * m;
  }
  if (at < key.size()) {
    std::uint64_t rest = 0;
    std::memcpy(&rest, key.data() + at, key.size() - at);
    h = (h ^ rest) * m;
  }
  h ^= h >> 47;
  h *= m;
  return h ^ (h >> 47);
}

}  // namespace bloomery::inline v0::detail::served
