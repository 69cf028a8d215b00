// run_integers of integers.hpp for integers that lie far apart: memory grows with their number.
//
//    dense    one or two bits for each integer of the range           run_integers
//    sparse   8 bytes or less for each integer that comes             run_sparse_integers
//
// The same verbs, the same output byte for byte. No range is needed: without one, every 64-bit
// integer is taken, from pipes too, in one pass. `once` and `dups` hold a second set, of what came
// again.
//
// When `memory_bytes` is reached and the input can be read again, the upper half of what was found
// is forgotten and left to another pass; else that is an Error.
//
//    pass 1   |####|                      the numbers up to a bound that the memory allows
//    pass 2        |######|               those above it, up to the next
//
// `missing` without a range goes from the smallest to the largest that came; more than 2^32 missing
// numbers are then an Error, because such an output cannot be meant.
//
// If the set is wrong: it is not; the sets are exact.
// Limits:  `memory_bytes` of 64 KiB at least. Up to 1000 passes.
// Threads: one run, one thread.
#pragma once

#include <string>
#include <vector>

#include <bloomery/engines/integers/integers.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/line_writer.hpp>

namespace bloomery::inline v0::detail {

Result<IntegerReport> run_sparse_integers(const std::vector<std::string>& files,
                                          const IntegerRules& rules, LineWriter& out);

// Dense or sparse, whichever is smaller:
//
//    a pipe, no range       sparse
//    a pipe, a range        dense when its map fits the memory, else sparse
//    files                  dense when its map, for the range that was given or is found by a first
//                           look, is at most as large as the files (or 16 MiB), else sparse
//
// The numbers of a text of that size need about as much when they are held one by one.
Result<IntegerReport> run_smaller_integers(const std::vector<std::string>& files,
                                           const IntegerRules& rules, LineWriter& out);

}  // namespace bloomery::inline v0::detail
