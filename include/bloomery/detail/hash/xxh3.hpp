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

// Pure: a loop that adds keys keeps what it knows of the set in registers across the call.
[[gnu::pure]] std::uint64_t xxh3_64(const void* bytes, std::size_t length,
                                    std::uint64_t seed) noexcept;
[[gnu::pure]] TwoWords xxh3_128(const void* bytes, std::size_t length, std::uint64_t seed) noexcept;

}  // namespace bloomery::inline v0::detail
