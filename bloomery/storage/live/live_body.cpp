#include <bloomery/storage/live/live_body.hpp>

#include <algorithm>
#include <utility>
#include <variant>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/image.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Few enough that others get their turn soon, many enough that the lock costs nothing.
constexpr std::size_t most_keys_a_turn = 8192;
constexpr std::size_t few_keys = 4;

Error not_live(const std::string& what) {
  return {Code::unsupported,
          "a live set cannot " + what + "; seal it to make an ordinary set of it, which can"};
}

std::size_t size_of(const AnyInputs& inputs) {
  return std::visit([](const auto& span) { return span.size(); }, inputs);
}
AnyInputs part_of(const AnyInputs& inputs, std::size_t first, std::size_t count) {
  return std::visit([&](const auto& span) -> AnyInputs { return span.subspan(first, count); },
                    inputs);
}

}  // namespace

Result<std::unique_ptr<LiveBody>> LiveBody::open(const std::filesystem::path& path,
                                                 const LiveOptions& options, Recovery& recovery) {
  for (int tries = 0;; ++tries) {
    if (options.read_only) return open_to_ask(path, options, Sharing::shared);
    auto file = LiveFile::open(path, options.key, SharedFile::Access::change);
    if (!file) return file.error();
    std::unique_ptr<LiveBody> body(new LiveBody(std::move(*file), options));
    if (auto begun = body->begin_from_base(Sharing::shared); !begun) return begun.error();
    LiveBody& mine = *body;
    auto found = mine.file_->attach(mine.replay(), mine.marking());
    if (!found) return found.error();
    // Of a followed set the image is read as a whole all the same.
    const auto sound = mine.in_place() ? Result<void>() : mine.file_->check_sums(mine.marking());
    LiveFile::Turn turn(*mine.file_);
    // Another process has put a newer file under the name in the meantime.
    if ((turn.retired() == Retired::replaced || !mine.file_->has_its_name()) && tries < most_tries)
      continue;
    if (auto good = turn.check(); !good) return good.error();
    if (!mine.in_place()) {
      if (!sound) return sound.error();
      if (auto followed = mine.replay_from_base(); !followed) return followed.error();
      const auto undone = mine.undo_dead_runs(turn);
      if (!undone) return undone.error();
      found->undone_keys = *undone;
    }
    recovery = *found;
    return body;
  }
}

Result<std::unique_ptr<LiveBody>> LiveBody::open_to_ask(const std::filesystem::path& path,
                                                        const LiveOptions& options, Sharing wanted,
                                                        Secret secret) {
  auto file = LiveFile::open(path, options.key, SharedFile::Access::read, secret);
  if (!file) return file.error();
  std::unique_ptr<LiveBody> body(new LiveBody(std::move(*file), options));
  LiveBody& mine = *body;
  if (auto whole = mine.file_->expect_closed_log(); !whole) return whole.error();
  if (auto looked = mine.file_->look_at_rest(); !looked) return looked.error();
  if (!mine.in_place()) {
    if (auto sound = mine.file_->check_sums(mine.marking()); !sound) return sound.error();
    if (auto followed = mine.replay_from_base(); !followed) return followed.error();
    return body;
  }
  if (!mine.file_->is_at_rest() || mine.file_->is_whole_at_rest()) {
    if (auto begun = mine.begin_from_base(wanted); !begun) return begun.error();
    return body;
  }
  for (const Sharing sharing : {Sharing::shared, Sharing::own}) {
    if (sharing != wanted && wanted == Sharing::own) continue;
    if (auto begun = mine.begin_from_base(sharing); !begun) return begun.error();
    bool whole = true;
    const auto done = mine.file_->each_logged([&](const LogRecord& record) -> Result<void> {
      if (sharing == Sharing::own) return mine.apply(record);
      if (!whole) return {};
      const auto has = mine.has_all_of(record);
      if (!has) return has.error();
      whole = *has;
      return {};
    });
    if (!done) return done.error();
    mine.has_own_bytes_ = sharing != wanted;
    if (whole) break;
  }
  return body;
}

