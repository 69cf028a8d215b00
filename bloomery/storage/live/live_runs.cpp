// Runs of a followed live set: adds that count once their outcome is somewhere else, too.
#include <algorithm>
#include <cstring>
#include <utility>

#include <bloomery/storage/live/live_body.hpp>

namespace bloomery::inline v0::detail {

Result<void> LiveBody::begin_run() {
  const Turns turn(turns_);
  if (in_place() || !logs_new_keys_only())
    return Error{Code::unsupported,
                 file_->name() + " is a live " + std::string(row().id.name) +
                     " set, from which the keys of a run that was killed cannot be taken back; "
                     "make a live state of kind compact, hash-set or chain"};
  // With the lock: a file that is being replaced gives no more numbers.
  const auto begun = change([&](LogRecord&) -> Result<std::size_t> {
    const std::uint32_t run = file_->new_run();
    if (auto held = file_->begin_running(run); !held) return held.error();
    run_ = run;
    return std::size_t{0};
  });
  if (!begun) return begun.error();
  return {};
}

std::vector<std::uint64_t> LiveBody::words_of_output(const WrittenOutput& output) {
  std::vector<std::uint64_t> words(3 + (output.path.size() + 7) / 8);
  words[0] = output.bytes;
  words[1] = output.ended;
  words[2] = output.path.size();
  std::memcpy(words.data() + 3, output.path.data(), output.path.size());
  return words;
}

// What is printed from now on would be forgotten with the file.
Result<void> LiveBody::expect_its_name() const {
  // While others put a new file in its place, it has no name for a moment.
  const LiveFile::Turn turn(*file_);
  if (turn.retired() != Retired::no || file_->has_its_name()) return {};
  return Error{
      Code::mismatch,
      file_->name() +
          " was removed, renamed or replaced by another program while it was in use: lines "
          "of this run since its last checkpoint are not remembered; put it back, and run "
          "again"};
}

Result<void> LiveBody::done(const WrittenOutput& output) {
  const Turns turn(turns_);
  if (auto named = expect_its_name(); !named) return named;
  const std::vector<std::uint64_t> words = words_of_output(output);
  const auto done = change([&](LogRecord& record) -> Result<std::size_t> {
    record = {.op = LogOp::done, .form = file_->form(), .run = run_};
    record.keys = static_cast<std::uint32_t>(words.size());
    record.content = words;
    return std::size_t{0};
  });
  if (!done) return done.error();
  if (auto synced = sync(); !synced) return synced;
  return shorten_log();
}

std::optional<WrittenOutput> LiveBody::output(const std::string& path) const {
  const Turns turn(turns_);
  const auto found = outputs_.find(path);
  if (found == outputs_.end()) return {};
  return found->second;
}

// A run lives as long as a process holds its lock; adds of others never come to an output.
Result<std::vector<std::uint32_t>> LiveBody::dead_runs() const {
  std::vector<std::uint32_t> dead;
  for (const auto& [run, of_run] : runs_) {
    if (of_run.pending.empty() || run == run_) continue;
    const auto running = file_->is_running(run);
    // Lines of a dead run that is taken for a running one would never be printed.
    if (!running) return running.error();
    if (!*running) dead.push_back(run);
  }
  return dead;
}

Result<std::uint64_t> LiveBody::undo_dead_runs(LiveFile::Turn& turn) {
  const auto dead = dead_runs();
  if (!dead) return dead.error();
  std::uint64_t keys = 0;
  for (const std::uint32_t run : *dead) {
    const LogRecord record{.op = LogOp::undo, .form = file_->form(), .run = run};
    if (auto done = turn.append(record, by_call(record)); !done) return done.error();
    keys += runs_[run].keys;
  }
  if (!dead->empty())
    if (auto again = replay_from_base(); !again) return again.error();
  return keys;
}

}  // namespace bloomery::inline v0::detail
