// How the lines of a run of dedup become keys: one way to cut, and for each set its own spelling.
//
// Threads: makers are made and used by any; the columns of a file are told before its lines come.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/engines/keys/fields.hpp>
#include <bloomery/engines/keys/line_keys.hpp>
#include <bloomery/text/normalize.hpp>
#include <tools/inside.hpp>

namespace bloomery::cli {

// What a set wants done to its keys.
struct Spelling {
  bool strip_cr = false;
  std::optional<Normalizer> normalizer = {};
};

class DedupKeys {
 public:
  // `find_empty_lines`: whole lines that are empty are told, too.
  DedupKeys(const FieldCutter& cutter, std::size_t files, bool find_empty_lines)
      : cutter_(cutter), columns_(files), find_empty_lines_(find_empty_lines) {}

  // Empty where lines are keys as they are. The spelling outlives what is made.
  MakeKeys made_with(const Spelling& spelling);
  // Learns the columns of a file; empty without a header.
  std::function<Result<void>(std::size_t, std::string_view)> on_head(
      const std::vector<std::string>& names);

  // CRLF and quotes do not make another header.
  std::function<bool(std::string_view, std::string_view)> same_head() const {
    return [this](std::string_view one, std::string_view other) {
      return cutter_.same_header(one, other);
    };
  }

  // Keys that were not what the normalisation is for, once the run has ended.
  std::uint64_t not_normalized() const { return not_normalized_; }
  // After a first look at the lines.
  void forget_counts() { not_normalized_ = 0; }

 private:
  const FieldCutter& cutter_;
  std::vector<CsvColumns> columns_;  // of each file
  const bool find_empty_lines_;
  std::atomic<std::uint64_t> not_normalized_ = 0;
};

}  // namespace bloomery::cli