// Who opened it before it was recovered, which needed bytes of its own, goes back to those that all
// share.
Result<void> LiveBody::join_others() const {
  if (!has_own_bytes_ || file_->is_at_rest()) return {};
  if (auto begun = begin_from_base(Sharing::shared); !begun) return begun;
  has_own_bytes_ = false;
  return {};
}

LiveFile::Replay LiveBody::replay() const {
  if (!in_place()) return {.again = [](const LogRecord&) { return Result<void>(); }, .has = {}};
  return {.again = [this](const LogRecord& record) { return apply(record); },
          .has = [this](const LogRecord& record) { return has_all_of(record); }};
}

Result<bool> LiveBody::has_all_of(const LogRecord& record) const {
  if (!is_of_keys(record.op)) return not_in_place();
  // Whoever was to add these may have ended before it set their bits.
  if (record.op == LogOp::settled) return true;
  marks_.resize(record.keys);
  bool* const answers = reinterpret_cast<bool*>(marks_.data());
  const auto asked = inner().ask(record.inputs(row().input == InputForm::ordinal), answers);
  if (!asked) return asked.error();
  return std::all_of(answers, answers + record.keys, [](bool has) { return has; });
}

Error LiveBody::not_in_place() const {
  return {Code::damaged, file_->name() +
                             " is damaged: its log tells of something that cannot be done to a set "
                             "in place; restore it from a copy or build it again"};
}

LiveBody::~LiveBody() { static_cast<void>(close().has_value()); }

Result<void> LiveBody::begin_from_base(Sharing sharing) const {
  auto parts = file_->image_parts(sharing == Sharing::own);
  if (!parts) return parts.error();
  auto set = AnySet::from_parts(std::move(*parts), head().hasher, head().directory.rules);
  if (!set) return Error{set.error().code, file_->name() + ": " + set.error().sentence};
  inner_.emplace(std::move(*set));
  if (row_ == nullptr) row_ = &inner().row();
  return {};
}

LogRecord LiveBody::record_of(LogOp op, const AnyInputs& inputs) const {
  LogRecord record{.op = op, .form = file_->form(), .run = run_};
  record.content = words_of(inputs, record.words);
  record.keys = static_cast<std::uint32_t>(size_of(inputs));
  return record;
}

LiveFile::Mark LiveBody::marking() const {
  return [this](const LogRecord& record, ChunkMarks& marks) {
    inner().mark_chunks(record.inputs(row().input == InputForm::ordinal), marks);
  };
}

// -- adding ---------------------------------------------------------------------------------------

Result<void> LiveBody::expect_open() const {
  if (options_.read_only)
    return Error{Code::unsupported, file_->name() + " was opened to be asked only"};
  if (is_closed_) return Error{Code::unsupported, file_->name() + " was closed; open it again"};
  if (file_->is_of_parent())
    return Error{Code::unsupported,
                 file_->name() + " was opened before fork(); open it again in this process"};
  return {};
}

Result<std::size_t> LiveBody::add(const AnyInputs& inputs, bool* fresh) {
  // Before the locks: the cache miss of a lone key lasts about as long as they and its record. More
  // keys at once hide each other's. Who adds in place never gets another inner set, so it needs no
  // turn for this.
  if (in_place_ && !options_.read_only && size_of(inputs) <= few_keys) inner().prefetch(inputs);
  const Turns turn(turns_);
  if (auto open = expect_open(); !open) return open.error();
  std::size_t count = 0;
  const std::size_t keys = size_of(inputs);
  if (keys == 0) {
    // A kind that takes no keys says so also here.
    return inner().add(inputs, fresh);
  }
  std::uint8_t words = 1;
  words_of(inputs, words);
  const std::size_t most = std::clamp<std::size_t>(
      (file_->most_record_bytes() - LogRecord::head_bytes) / (8 * words), 1, most_keys_a_turn);
  Result<void> failed;
  for (std::size_t first = 0; first < keys && failed; first += most) {
    const AnyInputs some = part_of(inputs, first, std::min(most, keys - first));
    bool* const marks = fresh == nullptr ? nullptr : fresh + first;
    Result<std::size_t> added = std::size_t{0};
    if (!had_memory(
            [&] { added = in_place() ? add_in_place(some, marks) : add_followed(some, marks); })) {
      // What it has of them nobody is told. Followed: what this copy has is not what the log says.
      if (marks != nullptr) std::fill(marks, marks + size_of(some), false);
      added = Error{Code::no_memory, "the system does not give that much memory"};
      if (!in_place()) broken_ = added.error();
    }
    if (!added) {
      failed = added.error();
      // Of a followed set nothing was logged, but where it became full on the way.
      const bool some_are_in =
          in_place() || (failed.error().code == Code::full && row().keeps_copies);
      const std::size_t tried = some_are_in ? size_of(some) : 0;
      if (fresh != nullptr) std::fill(fresh + first + tried, fresh + keys, false);
    } else {
      count += *added;
    }
  }
  if (!failed) return failed.error();
  return count;
}

