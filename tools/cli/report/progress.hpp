// How far a long command is: bytes done of total, lines a second, time left, memory; or, where
// nothing can be counted, what it does and for how long.
//
//    [=====           ] 31 %  1.02 of 3.20 GiB  12.3M lines/s  6.10 s left  memory 212 MiB
//    sorting  2.40 s  memory 1.20 GiB
//
// Drawn on a terminal only, unless told otherwise, so that logs hold no bars; and not in the first
// second of a command, so that short ones do not flicker. A thread of its own draws: sorting or a
// pipe that nobody writes to would else show nothing.
// Limits:  where the system gives no thread there is no bar.
// Threads: one makes, updates and finishes it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "messages.hpp"

namespace bloomery::cli {

// What is done under one bar.
struct Phase {
  std::string name = {};          // "sorting"; empty: reading the input
  std::uint64_t total_bytes = 0;  // 0: unknown, as with a pipe; then there is no bar and no end
  std::string_view unit = "lines";
};

class Progress {
 public:
  Progress(Messages& messages, When when, Phase phase);
  Progress(Messages& messages, When when, std::uint64_t total_bytes)
      : Progress(messages, when, Phase{.total_bytes = total_bytes}) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be called for every batch of lines.
  void update(std::uint64_t bytes_done, std::uint64_t lines_done);
  // The name may change while it goes on: "pass 2 of 3".
  void rename(std::string name);
  // Wipes the bar.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw_until_finished();
  std::string line() const;

  Messages& messages_;
  bool shown_;
  bool at_once_;
  const Clock::time_point start_ = Clock::now();
  std::thread drawer_;
  mutable std::mutex lock_;  // of all that follows
  std::condition_variable ends_;
  bool finished_ = false;
  Phase phase_;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t lines_done_ = 0;
};

// Bytes of memory that this process holds now; 0 where the system does not tell.
std::uint64_t resident_bytes();

}  // namespace bloomery::cli
