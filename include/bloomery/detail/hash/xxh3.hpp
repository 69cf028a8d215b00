// XXH3 of bytes, as libxxhash computes it, but without its header: inlined, that one would bring
// 7,000 lines and macros which change how the including program itself uses libxxhash.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bloomery::inline v0::detail {

struct TwoWords {
  std::uint64_t high;
  std::uint64_t low;
};

std::uint64_t xxh3_64(const void* bytes, std::size_t length, std::uint64_t seed);
TwoWords xxh3_128(const void* bytes, std::size_t length, std::uint64_t seed);

}  // namespace bloomery::inline v0::detail
