// A followed set: the image of its file, the log of all who add, and the next file when that log
// has become long.
#include <algorithm>
#include <utility>
#include <vector>

#include <bloomery/storage/live/live_body.hpp>
#include <bloomery/storage/live/live_create.hpp>

namespace bloomery::inline v0::detail {

Result<void> LiveBody::apply(const LogRecord& record) const {
  const AnyInputs inputs = record.inputs(row().input == InputForm::ordinal);
  if (in_place() && !is_of_keys(record.op)) return not_in_place();
  switch (record.op) {
    case LogOp::settled:
    case LogOp::add: {
      const auto added = inner().add(inputs, nullptr);
      // A bounded set was full for whoever logged this, at the same key. One that grows is full
      // when the system gives no more memory.
      if (!added && (added.error().code != Code::full || row().grows)) return added.error();
      return {};
    }
    case LogOp::remove: {
      const auto removed = inner().remove(inputs, nullptr);
      if (!removed) return removed.error();
      return {};
    }
    case LogOp::clear: return inner().clear();
    case LogOp::advance:
      if (record.content.size() != 2) return Error{Code::damaged, "its log has an odd time"};
      return inner().advance_to(record.content[0], record.content[1]);
    case LogOp::done:
    case LogOp::undo: break;
  }
  return {};
}

// Which adds are pending, and what is known of outputs: from each record, also from our own.
void LiveBody::note(const LogRecord& record, std::uint64_t at) const {
  if (record.run == 0) return;
  if (record.op == LogOp::add) {
    Run& run = runs_[record.run];
    run.pending.push_back(at);
    run.keys += record.keys;
    return;
  }
  if (record.op != LogOp::done) return;
  runs_.erase(record.run);
  if (record.content.size() < 3) return;
  const std::uint64_t length = record.content[2];
  if (length > 8 * (record.content.size() - 3)) return;
  WrittenOutput output{.bytes = record.content[0], .ended = record.content[1] != 0};
  output.path.assign(reinterpret_cast<const char*>(record.content.data() + 3), length);
  if (output.path.empty()) return;
  const std::string path = output.path;
  outputs_[path] = std::move(output);
}

Result<void> LiveBody::follow() const {
  if (broken_) return *broken_;
  if (in_place()) return {};
  bool undone = false;
  std::uint64_t at = position_;
  const auto reached = file_->follow(position_, [&](const LogRecord& record) -> Result<void> {
    undone = undone || record.op == LogOp::undo;
    note(record, at);
    at += record.bytes();
    return undone ? Result<void>() : apply(record);
  });
  if (!reached) {
    broken_ = reached.error();
    return *broken_;
  }
  if (undone) return replay_from_base();
  position_ = *reached;
  return {};
}

// Twice through the log: what was undone is known only behind it.
Result<void> LiveBody::replay_from_base() const {
  broken_ = Error{Code::io, file_->name() + " could not be followed; open it again"};
  if (auto begun = begin_from_base(Sharing::own); !begun) return begun;
  runs_.clear();
  outputs_.clear();
  std::vector<std::uint64_t> undone;
  std::uint64_t at = 0;
  const auto noted = file_->follow(0, [&](const LogRecord& record) -> Result<void> {
    if (record.op == LogOp::undo) {
      const auto run = runs_.find(record.run);
      if (run != runs_.end()) {
        undone.insert(undone.end(), run->second.pending.begin(), run->second.pending.end());
        runs_.erase(run);
      }
    }
    note(record, at);
    at += record.bytes();
    return {};
  });
  if (!noted) return noted.error();
  if (options_.read_only) {
    // Whoever opens it next to add will write down what is left out here.
    const auto dead = dead_runs();
    if (!dead) return dead.error();
    for (const std::uint32_t run : *dead)
      undone.insert(undone.end(), runs_[run].pending.begin(), runs_[run].pending.end());
  }
  std::ranges::sort(undone);
  at = 0;
  const auto reached = file_->follow(0, [&](const LogRecord& record) -> Result<void> {
    const std::uint64_t here = std::exchange(at, at + record.bytes());
    if (here >= *noted || std::ranges::binary_search(undone, here)) return {};
    return apply(record);
  });
  if (!reached) return reached.error();
  position_ = *noted;
  broken_.reset();
  return {};
}

namespace {

// Can this be a file that was put in the place of one that ended with this epoch? Any other live
// file may have got its name since.
bool follows(const LiveHead& before, const LiveHead& next, std::uint64_t epoch) {
  const auto first_kind = [](const LiveHead& head) {
    const auto& parts = head.directory.parts.parts;
    return parts.empty() ? std::optional<std::uint32_t>() : parts.front().kind;
  };
  return next.block.live.regions == 1 && next.block.live.epoch > epoch &&
         next.hasher == before.hasher && first_kind(next) == first_kind(before) &&
         next.directory.parts.form == before.directory.parts.form;
}

}  // namespace

Result<void> LiveBody::reopen() const {
  const std::uint64_t epoch = file_->epoch();
  const bool secret = head().hasher.mode() == HashMode::hardened;
  const auto access = options_.read_only ? SharedFile::Access::read : SharedFile::Access::change;
  auto file = LiveFile::open(file_->path(),
                             secret ? std::optional(head().hasher.key()) : std::nullopt, access);
  if (!file) return file.error();
  // Before anything is done to it.
  if (!follows(head(), (*file)->head(), epoch))
    return Error{Code::mismatch, file_->name() + " was replaced by another set; open it again"};
  if (!options_.read_only) {
    auto found = (*file)->attach(replay(), marking());
    if (!found) return found.error();
  } else if (auto looked = (*file)->look_at_rest(); !looked) {
    return looked.error();
  }
  if (auto sound = (*file)->check_sums(marking()); !sound) return sound.error();
  // Replaced once more in the meantime: whoever calls this goes on to the next one.
  if (!(*file)->has_its_name() && !(*file)->is_replaced())
    return Error{Code::mismatch, file_->name() + " was replaced by another program; open it again"};
  {
    const std::lock_guard changing(file_changes_);
    file_ = std::move(*file);
  }
  // Runs keep their numbers: the new file has not given any of these.
  if (run_ != 0) {
    if (auto begun = file_->begin_running(run_); !begun) {
      broken_ = begun.error();  // what is read here is of the file before
      return begun;
    }
    file_->expect_runs_from(run_);
  }
  return replay_from_base();
}

// Without a turn: another process may have put a file with a shorter log in the place of this one,
// and all that is added since is there.
Result<void> LiveBody::follow_newest() const {
  if (in_place()) return join_others();
  for (int tries = 0;; ++tries) {
    const bool replaced = file_->is_replaced();
    if (auto followed = follow(); !followed || !replaced || tries == most_tries) return followed;
    if (auto opened = reopen(); !opened) return opened;
  }
}

Result<void> LiveBody::shorten_log() {
  constexpr std::uint64_t long_log_bytes = std::uint64_t{1} << 20;
  const auto is_long = [&] {
    return file_->log_bytes() > std::max(long_log_bytes, file_->image_bytes() / 2);
  };
  if (in_place() || !is_long()) return {};
  {
    LiveFile::Turn turn(*file_);
    if (turn.retired() != Retired::no || !turn.check()) return {};
    // Whoever else has put something under the name, or knows this file by another one, keeps it.
    if (!file_->is_only_name()) return {};
    if (auto followed = follow(); !followed) return followed;
    // Adds that may still be undone must stay in a log.
    const bool pending =
        std::ranges::any_of(runs_, [](const auto& run) { return !run.second.pending.empty(); });
    if (pending || !is_long()) return {};
    const auto now = image();
    if (!now) return now.error();
    FirstRecords first{.epoch = file_->epoch() + 1};
    std::vector<std::vector<std::uint64_t>> words;
    for (const auto& [path, output] : outputs_) words.push_back(words_of_output(output));
    // One at least, of no output: it keeps the numbers of runs that were given.
    if (words.empty()) words.push_back(words_of_output({}));
    for (const auto& output : words)
      first.records.push_back({.op = LogOp::done,
                               .form = file_->form(),
                               .keys = static_cast<std::uint32_t>(output.size()),
                               .run = std::max(1U, file_->newest_run()),
                               .content = output});
    const LiveCreation how{.overwrite = Overwrite::replace, .followed = true};
    const auto made = turn.retire(Retired::replaced, [&] {
      return create_live_file(file_->path(), row(), *now, how, first);
    });
    if (!made) return made;
  }
  return reopen();
}

}  // namespace bloomery::inline v0::detail
