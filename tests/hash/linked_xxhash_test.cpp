// Calls the shared libxxhash; the library inlines its header (bloomery/hash/xxh3.cpp).
#include <gtest/gtest.h>
#include <xxhash.h>

#include <tests/hash/linked_xxhash.hpp>

#ifdef XXH_INLINE_ALL
#error "this file must call the shared library"
#endif

namespace bloomery::detail {

std::uint64_t linked_xxh3(const void* bytes, std::size_t length, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, length, seed);
}

LinkedWide linked_xxh3_wide(const void* bytes, std::size_t length, std::uint64_t seed) {
  const XXH128_hash_t both = XXH3_128bits_withSeed(bytes, length, seed);
  return {both.high64, both.low64};
}

namespace {

TEST(LinkedXxhash, IsOfAVersionWhoseXxh3IsFrozen) { EXPECT_GE(XXH_versionNumber(), 800U); }

}  // namespace
}  // namespace bloomery::detail
