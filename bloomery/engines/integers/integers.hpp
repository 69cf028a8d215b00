// Exact work on streams of unsigned integers, one or two bits for each integer of the range.
//
//    sort     each integer once, ascending                   bitmap
//    count    how many different ones; prints nothing        bitmap
//    missing  those of the range that do not appear          bitmap
//    once     those that appear exactly once, ascending      two-bit map
//    dups     those that appear more than once, ascending    two-bit map
//
// Nothing is printed before all input was read without error. A map larger than `memory_bytes` is
// done in several passes over parts of the range, when the input can be read again.
//
// If the set is wrong: it is not; the maps are exact. A number that does not fit is an Error with
//          its file and line (or byte), or is counted in bad_in with `skip_bad`; never dropped in
//          silence.
// Limits:  memory is range / 8 or range / 4 bytes, however few the integers: for numbers far apart
//          there is sparse_integers.hpp.
// Threads: one run, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/engines/integers/numbers.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

enum class IntegerVerb { sort, count, once, dups, missing };

enum class IntegerMap { dense, sparse };  // sparse: sparse_integers.hpp

struct IntegerProgress {
  std::uint64_t bytes_read = 0;  // of the files, in this pass
  std::uint64_t pass = 1;        // passes are numbered from 1; 0 is the first look for the range
  std::uint64_t passes = 1;      // 0: unknown
};

struct IntegerRules {
  IntegerVerb verb = IntegerVerb::sort;
  IntegerFormat format = IntegerFormat::text;
  IntegerFormat out_format = IntegerFormat::text;
  LineRules lines = {};  // of text and ipv4; what is printed ends with the same delimiter
  // Absent: from the smallest to the largest when the input can be read twice, else 0..2^32-1.
  std::optional<Range> range = {};
  bool skip_bad = false;           // count lines that are not a number of the range; else an Error
  std::uint64_t memory_bytes = 0;  // most bytes for the map; 0: three quarters of the machine
  // Called about every 64 KiB of input.
  std::function<void(const IntegerProgress&)> progress = {};
};

struct IntegerReport {
  std::uint64_t numbers_in = 0;  // good ones
  std::uint64_t bad_in = 0;      // skipped: no number, or outside the range
  std::uint64_t distinct = 0;
  std::optional<std::uint64_t> once = {};  // known to the two-bit verbs only
  std::uint64_t numbers_out = 0;           // printed
  std::uint64_t bytes_in = 0;
  std::uint64_t memory_bytes = 0;   // of the map
  std::uint64_t passes = 0;         // the first look not counted
  std::optional<Range> range = {};  // that was worked on; absent when no number was found
  IntegerMap map = IntegerMap::dense;
  std::string first_bad = {};  // with skip_bad: the sentence for the first bad one
};

// Reads all files (none: the standard input) and prints what the verb asks for. Flushes `out` but
// does not close it. When its reader has gone, ignore the Error: ask out.reader_gone().
Result<IntegerReport> run_integers(const std::vector<std::string>& files, const IntegerRules& rules,
                                   LineWriter& out);

// A first look, which prints nothing: the smallest and the largest, numbers_in, bytes_in and what
// is bad. The input must be one that can be read again.
Result<IntegerReport> look_at_integers(const std::vector<std::string>& files,
                                       const IntegerRules& rules);

// What the dense map of a range takes.
std::uint64_t dense_map_bytes(const Range& range, IntegerVerb verb);
// The cap that the rules ask for, or three quarters of the machine.
std::uint64_t allowed_bytes(const IntegerRules& rules);

// "A..B" with A <= B, both unsigned decimal (or dotted addresses, for ipv4).
Result<Range> parse_range(std::string_view text, IntegerFormat format = IntegerFormat::text);

}  // namespace bloomery::inline v0::detail
