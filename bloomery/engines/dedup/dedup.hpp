// Prints each record the first time it comes; order kept, streaming, by several threads.
//
//    read ----> split, keys, hashes ----> add to the set ----> print
//    in order   any thread, any block     in order             in order
//
// A block is some thousand whole records (blocks.hpp). A free thread takes the step that is
// farthest along. Each step but the second is done by one thread at a time, in the order of the
// blocks, so the output and every bit of the set are the same with any number of threads. Records
// to print are moved together inside their block and written from there. A printed record always
// ends with the delimiter, also when the last of a file did not.
//
// If the set is wrong: a new line looks like a repeat and is LOST from the output (with `repeated`:
//          printed among the repeats), about `expected_lost` of them. An exact set loses none.
//          The other way round cannot happen: a repeat is never printed as new.
//          If a shared set (AnySet::shared) fails in the middle of a block, the lines of the block
//          that it has or may have are printed before the Error is returned: a later run would take
//          them for repeats.
// Limits:  adding is one thread's work at a time, so more than a few threads gain nothing.
// Threads: one dedup per set at a time; those that are started have ended when it returns. Whatever
//          is called back is called by one thread at a time, not always the same.
// See:     dedup_test; docs/cli.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/engines/parallel.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/engines/input/blocks.hpp>
#include <bloomery/engines/keys/key_maker.hpp>
#include <bloomery/error.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

struct DedupReport {
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;  // printed to `out`
  std::uint64_t repeats = 0;    // the others were new, or dropped for their empty key
  std::uint64_t no_key = 0;     // records without a key, printed as they are; among neither
  std::uint64_t empty = 0;      // records with an empty key, whatever became of them
  std::uint64_t bytes_in = 0;
  std::uint64_t file_bytes_in = 0;  // of the files: less when they are compressed
  std::uint64_t memory_bytes = 0;   // payload of the set
  double rate_now = 0;              // from the bits of the set; 0 when exact
  // New lines that were taken for repeats: the rate at each add, summed. 0 when exact.
  double expected_lost = 0;
};

// A maker for the records of this file (a number, as in BlockInputs). Called by any thread. An
// empty function: records are their own keys.
using MakeKeys = std::function<std::unique_ptr<KeyMaker>(std::size_t file)>;

// A set whose lines count as repeats, and how lines become its keys.
struct Against {
  const AnySet* set = nullptr;
  MakeKeys make_keys = {};
};

// The first record of a file when it is a header, not a line.
struct Head {
  std::string text;
  std::string from;  // the file, for sentences
};

struct DedupRules {
  bool repeated = false;              // print the repeats instead of the first ones
  LineWriter* repeats_out = nullptr;  // repeats go here as well
  MakeKeys make_keys = {};
  std::vector<Against> against = {};
  // A record without a key ends the run with an Error; else it is printed as new, and counted.
  bool refuse_no_key = true;
  // Records with an empty key: kept ones are printed as new, dropped ones nowhere.
  EmptyKeys empty_keys = EmptyKeys::one;
  // If set, the first record of each file is its header, not a line. Called before any line of that
  // file is looked at. The header is printed once, before the first line; all must be equal.
  std::function<Result<void>(std::size_t file, std::string_view head)> on_head = {};
  // Whether two headers are equal; without it, byte by byte.
  std::function<bool(std::string_view one, std::string_view other)> same_head = {};
  // The header that a resumed output already has: it is not printed again.
  std::optional<Head> printed_head = {};
  // Bytes that an empty output begins with: a byte order mark.
  std::string_view mark = {};
  Threads threads = {1};
  // Once true, no further block is read; those that were are printed, and the run ends well.
  const std::atomic<bool>* stop = nullptr;
  // Before each block is added: for sets that forget by time.
  std::function<Result<void>(AnySet&)> before_adding = {};
  // Called with what is known so far (not rate_now), about ten times a second, and when there is
  // nothing to read for now.
  std::function<void(const DedupReport&)> progress = {};
  // Called once, when the set begins to hold more than it was planned for.
  std::function<void(const DedupReport&)> on_overfull = {};
  // Called about so often, between two blocks: all that was added has then been handed to the
  // writers and flushed, and nothing else. An Error ends the run. It is never called more than a
  // tenth of the time.
  std::chrono::milliseconds checkpoint_every{0};
  std::function<Result<void>(const DedupReport&)> checkpoint = {};
};

// The key is the line without one carriage return at its end.
MakeKeys keys_without_cr();

// Reads `inputs` to the end. The inputs must not strip carriage returns themselves
// (LineRules::strip_cr): what is printed are the bytes that came. The set must take text. Flushes
// the writers but does not close them. When the reader of `out` has gone, ignore the Error: ask
// out.reader_gone().
Result<DedupReport> dedup(AnySet& set, BlockInputs& inputs, LineWriter& out,
                          const DedupRules& rules = {});

// Memory beside the set that a run takes, about: blocks, keys, buffers.
std::uint64_t dedup_overhead(Threads threads);

// What to make the set with. Files are sized by their sampled number of lines; a pipe starts with
// 1M keys and the set grows. Rate 0: for an exact set. memory_bytes is left 0, for the caller.
// `grows`: the set does, so that lines which repeat others in the sample need no room.
Result<Want> dedup_want(const std::vector<std::string>& files, const LineRules& rules, double rate,
                        bool grows = false);

}  // namespace bloomery::inline v0::detail
