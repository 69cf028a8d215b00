// The high word of a product, and both words of one.
#pragma once

#include <cstdint>

namespace bloomery::inline v0::detail {

// The high word of a * b: where in [0, b) the fraction a / 2^64 falls.
constexpr std::uint64_t mulhi(std::uint64_t a, std::uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#else
  // Where the CPU has 32 bits: the products of the halves, with their carries.
  constexpr std::uint64_t low = 0xffff'ffff;
  const std::uint64_t first = (a >> 32) * (b & low) + ((a & low) * (b & low) >> 32);
  const std::uint64_t second = (a & low) * (b >> 32) + (first & low);
  return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
#endif
}

struct TwoWords {
  std::uint64_t high;
  std::uint64_t low;
};

// One multiplication where the CPU has it; from mulhi and a * b, GCC makes two or three.
constexpr TwoWords product_of(std::uint64_t a, std::uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#else
  return {mulhi(a, b), a * b};
#endif
}

}  // namespace bloomery::inline v0::detail
