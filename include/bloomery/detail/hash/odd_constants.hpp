// The odd multipliers that every image depends on. Never change one.
//
// Plain arrays in a header without templates, so that the kernel files may read them too.
#pragma once

#include <cstdint>

namespace bloomery::inline v0::detail {

// One per independent use of a hash. The first is the nearest odd number to 2^64 / golden ratio;
// the others are the fractions of the square roots of 2 to 19, as in SHA-512, made odd.
inline constexpr std::uint64_t remix_constants[] = {
    0x9e37'79b9'7f4a'7c15,  // first line, probes 0 to 7
    0x6a09'e667'f3bc'c909,  // first line, probes 8 to 15
    0xbb67'ae85'84ca'a73b,  // second line, which block
    0x3c6e'f372'fe94'f82b,  // second line, probes 0 to 7
    0xa54f'f53a'5f1d'36f1,  // second line, probes 8 to 15
    0x510e'527f'ade6'82d1,  // classic: from one probe to the next
    0x9b05'688c'2b3e'6c1f,  // ribbon: coefficients
    0x1f83'd9ab'fb41'bd6b,  // ribbon: fingerprint
    0x5be0'cd19'137e'2179,  // ribbon: from one layer to the next
};

// The law of fuse (fuse.hpp): the fractions of the square roots of 13, 29 and 31, as in
// SHA-512 and SHA-384.
inline constexpr std::uint64_t fuse_constants[] = {0x9b05'688c'2b3e'6c1f, 0x629a'292a'367c'd507,
                                                   0x9159'015a'3070'dd17};

// Parquet's salts, one per 32-bit word of a split block: see its BloomFilter.md.
inline constexpr std::uint32_t split_salts[] = {0x47b6'137b, 0x4497'4d91, 0x8824'ad5b, 0xa2b7'289d,
                                                0x7054'95c7, 0x2df1'424b, 0x9efc'4947, 0x5c6b'fb31};

}  // namespace bloomery::inline v0::detail
