// Which bits of a Hash pay for what. Drawn once, here, so that no two choices share a bit.
//
//    hash           63 .................................................. 0
//    shard, block   |<-- top log2(shards) + log2(blocks) bits            |   mulhi(hash, n)
//    probes         |  of hash * odd: the top 51 bits                    |   remix(hash, i)
//
// A block is chosen by multiply-high, never by modulo: any count works, none is rounded to a power
// of two, and neighbours fold (mulhi(h, n/2) = mulhi(h, n) / 2). Probes come from the high bits of
// the hash times an odd constant, which every bit of the hash reaches; never from the low half of
// the product that chose the block, whose low bits are zero when the count is a power of two.
// Limits:  64 - log2(blocks) bits are left to tell keys of one block apart; enough_bits() is the
//          check that plans make.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/detail/hash/mulhi.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

// The hash seen through one of the remix_constants; each use has its own.
constexpr std::uint64_t remix(Hash hash, std::size_t use) {
  return hash.bits * remix_constants[use];
}

// Are enough bits left, once a block is chosen, to hold the rate? Seven bits of reserve: then
// full collisions add less than 1 % to the rate.
inline bool enough_bits(std::uint64_t blocks, double keys_per_block, double rate) {
  const double left = 64.0 - real::log2(static_cast<double>(blocks));
  return left >= -real::log2(rate) + real::log2(keys_per_block + 1.0) + 7.0;
}

}  // namespace bloomery::inline v0::detail
