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
  const std::uint32_t run = file_->new_run();
  if (auto begun = file_->begin_running(run); !begun) return begun;
  run_ = run;
  return {};
}

std::vector<std::uint64_t> LiveBody::words_of_output(const WrittenOutput& output) const {
  std::vector<std::uint64_t> words(3 + (output.path.size() + 7) / 8);
  words[0] = output.bytes;
  words[1] = output.ended;
  words[2] = output.path.size();
  std::memcpy(words.data() + 3, output.path.data(), output.path.size());
  return words;
}

Result<void> LiveBody::done(const WrittenOutput& output) {
  const Turns turn(turns_);
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
Result<void> LiveBody::undo_dead_runs(LiveFile::Turn& turn) {
  std::vector<std::uint32_t> dead;
  for (const auto& [run, of_run] : runs_) {
    if (of_run.pending.empty() || run == run_) continue;
    const auto running = file_->is_running(run);
    // Lines of a dead run that is taken for a running one would never be printed.
    if (!running) return running.error();
    if (!*running) dead.push_back(run);
  }
  for (const std::uint32_t run : dead) {
    const LogRecord record{.op = LogOp::undo, .form = file_->form(), .run = run};
    if (auto done = turn.append(record, by_call(record)); !done) return done;
  }
  return dead.empty() ? Result<void>() : replay_from_base();
}

}  // namespace bloomery::inline v0::detail
