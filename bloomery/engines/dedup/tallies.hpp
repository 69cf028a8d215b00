// Answers that need all input: how often a line came, whether it came once, which record of a key
// was the last. Exact, in one pass, for pipes too.
//
//    record --hash--> number of its key --> count, or where its last record lies       in memory
//       \--> spool: the first record of each key, or every record                      spool.hpp
//
//    at the end the spool is read from its front, and what is wanted is printed
//
// With `last` a record that was replaced by a later one stays in the spool until half of it may be
// such: then those that are still wanted move to a new one. So the spool is at most about three
// times as long as what will be printed, or 64 MiB.
//
// Records without a key, where the rules let them pass, and those with an empty one that is kept
// are each a line of their own.
// If the set is wrong: two lines are taken for one only if all 128 bits of their hashes agree.
//          Lines that a set in `against` has are not counted; about `expected_lost` of them are
//          false positives of that set.
// Limits:  35 to 46 bytes of memory a different key, and the spool on disk.
// Threads: one.
// See:     tallies_test; docs/cli.md.
#pragma once

#include <cstdint>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/engines/dedup/spool.hpp>
#include <bloomery/engines/input/blocks.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/line_writer.hpp>

namespace bloomery::inline v0::detail {

enum class TallyPrint {
  counts,  // COUNT, a tab and the first record of each key, in the order of these
  once,    // records whose key came once
  last,    // the last record of each key, in the order of these
};

struct TallyRules {
  TallyPrint print = TallyPrint::counts;
  // With `counts`: only so many, the most frequent first, of equals the one that came first.
  // 0: all.
  std::uint64_t top = 0;
  std::size_t spool_memory_bytes = Spool::default_memory_bytes;
};

struct TallyReport : DedupReport {
  std::uint64_t distinct = 0;     // different keys, and records without one
  std::uint64_t spool_bytes = 0;  // in a temporary file, at most
};

// Reads `inputs` to the end, then prints. `set` hashes, and must take 128-bit hashes; nothing is
// added to it. Of the rules: keys, against, heads, progress. An Error of the input comes before
// anything is printed: half of the lines would make wrong counts.
Result<TallyReport> tally(const AnySet& set, BlockInputs& inputs, LineWriter& out,
                          const DedupRules& rules, const TallyRules& tallies);

}  // namespace bloomery::inline v0::detail
