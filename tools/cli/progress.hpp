// A bar that tells how far a long command is: bytes done of total, lines a second, time left.
//
// Drawn on a terminal only, unless told otherwise, so that logs hold no bars; and not in the first
// second, so that short commands do not flicker.
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "messages.hpp"

namespace bloomery::cli {

class Progress {
 public:
  // total_bytes 0: unknown, as with a pipe; the bar then has no end and tells no time left.
  Progress(Messages& messages, When when, std::uint64_t total_bytes);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be called for every batch of lines.
  void update(std::uint64_t bytes_done, std::uint64_t lines_done);
  // Wipes the bar.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(std::uint64_t bytes_done, std::uint64_t lines_done, double seconds) const;

  Messages& messages_;
  bool shown_;
  std::uint64_t total_bytes_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace bloomery::cli
