// XXH3 as the shared library computes it. Our own code inlines the header; these are calls into
// libxxhash, from a file that never sees the inlined one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/error.hpp>

namespace bloomery::detail {

struct LinkedWide {
  std::uint64_t high;
  std::uint64_t low;
};

std::uint64_t linked_xxh3(const void* bytes, std::size_t length, std::uint64_t seed);
LinkedWide linked_xxh3_wide(const void* bytes, std::size_t length, std::uint64_t seed);

}  // namespace bloomery::detail
