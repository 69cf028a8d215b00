// What one look at a set, or at a run of dedup, has found; and which of its numbers mean what.
//
// A number has one line in a table below. From it come the column of the history, the name in
// /metrics with its type and help, and the order of `values`. In /api/status.json the same numbers
// have the names that `info --json` and `dedup --json` give them.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::cli {

struct Measure {
  std::string_view column;  // in /api/history.json; empty: not kept
  std::string_view metric;
  std::string_view type;
  std::string_view help;
};

namespace set_values {
enum Index {
  keys,
  keys_estimated,
  capacity,
  fill,
  rate_now,
  rate_asked,
  bytes,
  file_bytes,
  growth,
  overfull,
  count
};
}
inline constexpr std::array<Measure, set_values::count> set_measures{{
    {"keys", "bloomery_set_keys", "gauge", "Keys that were surely new when they were added."},
    {"keys_estimated", "bloomery_set_keys_estimated", "gauge",
     "Keys, estimated from the bits of the set."},
    {"", "bloomery_set_capacity_keys", "gauge", "Keys that the set was planned for."},
    {"fill", "bloomery_set_fill_ratio", "gauge", "Share of the bits that are set."},
    {"rate_now", "bloomery_set_false_positive_ratio", "gauge", "False-positive rate now."},
    {"", "bloomery_set_false_positive_asked_ratio", "gauge",
     "False-positive rate that was asked for."},
    {"bytes", "bloomery_set_size_bytes", "gauge", "Bytes of the payload."},
    {"", "bloomery_set_file_size_bytes", "gauge", "Bytes of the file."},
    {"keys_per_second", "bloomery_set_keys_per_second", "gauge",
     "Keys added a second, between the last two looks."},
    {"", "bloomery_set_overfull", "gauge", "1 if the set has more keys than it was planned for."},
}};

namespace run_values {
enum Index {
  lines_in,
  lines_out,
  repeats,
  bytes_in,
  lines_per_second,
  expected_lost,
  rate_now,
  memory_bytes,
  resident_bytes,
  share_done,
  seconds,
  running,
  count
};
}
inline constexpr std::array<Measure, run_values::count> run_measures{{
    {"lines_in", "bloomery_dedup_lines_in_total", "counter", "Lines that were read."},
    {"lines_out", "bloomery_dedup_lines_out_total", "counter", "Lines that were printed."},
    {"repeats", "bloomery_dedup_repeats_total", "counter", "Lines that had come before."},
    {"", "bloomery_dedup_input_bytes_total", "counter", "Bytes of the lines that were read."},
    {"lines_per_second", "bloomery_dedup_lines_per_second", "gauge",
     "Lines read a second, between the last two looks."},
    {"expected_lost", "bloomery_dedup_expected_lost_lines", "gauge",
     "New lines that were probably taken for repeats."},
    {"rate_now", "bloomery_dedup_false_positive_ratio", "gauge",
     "Chance that the next new line is lost, by the formula of the set."},
    {"memory_bytes", "bloomery_dedup_set_size_bytes", "gauge", "Memory of the set."},
    {"resident_bytes", "bloomery_dedup_resident_memory_bytes", "gauge",
     "Memory that the process holds."},
    {"", "bloomery_dedup_input_read_ratio", "gauge", "Share of the input files that was read."},
    {"", "bloomery_dedup_running_seconds", "gauge", "Seconds since the run began."},
    {"", "bloomery_dedup_running", "gauge", "1 while the run reads, 0 when it has ended."},
}};

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Seen {
  enum class Of { set, run };
  Of of = Of::set;
  std::string id;
  std::string name;
  std::string kind = {};   // empty: not known
  std::string error = {};  // why there are no values; else empty
  std::string json = {};   // the object for status.json
  std::vector<double> values = {};
  double time = 0;  // of the look, in seconds since 1970
};

inline std::span<const Measure> measures_of(Seen::Of of) {
  if (of == Seen::Of::run) return run_measures;
  return set_measures;
}

// What can be looked at, again and again.
class Source {
 public:
  virtual ~Source() = default;
  virtual Seen look() = 0;
};

double seconds_since_1970();

}  // namespace bloomery::cli
