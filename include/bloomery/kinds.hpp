// Every kind of set there is: what K may be in Set<K>.
//
//    Bitmap         integers in a range, exact, sorted output               1 bit an integer
//    TwoBitMap      integers: never, once or more often                     2 bits an integer
//    BlockedBloom   any keys, a known number, speed                         9.95 bits a key at 1 %
//    ClassicBloom   the same, every bit counts, k cache misses              9.59
//    SplitBlock     blocks with the bits of Parquet, Arrow and Impala       10.5
//    CountingBloom  keys that are removed again                             38.3
//    SpectralBloom  how often did each key come?                            8 to 32 times classic
//    Cuckoo         keys that are removed again, small                      10.5
//    WindowBloom    the last n keys of a stream, or the last hours          23.1
//    BinaryFuse     all keys known beforehand                               8.0
//    Ribbon         the same, every bit counts                              6.75
//    Sharded        blocked, in many small pieces with one owner each       9.95
//    BloomChain     grows by adding filters; a good guess at the number     see docs/kinds.md
//    Scalable       grows; nobody knows how many keys                       14.7 to 19.5
//    Compact        grows; a rate of n / 2^64                               60 to 90
//    HashSet        grows; keeps 128-bit hashes: no wrong answer            151 to 201
//    Cascade        a block list and an allow list, no error on either      blocked and a list
//
// Prefer BlockedBloom where the number of keys is known, Scalable where it is not, HashSet where no
// answer may be wrong, Bitmap for integers of a range; docs/kinds.md has the others.
//
// Example:
//    #include <bloomery/set.hpp>
//    Set<BlockedBloom> seen({.keys = 10'000'000, .rate = 0.01});
//    Set<Scalable> growing({.rate = 0.01});        // no number of keys
//    Set<HashSet> exact({});                       // neither number nor rate
//    Set<Bitmap> taken({.range = {0, 9'999'999}});
//    const auto listed = Set<Ribbon>::build({.rate = 0.001}, urls);  // all keys at once
//    if (!listed) return listed.error();
//    if (exact.contains(url)) crawl(url);          // only exact kinds have contains
//    for (const std::uint64_t number : taken) crawl(std::to_string(number));
//
// Contract: a kind is arithmetic on bytes that Set lends it; use it through Set or AnySet. Its law
// and its limits are in the header named beside it below; docs/kinds.md says which to take.
// Errors:   what a kind cannot do does not compile (Set), or is an Error (AnySet).
// Limits:   in the header of each kind.
// Threads:  docs/library.md has one table of what may run beside what.
#pragma once

#include <bloomery/detail/sets/kinds.hpp>

namespace bloomery::inline v0 {

using detail::BinaryFuse;      // binary_fuse.hpp
using detail::Bitmap;          // bitmap.hpp
using detail::BlockedBloom;    // blocked_bloom.hpp
using detail::BloomChain;      // bloom_chain.hpp
using detail::Cascade;         // cascade.hpp
using detail::CascadeBuilder;  // cascade_builder.hpp
using detail::ClassicBloom;    // classic_bloom.hpp
using detail::Compact;         // compact.hpp
using detail::CountingBloom;   // counting_bloom.hpp
using detail::Cuckoo;          // cuckoo.hpp
using detail::HashSet;         // hash_set.hpp
using detail::Ribbon;          // ribbon.hpp
using detail::Scalable;        // scalable.hpp
using detail::Seen;            // never, once or many: what TwoBitMap knows of an integer
using detail::Sharded;         // sharded.hpp
using detail::SpectralBloom;   // spectral_bloom.hpp
using detail::SplitBlock;      // split_block.hpp
using detail::TwoBitMap;       // two_bit_map.hpp
using detail::WindowBloom;     // window_bloom.hpp

}  // namespace bloomery::inline v0
