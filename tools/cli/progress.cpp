#include "progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "units.hpp"

namespace bloomery::cli {
namespace {

constexpr auto between_drawings = std::chrono::milliseconds(100);
constexpr std::size_t bar_columns = 24;

}  // namespace

Progress::Progress(Messages& messages, When when, std::uint64_t total_bytes)
    : messages_(messages),
      shown_(when == When::always || (when == When::automatic && messages.on_terminal())),
      total_bytes_(total_bytes),
      next_(start_ + (when == When::always ? Clock::duration{} : std::chrono::seconds(1))) {}

void Progress::update(std::uint64_t bytes_done, std::uint64_t lines_done) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + between_drawings;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  messages_.bar(line(bytes_done, lines_done, seconds));
}

void Progress::finish() {
  if (shown_) messages_.bar("");
}

std::string Progress::line(std::uint64_t bytes_done, std::uint64_t lines_done,
                           double seconds) const {
  const double speed = static_cast<double>(lines_done) / std::max(seconds, 1e-3);
  // Binary integers come without lines.
  const std::string lines =
      lines_done == 0 ? std::string() : print_count(static_cast<std::uint64_t>(speed)) + " lines/s";
  if (total_bytes_ == 0) return fmt::format("{}  {}", print_bytes(bytes_done), lines);
  // A file that grows while it is read has more bytes than we were told.
  const double done =
      std::min(1.0, static_cast<double>(bytes_done) / static_cast<double>(total_bytes_));
  const auto full = static_cast<std::size_t>(done * bar_columns);
  const std::string left =
      done > 0 ? print_seconds(seconds * (1 - done) / done) + " left" : std::string();
  return fmt::format("[{}{}] {:3.0f} %  {} of {}  {}  {}", std::string(full, '='),
                     std::string(bar_columns - full, ' '), done * 100, print_bytes(bytes_done),
                     print_bytes(total_bytes_), lines, left);
}

}  // namespace bloomery::cli
