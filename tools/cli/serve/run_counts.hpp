// A run of dedup that is watched while it works: the run tells its numbers about ten times a
// second, as it tells its progress; whoever watches reads the last ones.
//
// All numbers of one moment go together under a lock, so that what is shown adds up: lines in are
// lines out and repeats (and lines without a key). The run holds it for some nanoseconds.
// Threads: one tells; any may look.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/engines/dedup/dedup.hpp>
#include <tools/inside.hpp>

#include "seen.hpp"

namespace bloomery::cli {

class RunCounts : public Source {
 public:
  RunCounts(std::string name, std::uint64_t total_bytes)
      : name_(std::move(name)), total_bytes_(total_bytes) {}

  // rate_now of the report is taken as it is; the kind of the set, or nothing.
  void tell(const DedupReport& now, std::string_view kind);
  void end(const DedupReport& last);

  Seen look() override;

 private:
  using Clock = std::chrono::steady_clock;
  const std::string name_;
  const std::uint64_t total_bytes_;  // 0: not known
  const Clock::time_point start_ = Clock::now();
  std::mutex lock_;  // of what follows
  std::string kind_;
  DedupReport now_;
  bool ended_ = false;
  // Of the last look, by who looks.
  std::uint64_t last_lines_ = 0;
  Clock::time_point last_look_ = start_;
};

}  // namespace bloomery::cli
