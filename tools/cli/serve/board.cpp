#include "board.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <exception>
#include <utility>

#include <tools/cli/report/report.hpp>

#include "blocked_signals.hpp"
#include "metrics.hpp"

namespace bloomery::cli {
namespace {

std::size_t kept_columns(Seen::Of of) {
  std::size_t count = 0;
  for (const Measure& measure : measures_of(of)) count += measure.column.empty() ? 0 : 1;
  return count;
}

std::vector<double> kept_values(const Seen& seen) {
  const auto measures = measures_of(seen.of);
  std::vector<double> kept;
  for (std::size_t i = 0; i < measures.size(); ++i)
    if (!measures[i].column.empty())
      kept.push_back(i < seen.values.size() ? seen.values[i] : unknown);
  return kept;
}

SharedText shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

Board::Board(std::vector<std::shared_ptr<Source>> sources)
    : sources_(std::move(sources)), started_(seconds_since_1970()) {}

Board::~Board() { end(std::chrono::hours(1)); }

std::vector<std::string> Board::look_once() {
  look();
  std::vector<std::string> sentences;
  for (const Seen& one : seen_)
    if (!one.error.empty()) sentences.push_back(one.error);
  return sentences;
}

void Board::begin(Rules rules) {
  rules_ = std::move(rules);
  // Signals are for the thread that waits for them.
  const BlockedSignals blocked;
  looker_ = std::thread([this] { look_on(); });
  pthread_setname_np(looker_.native_handle(), "serve-looks");
}

bool Board::end(std::chrono::milliseconds patience) {
  if (!looker_.joinable()) return true;
  std::unique_lock hold(lock_);
  ending_ = true;
  ends_.notify_all();
  if (!ends_.wait_for(hold, patience, [this] { return ended_; })) {
    looker_.detach();
    return false;
  }
  hold.unlock();
  looker_.join();
  return true;
}

void Board::look_on() {
  std::unique_lock hold(lock_);
  while (!ends_.wait_for(hold, rules_.every, [this] { return ending_; })) {
    hold.unlock();
    try {
      look();
      rules_.changed();
    } catch (const std::exception&) {
      // No memory for it now. What was seen last stays, and its time says when that was.
    }
    hold.lock();
  }
  ended_ = true;
  ends_.notify_all();
}

void Board::look() {
  std::vector<Seen> seen;
  for (const auto& source : sources_) seen.push_back(source->look());
  std::string status = status_of(seen);
  std::string event = "event: status\ndata: " + status + "\n";
  const std::lock_guard hold(lock_);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (histories_.size() <= i) histories_.emplace_back(kept_columns(seen[i].of));
    histories_[i].add(seen[i].time, kept_values(seen[i]));
  }
  seen_ = std::move(seen);
  status_ = shared(std::move(status));
  event_ = shared(std::move(event));
  history_ = nullptr;
}

// Reports know no object within an object: their texts are put together.
std::string Board::status_of(const std::vector<Seen>& seen) const {
  Report report;
  report.text("version", BLOOMERY_VERSION);
  report.real("time", seconds_since_1970());
  report.real("started", started_);
  report.count("watchers", rules_.watchers ? rules_.watchers() : 0);
  std::string text = report.as_json();
  text.resize(text.size() - 2);
  for (const auto& [of, name] :
       {std::pair(Seen::Of::run, "runs"), std::pair(Seen::Of::set, "sets")}) {
    std::string list;
    for (const Seen& one : seen)
      if (one.of == of) list += (list.empty() ? "" : ",") + one.json;
    text += fmt::format(",\"{}\":[{}]", name, list);
  }
  return text + "}\n";
}

SharedText Board::status() const {
  const std::lock_guard hold(lock_);
  return status_;
}

SharedText Board::status_event() const {
  const std::lock_guard hold(lock_);
  return event_;
}

SharedText Board::history() const {
  const std::lock_guard hold(lock_);
  if (history_) return history_;
  std::string text = "{\"series\":[";
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    Report names;
    names.text("id", seen_[i].id);
    names.text("name", seen_[i].name);
    std::string one = names.as_json();
    one.resize(one.size() - 2);
    text += fmt::format("{}{},\"time\":{}", i == 0 ? "" : ",", one, histories_[i].times_json());
    std::size_t column = 0;
    for (const Measure& measure : measures_of(seen_[i].of))
      if (!measure.column.empty())
        text += fmt::format(",\"{}\":{}", measure.column, histories_[i].column_json(column++));
    text += "}";
  }
  history_ = shared(text + "]}\n");
  return history_;
}

SharedText Board::metrics() const {
  const std::lock_guard hold(lock_);
  return shared(metrics_text(seen_, started_, rules_.watchers ? rules_.watchers() : 0));
}

}  // namespace bloomery::cli
