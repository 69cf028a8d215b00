// XXH3 of bytes, as libxxhash computes it, but without its header: inlined, that one would bring
// 7,000 lines and macros which change how the including program itself uses libxxhash.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/hash/mulhi.hpp>

namespace bloomery::inline v0::detail {

// Pure: a loop that adds keys keeps what it knows of the set in registers across the call.
[[gnu::pure]] std::uint64_t xxh3_64(const void* bytes, std::size_t length,
                                    std::uint64_t seed) noexcept;
[[gnu::pure]] TwoWords xxh3_128(const void* bytes, std::size_t length, std::uint64_t seed) noexcept;

// GCC 12 otherwise stores the two words one by one and loads them as one vector. Such a load waits
// until both stores have left the store buffer, behind the cache miss of the key before: looking up
// keys one by one in a hash-set took up to twice as long.
inline void keep_in_registers([[maybe_unused]] TwoWords& both) {
#if __SIZEOF_POINTER__ == 8
  asm("" : "+r"(both.high), "+r"(both.low));
#endif
}

}  // namespace bloomery::inline v0::detail
