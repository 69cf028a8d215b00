// How a live file is made and opened, and what was found then; live.hpp tells how to use it.
#pragma once

#include <cstdint>
#include <optional>

#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

enum class Durability {
  none,      // survives the end of processes, not that of the system
  interval,  // synced in the background, and when it is closed
  every,     // synced before an add returns
};

struct LiveOptions {
  Durability durability = Durability::interval;
  std::uint32_t interval_ms = 1000;
  bool read_only = false;             // adds are refused; nothing in the file is changed
  std::optional<SecretKey> key = {};  // for hardened sets whose key is elsewhere
};

// What the first process found that opened the file after others had left it.
struct Recovery {
  bool was_cut = false;            // by a kill or a crash: it was not closed
  bool lost_power = false;         // and the system was started since, or its disk went away
  std::uint64_t records = 0;       // of the log that were done again
  std::uint64_t keys = 0;          // in those records
  std::uint64_t summed_bytes = 0;  // of which checksums were taken again
  bool sync_failed = false;        // and so it took no more keys
  std::uint64_t undone_keys = 0;   // of runs that ended before their outcome was written
  friend bool operator==(const Recovery&, const Recovery&) = default;
};

struct LiveCreation {
  Overwrite overwrite = Overwrite::refuse;
  // Each of the two halves of the log, or the first length of one that grows. 0: eight times
  // the set, between 1 and 256 MiB; in place it takes disk space only where it is used. When a half
  // is full, the set itself is brought to the disk.
  std::uint64_t log_bytes = 0;
  // A snapshot and a log also of kinds that could lie in shared bytes: what a run added can then be
  // undone (dedup).
  bool followed = false;
  // Hardened: the secret stays out of the file, and whoever opens it gives it (LiveOptions::key).
  bool key_is_elsewhere = false;
};

}  // namespace bloomery::inline v0::detail
