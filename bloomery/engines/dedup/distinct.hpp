// About how many different keys the lines of files have, by one pass and in little memory.
//
// Keys whose hash lies below a bound are kept; when there are too many the bound is halved. The
// estimate is the number kept, divided by the bound's share of all hashes: with 2^16 keys kept its
// standard deviation is 0.4 %.
// Limits:  returns the estimate plus three standard deviations, so that it is rarely too low.
// Threads: one.
// See:     distinct_test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

// Of the keys that dedup would add by these rules (sets that are asked before are not). Exact below
// 2^16. The files must be regular: they are read here, and again later.
Result<std::uint64_t> estimate_distinct(const std::vector<std::string>& files,
                                        const LineRules& rules, const DedupRules& how);

}  // namespace bloomery::inline v0::detail
