// What a benchmark is asked and what it found: plain values, for those who print.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::bench {

enum class Operation {
  build,         // make the set and add_all: memory that was never touched
  add,           // one by one
  add_all,       // in bulk
  add_by_lines,  // in bulk, keys partitioned by cache line first
  add_threads,   // in bulk, by several threads
  ask_hit,       // members, one by one
  ask_miss,      // strangers, one by one
  ask_all_hit,   // in bulk
  ask_all_miss,  // in bulk
  ask_threads,   // members in bulk, by several threads
};
inline constexpr std::size_t operation_count = 10;

struct OperationName {
  std::string_view key;    // in JSON
  std::string_view shown;  // in a table
};
inline constexpr std::array<OperationName, operation_count> operation_names{{
    {"build", "build"},
    {"add", "add"},
    {"add_all", "add_all"},
    {"add_by_lines", "add_all, by lines"},
    {"add_threads", "add_all, threads"},
    {"ask_hit", "ask hit"},
    {"ask_miss", "ask miss"},
    {"ask_all_hit", "ask_all hit"},
    {"ask_all_miss", "ask_all miss"},
    {"ask_threads", "ask_all hit, threads"},
}};
inline const OperationName& name_of(Operation operation) {
  return operation_names[static_cast<std::size_t>(operation)];
}

struct Task {
  double rate = 0.01;
  std::string only_kind = {};  // empty: all
  unsigned threads = 1;        // from 2 on there are also the operations of threads
  unsigned most_runs = 5;
  double seconds = 10;             // no further run of a subject begins that would end later
  std::uint64_t memory_bytes = 0;  // a subject that needs more, with the keys, is left out
  // Hears the name of each subject before it is measured.
  std::function<void(std::string_view)> begin = [](std::string_view) {};
};

// Where there are more keys than this, those that are added one by one or asked are so many of
// them. What is added in bulk is always all the rest.
inline constexpr std::uint64_t window_keys = 10'000'000;
// As many strangers as members, within bounds: enough to see the rate.
inline std::uint64_t strangers_for(std::uint64_t members) {
  return std::clamp<std::uint64_t>(members, 10'000, window_keys);
}

// Medians over the runs; the ratio is the median of the ratios within each run.
struct Timing {
  Operation operation;
  std::uint64_t keys;  // that were timed
  double ns;           // a key
  double best_ns;
  double roofline_ns;         // beside it, on the same keys: into the L1 cache
  double ratio;               // ns / roofline_ns
  double second_roofline_ns;  // into the L2 cache
  double second_ratio;
};

struct Finding {
  std::string subject;
  std::uint64_t bytes = 0;
  double bits_per_key = 0;
  double rate = 0;  // false positives / strangers asked
  unsigned runs = 0;
  std::vector<Timing> timings = {};

  const Timing* find(Operation operation) const {
    for (const Timing& timing : timings)
      if (timing.operation == operation) return &timing;
    return nullptr;
  }
};

struct LeftOut {
  std::string subject;
  std::string why;
};

// All subjects on one lot of keys.
struct Findings {
  std::uint64_t keys = 0;
  std::string key_form;  // "integer" or "text"
  double rate_asked = 0;
  unsigned threads = 1;
  std::uint64_t strangers = 0;
  std::vector<Finding> found = {};
  std::vector<LeftOut> left_out = {};
};

}  // namespace bloomery::bench
