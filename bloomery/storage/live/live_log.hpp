// The redo log of a live file: what was done to its keys since the last checkpoint.
//
//   record  | mark 4 | op 1 | words a key 1 | form 2 | keys 4 | run 4 | epoch 8 | sum 8 | keys.. |
//           `--------------------------- 32 bytes ------------------------------------'
//
// All little-endian, one record behind the other from the beginning of a region. sum is the XXH3-64
// of the 24 bytes before it and the keys, seeded with the low half of the uuid, the epoch and the
// record's place in its region: a record counts only in its file, in its place, in its time. The
// first record that does not fit its sum ends the log; nothing behind it was ever acknowledged.
// Adding is idempotent and commutative where the payload changes in place (OR), so replay may
// repeat what the payload has already.
// See: docs/format.md "Live files".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <bloomery/error.hpp>
#include <bloomery/key_rules.hpp>
#include <bloomery/sets/erased/any_body.hpp>

namespace bloomery::inline v0::detail {

// Written into files. Never renumber.
enum class LogOp : std::uint8_t {
  add = 1,
  remove = 2,
  clear = 3,    // no keys
  advance = 4,  // the two words are time and span of advance_to
  done = 5,     // run: all its adds so far are in its output (claims.hpp); the keys are its length
  undo = 6,     // run: its adds that are not done count as never made
  settled = 7,  // keys that a process may have added before it ended in the middle: they are in the
                // set, and not counted, since nobody knows which were new
};
inline bool is_of_keys(LogOp op) { return op == LogOp::add || op == LogOp::settled; }

struct LogRecord {
  LogOp op = LogOp::add;
  std::uint8_t words = 1;  // of each key: 1, or 2 for hashes of 128 bits
  KeyForm form = KeyForm::none;
  std::uint32_t keys = 0;
  std::uint32_t run = 0;  // 0: adds stand by themselves
  std::uint64_t epoch = 0;
  std::span<const std::uint64_t> content = {};  // keys * words

  std::uint64_t bytes() const { return head_bytes + 8 * std::uint64_t{keys} * words; }
  // Keys as a body takes them; `ordinals` tells of sets of integers.
  AnyInputs inputs(bool ordinals) const;

  static constexpr std::uint64_t head_bytes = 32;
};

// Where records are bound to: the file, and the position in its region is added.
struct LogSeal {
  std::uint64_t uuid_low = 0;
  std::uint64_t epoch = 0;
  // Of a log that grows: each record may have a later epoch than the one before it.
  bool rises = false;
};

// The head of a record whose content lies behind it in `region` at `at`.
std::array<std::byte, LogRecord::head_bytes> seal_record(const LogRecord& record,
                                                         const LogSeal& seal, std::uint64_t at);

// Visits the records of a region, from one of them on, while visit returns no Error; returns where
// the log ends.
Result<std::uint64_t> each_record(std::span<const std::byte> region, const LogSeal& seal,
                                  const std::function<Result<void>(const LogRecord&)>& visit,
                                  std::uint64_t from = 0);

std::span<const std::uint64_t> words_of(const AnyInputs& inputs, std::uint8_t& words_a_key);

}  // namespace bloomery::inline v0::detail
