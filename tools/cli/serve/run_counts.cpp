#include "run_counts.hpp"

#include <unistd.h>

#include <algorithm>

#include <tools/cli/report/progress.hpp>
#include <tools/cli/report/report.hpp>

namespace bloomery::cli {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void RunCounts::tell(const DedupReport& now, std::string_view kind) {
  const std::lock_guard hold(lock_);
  now_ = now;
  kind_ = kind;
}

void RunCounts::end(const DedupReport& last) {
  const std::lock_guard hold(lock_);
  now_ = last;
  ended_ = true;
}

Seen RunCounts::look() {
  DedupReport now;
  bool ended = false;
  Seen seen{.of = Seen::Of::run, .id = "run", .name = name_};
  {
    const std::lock_guard hold(lock_);
    now = now_;
    ended = ended_;
    seen.kind = kind_;
  }
  const auto at = Clock::now();
  const double passed = std::chrono::duration<double>(at - last_look_).count();
  const double speed =
      passed > 0 ? static_cast<double>(now.lines_in - last_lines_) / passed : unknown;
  last_look_ = at;
  last_lines_ = now.lines_in;
  seen.time = seconds_since_1970();
  const double seconds = std::chrono::duration<double>(at - start_).count();
  const double share = total_bytes_ > 0 ? std::min(1.0, static_cast<double>(now.file_bytes_in) /
                                                            static_cast<double>(total_bytes_))
                                        : unknown;
  const std::uint64_t resident = resident_bytes();
  Report report;
  report.text("id", seen.id);
  report.text("name", name_);
  report.text("state", ended ? "done" : "running");
  report.count("process", static_cast<std::uint64_t>(::getpid()));
  if (!seen.kind.empty()) report.text("kind", seen.kind);
  report.count("lines_in", now.lines_in);
  report.count("lines_out", now.lines_out);
  report.count("repeats", now.repeats);
  report.real("lines_per_second", speed);
  report.bytes("memory_bytes", now.memory_bytes);
  report.bytes("resident_bytes", resident);
  report.rate("rate_now", now.rate_now);
  report.real("expected_lost", now.expected_lost);
  report.seconds("seconds", seconds);
  report.bytes("bytes_in", now.bytes_in);
  report.real("share_done", share);
  report.real("time", seen.time);
  seen.json = report.as_json();
  seen.json.pop_back();

  const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
  seen.values.resize(run_values::count);
  auto& values = seen.values;
  values[run_values::lines_in] = real(now.lines_in);
  values[run_values::lines_out] = real(now.lines_out);
  values[run_values::repeats] = real(now.repeats);
  values[run_values::bytes_in] = real(now.bytes_in);
  values[run_values::lines_per_second] = speed;
  values[run_values::expected_lost] = now.expected_lost;
  values[run_values::rate_now] = now.rate_now;
  values[run_values::memory_bytes] = real(now.memory_bytes);
  values[run_values::resident_bytes] = real(resident);
  values[run_values::share_done] = share;
  values[run_values::seconds] = seconds;
  values[run_values::running] = ended ? 0 : 1;
  return seen;
}

}  // namespace bloomery::cli
