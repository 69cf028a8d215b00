// Inlined here, so that a short key costs one call and not three.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bloomery/detail/hash/xxh3.hpp>

namespace bloomery::inline v0::detail {

std::uint64_t xxh3_64(const void* bytes, std::size_t length, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes, length, seed);
}

TwoWords xxh3_128(const void* bytes, std::size_t length, std::uint64_t seed) noexcept {
  const XXH128_hash_t both = XXH3_128bits_withSeed(bytes, length, seed);
  return {both.high64, both.low64};
}

}  // namespace bloomery::inline v0::detail
