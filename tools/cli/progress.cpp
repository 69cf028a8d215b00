#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "units.hpp"

namespace bloomery::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto between_drawings = std::chrono::milliseconds(100);
constexpr auto silence = std::chrono::seconds(1);
constexpr std::size_t most_bar_columns = 24;
constexpr std::size_t fewest_bar_columns = 8;

// A command of many short phases is as long as a command of one long phase.
Clock::time_point first_phase() {
  static const Clock::time_point start = Clock::now();
  return start;
}

// "[====    ]" with a space behind it, as long as there is room for.
std::string bar(double done, std::size_t room) {
  const std::size_t frame = std::string_view("[] ").size();
  if (room < fewest_bar_columns + frame) return "";
  const std::size_t columns = std::min(room - frame, most_bar_columns);
  const auto full = static_cast<std::size_t>(done * static_cast<double>(columns));
  return fmt::format("[{}{}] ", std::string(full, '='), std::string(columns - full, ' '));
}

}  // namespace

Progress::Progress(Messages& messages, When when, Phase phase)
    : messages_(messages),
      shown_(when == When::always || (when == When::automatic && messages.on_terminal())),
      at_once_(when == When::always),
      phase_(std::move(phase)) {
  first_phase();
  if (!shown_) return;
  try {
    drawer_ = std::thread([this] { draw_until_finished(); });
  } catch (const std::system_error&) {
    shown_ = false;
  }
}

void Progress::update(std::uint64_t bytes_done, std::uint64_t lines_done) {
  if (!shown_) return;
  const std::lock_guard hold(lock_);
  bytes_done_ = bytes_done;
  lines_done_ = lines_done;
}

void Progress::rename(std::string name) {
  if (!shown_) return;
  const std::lock_guard hold(lock_);
  phase_.name = std::move(name);
}

void Progress::finish() {
  if (!drawer_.joinable()) return;
  {
    const std::lock_guard hold(lock_);
    finished_ = true;
  }
  ends_.notify_all();
  drawer_.join();
  messages_.bar("");
}

void Progress::draw_until_finished() {
  std::unique_lock hold(lock_);
  auto next = at_once_ ? start_ : first_phase() + silence;
  const auto finished = [this] { return finished_; };
  while (!ends_.wait_until(hold, next, finished)) {
    messages_.bar(line());
    next = Clock::now() + between_drawings;
  }
  // Who wants it always gets the last state, however short the phase was.
  if (at_once_) messages_.bar(line());
}

std::string Progress::line() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const bool counted = bytes_done_ > 0;
  // A file that grows while it is read has more bytes than we were told.
  const double done = phase_.total_bytes == 0
                          ? 0
                          : std::min(1.0, static_cast<double>(bytes_done_) /
                                              static_cast<double>(phase_.total_bytes));
  std::vector<std::string> parts;
  if (!phase_.name.empty()) parts.push_back(phase_.name);
  if (phase_.total_bytes > 0)
    parts.push_back(fmt::format("{:.0f} %  {} of {}", done * 100, print_bytes(bytes_done_),
                                print_bytes(phase_.total_bytes)));
  else if (counted || phase_.name.empty())
    parts.push_back(print_bytes(bytes_done_));
  // Binary integers come without lines.
  if (lines_done_ > 0) {
    const double speed = static_cast<double>(lines_done_) / std::max(seconds, 1e-3);
    parts.push_back(print_count(static_cast<std::uint64_t>(speed)) + " " +
                    std::string(phase_.unit) + "/s");
  }
  if (done > 0)
    parts.push_back(print_seconds(seconds * (1 - done) / done) + " left");
  else
    parts.push_back(print_seconds(seconds));
  if (const std::uint64_t memory = resident_bytes(); memory > 0)
    parts.push_back("memory " + print_bytes(memory));
  std::string text = fmt::format("{}", fmt::join(parts, "  "));
  // The last column of a terminal wraps.
  const std::size_t columns = messages_.columns() - 1;
  if (text.size() > columns) text.resize(columns);
  if (phase_.total_bytes == 0) return text;
  return bar(done, columns - text.size()) + text;
}

std::uint64_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(pages >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bloomery::cli