LogRecord LiveBody::only_new(LogRecord record, const bool* fresh, std::size_t count) {
  scratch_.resize(record.content.size());
  std::size_t kept = 0;
  for (std::uint32_t key = 0; key < record.keys; ++key) {
    if (!fresh[key]) continue;
    for (std::uint8_t word = 0; word < record.words; ++word)
      scratch_[kept++] = record.content[std::size_t{key} * record.words + word];
  }
  record.keys = static_cast<std::uint32_t>(count);
  record.content = std::span(scratch_).first(kept);
  return record;
}

void LiveBody::call_for_pages(const AnyInputs& inputs) {
  constexpr std::size_t least_keys = 16, looked_at = 8;
  constexpr std::uint32_t most_skipped = 255;
  if (size_of(inputs) < least_keys) return;
  if (calls_to_skip_ > 0) {
    --calls_to_skip_;
    return;
  }
  ChunkMarks some = file_->no_pages();
  inner().mark_chunks(part_of(inputs, 0, looked_at), some);
  if (file_->are_resident(some)) {
    calls_to_skip_ = skipped_last_ = std::min(2 * skipped_last_ + 1, most_skipped);
    return;
  }
  skipped_last_ = 0;
  ChunkMarks all = file_->no_pages();
  inner().mark_chunks(inputs, all);
  file_->call_for(all);
}

Result<std::size_t> LiveBody::add_in_place(const AnyInputs& inputs, bool* fresh) {
  // Keys that the kind does not take are refused before anything is noted, and so is an integer
  // outside the range.
  if (std::holds_alternative<std::span<const Ordinal>>(inputs) !=
      (row().input == InputForm::ordinal))
    return inner().add(inputs, fresh);
  if (const auto* const ordinals = std::get_if<std::span<const Ordinal>>(&inputs))
    if (const auto range = inner().facts().range)
      for (const Ordinal n : *ordinals)
        if (n.value < range->low || n.value > range->high) return inner().add(inputs, fresh);
  call_for_pages(inputs);
  LogRecord record = record_of(LogOp::add, inputs);
  marks_.resize(record.keys);
  bool* const marks = fresh != nullptr ? fresh : reinterpret_cast<bool*>(marks_.data());
  for (;;) {
    LiveFile::Turn turn(*file_);
    if (auto good = turn.check(); !good) return good.error();
    const auto room = turn.has_room(record.bytes());
    if (!room) return room.error();
    if (!*room) {
      turn.unlock();
      if (auto made = file_->make_room(marking()); !made) return made.error();
      continue;
    }
    if (auto intended = turn.intend(record, by_call(record)); !intended) return intended.error();
    const auto added = inner().add(inputs, marks);
    // Keys of another sort are refused, before any bit is set.
    if (!added) {
      if (auto gone = turn.publish({}, false); !gone) return gone.error();
      return added.error();
    }
    const LogRecord logged = *added == record.keys ? record : only_new(record, marks, *added);
    const bool is_written = logged.keys == record.keys;
    if (auto published = turn.publish(logged, by_call(record), is_written); !published)
      return published.error();
    turn.unlock();
    if (auto done = checkpoint_if_due(); !done) return done.error();
    return *added;
  }
}

// A thread that syncs in the background does so every now and then, too.
Result<void> LiveBody::checkpoint_if_due() {
  if (hurry_) {
    if (file_->is_nearly_full() && !is_hurried_.exchange(true)) hurry_();
    return {};
  }
  constexpr std::uint64_t looked_at_every = 64U << 10;
  const std::uint64_t looked_at = file_->published() / looked_at_every;
  if (std::exchange(looked_at_, looked_at) == looked_at || !file_->is_checkpoint_due()) return {};
  return file_->checkpoint(marking(), LiveFile::Others::left);
}

