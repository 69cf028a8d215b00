#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <new>
#include <string_view>
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
constexpr std::size_t fewest_bar_columns = 6;

// A command of many short phases is as long as a command of one long phase.
Clock::time_point first_phase() {
  static const Clock::time_point start = Clock::now();
  return start;
}

// A number in the unit that leaves three digits of it: a bar has no room for more.
struct Scale {
  double unit = 1;
  int decimals = 0;
  std::string_view name;

  std::string operator()(double value) const {
    return fmt::format("{:.{}f}", value / unit, decimals);
  }
};

Scale scale_of(double value, double step, std::initializer_list<std::string_view> names) {
  Scale scale{.name = *names.begin()};
  for (const std::string_view name : names) {
    scale.name = name;
    if (value / scale.unit < 999.5 || name == *(names.end() - 1)) break;
    scale.unit *= step;
  }
  const double shown = value / scale.unit;
  if (scale.unit > 1) scale.decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
  return scale;
}

std::string short_count(double count) {
  const Scale scale = scale_of(count, 1000, {"", "k", "M", "G", "T"});
  return scale(count) + std::string(scale.name);
}

Scale scale_of_bytes(double bytes) {
  return scale_of(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string short_bytes(double bytes) {
  const Scale scale = scale_of_bytes(bytes);
  return fmt::format("{} {}", scale(bytes), scale.name);
}

// "0.12 of 3.40 GiB".
std::string part_of(double bytes, double total) {
  const Scale scale = scale_of_bytes(total);
  return fmt::format("{} of {} {}", scale(bytes), scale(total), scale.name);
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
  // A bar that cannot be drawn, for lack of memory, does not end the work.
  const auto draw = [this] {
    try {
      messages_.bar(line());
    } catch (const std::exception&) {
    }
  };
  while (!ends_.wait_until(hold, next, finished)) {
    draw();
    next = Clock::now() + between_drawings;
  }
  // Who wants it always gets the last state, however short the phase was.
  if (at_once_) draw();
}

std::string Progress::line() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto bytes = static_cast<double>(bytes_done_);
  const auto total = static_cast<double>(phase_.total_bytes);
  // A file that grows while it is read has more bytes than we were told.
  const double done = total > 0 ? std::min(1.0, bytes / total) : 0;
  const double speed = static_cast<double>(lines_done_) / std::max(seconds, 1e-3);
  const auto joined = [&](bool with_bytes) {
    std::vector<std::string> parts;
    if (!phase_.name.empty()) parts.push_back(phase_.name);
    if (total > 0) parts.push_back(fmt::format("{:.0f} %", done * 100));
    if (with_bytes && total > 0)
      parts.push_back(part_of(bytes, total));
    else if (with_bytes && (bytes > 0 || phase_.name.empty()))
      parts.push_back(short_bytes(bytes));
    // Binary integers come without lines.
    if (lines_done_ > 0) parts.push_back(fmt::format("{} {}/s", short_count(speed), phase_.unit));
    parts.push_back(done > 0 ? print_seconds(seconds * (1 - done) / done) + " left"
                             : print_seconds(seconds));
    if (const std::uint64_t memory = resident_bytes(); memory > 0)
      parts.push_back("memory " + short_bytes(static_cast<double>(memory)));
    return fmt::format("{}", fmt::join(parts, "  "));
  };
  // The last column of a terminal wraps.
  const std::size_t columns = messages_.columns() - 1;
  std::string text = joined(true);
  if (text.size() > columns) text = joined(false);
  if (text.size() > columns) text.resize(columns);
  return total > 0 ? bar(done, columns - text.size()) + text : text;
}

std::uint64_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(pages >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bloomery::cli
