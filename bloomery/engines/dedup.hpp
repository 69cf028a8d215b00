// Prints each line the first time it comes; order kept, streaming.
//
//    Inputs --batch of 1024 views--> keys --AnySet::add_all--> fresh? --runs of kept lines--> out
//                                                                 \--runs of repeats--> repeats_out
//
// Kept lines that lie side by side in the input buffer are copied as one run, so the cost of a line
// is finding its end, hashing it, and one wait for memory. A printed line always ends with the
// delimiter, also when the last line of a file did not.
//
// If the set is wrong: a new line looks like a repeat and is LOST from the output (with `repeated`:
//          printed among the repeats), about `expected_lost` of them. An exact set loses none.
//          The other way round can not happen: a repeat is never printed as new.
// Limits:  one thread; the set is the only thing that grows.
// Threads: one dedup per set at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <bloomery/engines/line_writer.hpp>
#include <bloomery/engines/lines.hpp>
#include <bloomery/error.hpp>
#include <bloomery/sets/any_set.hpp>
#include <bloomery/sets/plan.hpp>

namespace bloomery {

struct DedupReport {
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;  // printed to `out`
  std::uint64_t repeats = 0;    // lines_in - repeats were new
  std::uint64_t bytes_in = 0;
  std::uint64_t memory_bytes = 0;  // payload of the set
  double rate_now = 0;             // from the bits of the set; 0 when exact
  // New lines that were taken for repeats: the rate at each add, summed. 0 when exact.
  double expected_lost = 0;
};

struct DedupRules {
  bool repeated = false;  // print the repeats instead of the first ones
  // The key is the line without one carriage return at its end; what is printed keeps it.
  bool strip_cr = false;
  LineWriter* repeats_out = nullptr;  // repeats go here as well
  const AnySet* against = nullptr;    // lines that this set may contain count as repeats
  // Called now and then with what is known so far (not rate_now), at most about ten times a second.
  std::function<void(const DedupReport&)> progress = {};
  // Called once, when the set begins to hold more than it was planned for.
  std::function<void(const DedupReport&)> on_overfull = {};
};

// Reads `inputs` to the end. The inputs must not strip carriage returns themselves
// (LineRules::strip_cr): what is printed are the bytes that came. The set must take text. Flushes
// the writers but does not close them. When the reader of `out` has gone, the Error is to be
// ignored: ask out.reader_gone().
Result<DedupReport> dedup(AnySet& set, Inputs& inputs, LineWriter& out,
                          const DedupRules& rules = {});

// What to make the set with. Files are sized by their sampled number of lines; a pipe starts with
// 1M keys and the set grows. Rate 0: for an exact set. memory_bytes is left 0, for the caller.
Result<Want> dedup_want(const std::vector<std::string>& files, const LineRules& rules, double rate);

}  // namespace bloomery