Result<std::size_t> LiveBody::change(const std::function<Result<std::size_t>(LogRecord&)>& work) {
  for (int tries = 0;; ++tries) {
    LiveFile::Turn turn(*file_);
    if (turn.retired() == Retired::replaced && tries < most_tries) {
      if (auto followed = follow(); !followed) return followed.error();
      turn.unlock();
      if (auto opened = reopen(); !opened) return opened.error();
      continue;
    }
    if (auto good = turn.check(); !good) return good.error();
    if (auto followed = follow(); !followed) return followed.error();
    LogRecord record;
    const auto done = work(record);
    const bool full = !done && done.error().code == Code::full && row().keeps_copies;
    if (!done && !full) {
      // Part of it may have been done here, and nowhere else.
      if (record.keys > 0) broken_ = done.error();
      return done.error();
    }
    if (record.keys > 0 || record.op == LogOp::clear) {
      const std::uint64_t at = file_->published();
      if (auto logged = turn.append(record, by_call(record)); !logged) {
        broken_ = logged.error();
        return logged.error();
      }
      note(record, at);
      position_ = file_->published();
    }
    return done;
  }
}

Result<std::size_t> LiveBody::add_followed(const AnyInputs& inputs, bool* fresh) {
  marks_.resize(size_of(inputs));
  bool* const marks = fresh != nullptr ? fresh : reinterpret_cast<bool*>(marks_.data());
  const bool new_only = logs_new_keys_only();
  return change([&](LogRecord& record) -> Result<std::size_t> {
    record = record_of(LogOp::add, inputs);
    const auto added = inner().add(inputs, marks);
    if (!added || !new_only) return added;
    if (*added < record.keys) record = only_new(record, marks, *added);
    return added;
  });
}

// Of a verb that failed, too: what it did before that may be acknowledged.
Result<void> LiveBody::keep_promise() {
  if (options_.durability != Durability::every || options_.read_only) return {};
  const Turns turn(turns_);
  if (is_closed_) return closed_;
  return file_->make_durable(file_->published(), LiveFile::Company::awaited);
}

Result<std::size_t> LiveBody::remove(const AnyInputs& inputs, bool* removed) {
  const Turns turn(turns_);
  if (in_place() && row().removes) return not_live("forget keys in place");
  if (auto open = expect_open(); !open) return open.error();
  if (size_of(inputs) == 0 || !row().removes) return inner().remove(inputs, removed);
  std::size_t count = 0;
  const std::size_t keys = size_of(inputs);
  for (std::size_t first = 0; first < keys; first += most_keys_a_turn) {
    const AnyInputs some = part_of(inputs, first, std::min(most_keys_a_turn, keys - first));
    const auto gone = change([&](LogRecord& record) -> Result<std::size_t> {
      auto done = inner().remove(some, removed == nullptr ? nullptr : removed + first);
      if (done) record = record_of(LogOp::remove, some);
      return done;
    });
    if (!gone) return gone;
    count += *gone;
  }
  return count;
}

Result<void> LiveBody::clear() {
  const Turns turn(turns_);
  if (in_place() || options_.read_only) return not_live("be cleared");
  if (auto open = expect_open(); !open) return open;
  const auto done = change([&](LogRecord& record) -> Result<std::size_t> {
    if (auto cleared = inner().clear(); !cleared) return cleared.error();
    record.op = LogOp::clear;
    return std::size_t{0};
  });
  if (!done) return done.error();
  return {};
}

Result<void> LiveBody::advance_to(std::uint64_t time, std::uint64_t span) {
  const Turns turn(turns_);
  if (auto open = expect_open(); !open) return open;
  const auto done = change([&](LogRecord& record) -> Result<std::size_t> {
    if (auto moved = inner().advance_to(time, span); !moved) return moved.error();
    scratch_ = {time, span};
    record = {.op = LogOp::advance, .words = 2, .form = file_->form(), .keys = 1, .run = run_};
    record.content = scratch_;
    return std::size_t{0};
  });
  if (!done) return done.error();
  return {};
}

