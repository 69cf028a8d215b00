// Which set a run of dedup remembers lines in, and how much memory it may take:
//
//    nothing said      compact: whole 64-bit hashes; grows, needs no plan
//    --exact           hash-set: whole 128-bit hashes; grows, needs no plan
//    --rate            chain, which grows; under --memory a blocked set of a fixed size
//    --window          window
//    --state that is   what the file holds
//
// If the set is wrong: see dedup.hpp; what the set is told to hold is what is asked for, or
//          the run is refused before the first line is printed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/redis/redis_set.hpp>

#include <tools/cli/flags/flags.hpp>
#include <tools/cli/input/dedup_keys.hpp>

namespace bloomery::cli {

// What --window asks for: so many lines, or so much time.
struct WindowWant {
  std::uint64_t lines = 0;
  std::chrono::milliseconds span{0};
  bool timed() const { return span.count() > 0; }
};
// "10M" or "24h"
WindowWant window_of(const std::string& text);

struct SetWant {
  SizeFlags size;
  HashFlags hash;
  bool exact = false;
  bool saved = false;  // it will be written to a state file
  std::optional<WindowWant> window = {};
  Threads threads = {};
};

// What fixed the size of the set: what to blame, and what to change, if it gets overfull.
enum class SizedBy { keys, memory, sample, state };

struct SizedSet {
  AnySet set;
  SizedBy by;
};

// How lines become keys, where that is needed to count the different ones.
struct KeyedLines {
  const std::vector<std::string>& files;
  LineRules rules;
  const DedupRules& how;
};

// A new set. Refuses a rate that the memory cannot hold for the keys that are told, or counted.
SizedSet new_set(const SetWant& want, const KeyedLines& lines);

// An exact set that stays empty, for those who need its hashes only.
SizedSet hashing_set(const SetWant& want);

// A set that was opened: under the cap from now on, and what the flags ask for, where they ask.
SizedSet kept_set(AnySet set, const SetWant& want, const std::string& path);

// What to make of a set that is shared through a server, if it does not exist yet.
RedisSet::Wish wished_set(const SetWant& want, const std::vector<std::string>& files,
                          const LineRules& lines, const Spelling& spelling);

// What of --memory is left for the set itself; 0: no cap.
std::uint64_t set_memory(const SetWant& want);

// A run that ended because the set may not grow any more is told what would help.
Result<DedupReport> with_advice(Result<DedupReport> found, const SetWant& want);

// What made it overfull, and what would help.
std::string why_overfull(SizedBy by, std::uint64_t capacity);

}  // namespace bloomery::cli