Result<void> LiveBody::merge(Merge, const Body&) { return not_live("be merged into"); }

// -- asking ---------------------------------------------------------------------------------------

Result<void> LiveBody::ask(const AnyInputs& inputs, bool* answers) const {
  const Turns turn(turns_);
  if (auto followed = follow_newest(); !followed) return followed;
  return inner().ask(inputs, answers);
}

Result<void> LiveBody::count(const AnyInputs& inputs, std::uint64_t* counts) const {
  const Turns turn(turns_);
  if (auto followed = follow_newest(); !followed) return followed;
  return inner().count(inputs, counts);
}

BodyFacts LiveBody::facts() const {
  const Turns turn(turns_);
  BodyFacts facts = newest([](const Body& set) { return set.facts(); });
  if (in_place()) facts.adds = file_->adds();
  facts.shared = true;
  return facts;
}

Result<Parts> LiveBody::parts() const {
  const Turns turn(turns_);
  if (auto followed = follow_newest(); !followed) return followed.error();
  if (in_place()) inner().tell_adds(file_->adds());
  return inner().parts();
}

// -- the file -------------------------------------------------------------------------------------

Result<void> LiveBody::sync() {
  const Turns turn(turns_);
  if (is_closed_) return closed_;
  return file_->make_durable(file_->published());
}
void LiveBody::sync_aside() {
  is_hurried_ = false;
  const std::lock_guard staying(file_changes_);
  if (!in_place()) {
    static_cast<void>(file_->make_durable_aside().has_value());
    return;
  }
  if (!aside_) {
    auto twin = file_->twin();
    if (!twin) {
      // Only the checkpoints are left to those who add.
      static_cast<void>(file_->make_durable_aside().has_value());
      return;
    }
    aside_ = std::move(*twin);
  }
  // A checkpoint before the log is full, so that nobody who adds waits for it.
  const auto sync_log = [&] { static_cast<void>(aside_->make_durable_aside().has_value()); };
  sync_log();
  if (!aside_->is_checkpoint_due()) return;
  static_cast<void>(aside_->checkpoint(marking(), LiveFile::Others::left, sync_log).has_value());
}
Result<void> LiveBody::checkpoint() {
  const Turns turn(turns_);
  if (auto open = expect_open(); !open) return open;
  if (auto done = file_->checkpoint(marking()); !done) return done;
  return shorten_log();
}

Result<void> LiveBody::close() {
  // Another thread of the parent may have had its turn.
  if (file_->is_of_parent()) return {};
  const Turns turn(turns_);
  if (std::exchange(is_closed_, true)) return {};
  closed_ = file_->detach(marking());
  return closed_;
}

Result<void> LiveBody::verify() const {
  const Turns turn(turns_);
  return file_->check_sums(marking());
}

Result<Image> LiveBody::image() const {
  const Turns turn(turns_);
  auto whole = parts();
  if (!whole) return whole.error();
  const bool secret = head().hasher.mode() == HashMode::hardened;
  Image image;
  image.parts = std::move(*whole);
  image.hasher = head().hasher;
  image.rules = head().directory.rules;
  image.rules.form = file_->form();
  image.uuid = head().block.uuid;
  image.key_is_elsewhere = secret && !head().directory.key;
  return image;
}

Result<void> LiveBody::seal(const std::function<Result<void>(const Image&)>& save) {
  const Turns mine(turns_);
  LiveFile::Turn turn(*file_);
  if (auto good = turn.check(); !good) return good;
  // What is saved gets new checksums.
  if (auto sound = file_->check_sums(marking()); !sound) return sound;
  const auto whole = image();
  if (!whole) return whole.error();
  // An ordinary set has them for ever, and the run could not bring them to its output any more.
  for (const auto& [run, of_run] : runs_)
    if (!of_run.pending.empty())
      return Error{Code::exists, file_->name() +
                                     " has keys of a run that is under way, which are not in its "
                                     "output yet; seal it when that run has ended"};
  return turn.retire(Retired::sealed, [&] { return save(*whole); });
}

}  // namespace bloomery::inline v0::detail
