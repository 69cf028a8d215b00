// How a live file is joined and left, and what the first one to come does about those that ended in
// the middle.
//
// The runtime page tells more than the image and the log: up to where the log counts, and that the
// payload has all of it. But it lies in the file, and comes along when the file is copied, even
// over itself (cp backup F). So it is believed only where it agrees with the rest:
//
//    mark, boot, file     of this build, this run of the system, this file
//    generation           that of the superblock, or one less: a copy reads the superblock first
//    published            the log ends there
//    every key of the log is in the payload, which a copy reads before the log
//
// What does not agree was copied while others added. It is recovered as after a power cut.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/live/live_file.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Processes share the locks only if they agree on this page and on what a mutex is.
constexpr std::uint64_t runtime_mark = 0x4245'5649'4c00'0001U ^
                                       (std::uint64_t{sizeof(LiveRuntime)} << 8) ^
                                       (std::uint64_t{sizeof(pthread_mutex_t)} << 24);
// After what cannot be trusted, records of any epoch near that of the superblock may lie behind the
// end that was found, and must never count. The same region is next.
constexpr std::uint64_t far_epochs = std::uint64_t{1} << 32;
// A log that is longer when the last one closes is emptied first, so that the next open is quick.
constexpr std::uint64_t long_log_bytes = std::uint64_t{1} << 20;

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &kind);
  pthread_mutexattr_destroy(&kind);
}

LogRecord unpacked(std::uint64_t intent) {
  LogRecord record;
  record.keys = static_cast<std::uint32_t>(intent);
  record.words = static_cast<std::uint8_t>(intent >> 32);
  record.form = static_cast<KeyForm>(intent >> 40);
  return record;
}

}  // namespace

bool LiveFile::is_ready() const {
  return runtime_->mark == runtime_mark && is_this_boot(runtime_->boot) &&
         runtime_->file == file_.identity();
}
bool LiveFile::is_copy() const {
  return runtime_->mark == runtime_mark && runtime_->file != file_.identity();
}
bool LiveFile::is_recovered() const { return is_ready() && runtime_->recovered != 0; }

// The page first: a superblock is never older than what the page knows, but in a copy.
Result<bool> LiveFile::has_parts_of_different_times() const {
  const std::uint64_t known = runtime_->mark == runtime_mark ? runtime_->generation.load() : 0;
  const auto head = read_head();
  if (!head) return head.error();
  return head->block.generation < known;
}

Result<std::uint64_t> LiveFile::expect_whole_log(std::uint64_t expected) const {
  const std::uint64_t epoch = head_.block.live.epoch;
  const Visit look = [](const LogRecord&) { return Result<void>(); };
  std::uint64_t there = 0;
  for (const std::uint64_t one : {epoch, epoch + 1}) {
    if (one != epoch && !in_place()) break;
    const auto end = each_record(region(one), seal(one), look);
    if (!end) return end.error();
    there += *end;
  }
  if (there >= expected) return there;
  return Error{Code::damaged,
               name() + " is damaged: its log should have " + std::to_string(expected) +
                   " bytes, and only the first " + std::to_string(there) +
                   " match their checksums; restore it from a copy or build it again"};
}

Result<void> LiveFile::expect_closed_log() const {
  if (head_.block.live.boot != Boot{}) return {};
  const auto whole = expect_whole_log(head_.block.live.log_end);
  if (whole) return {};
  // It may have been opened, and its log begun again, since its superblock was read.
  const auto now = read_head();
  if (now && now->block.generation != head_.block.generation) return {};
  return whole.error();
}

void LiveFile::make_ready(const LiveFields& live, std::uint64_t generation) {
  std::memset(static_cast<void*>(runtime_), 0, page_bytes);
  make_mutex(runtime_->add_lock);
  make_mutex(runtime_->sync_lock);
  make_mutex(runtime_->checkpoint_lock);
  runtime_->epoch = runtime_->saved_epoch = live.epoch;
  runtime_->adds = runtime_->adds_before[live.epoch & 1] = live.adds;
  runtime_->generation = generation;
  runtime_->form = static_cast<std::uint32_t>(live.form);
  runtime_->boot = this_boot();
  runtime_->file = file_.identity();
  runtime_->thread_numbers = thread_numbers();
  look_for_holes();
  runtime_->mark = runtime_mark;
}

Result<Recovery> LiveFile::attach(const Replay& replay, const Mark& mark) {
  if (!is_this_boot(this_boot()))
    return Error{Code::unsupported,
                 name() +
                     " cannot be changed where /proc/sys/kernel/random/boot_id cannot be read: it "
                     "tells whether the system was started since"};
  if (auto locked = file_.lock_door(); !locked) return locked.error();
  Result<Recovery> recovery = [&]() -> Result<Recovery> {
    const auto alone = file_.attach_alone();
    if (!alone) return alone.error();
    // What was read before the door was locked may be old.
    auto head = read_head();
    if (!head) return head.error();
    head_ = std::move(*head);
    const auto bytes = file_.size_bytes();
    if (!bytes) return bytes.error();
    if (auto mapped = map_log(*bytes); !mapped) return mapped.error();
    if (*alone) {
      auto found = recover(replay, mark);
      expect_anywhere();
      return found;
    }
    expect_anywhere();
    if (runtime_->mark != runtime_mark)
      return Error{Code::unsupported,
                   name() +
                       " is in use by a program whose locks are others; use one build of this "
                       "library for all"};
    // A robust lock knows its owner by the number of a thread.
    if (runtime_->thread_numbers != thread_numbers())
      return Error{Code::unsupported,
                   name() +
                       " is in use by a program in another PID namespace, such as another "
                       "container; let all programs that share the set share one namespace"};
    return Recovery{};
  }();
  attached_ = recovery.has_value();
  file_.unlock_door();
  return recovery;
}

void LiveFile::expect_anywhere() const {
  if (!in_place()) return;
  const Region& place = head_.layout.payloads.at(0);
  SharedFile::expect(SharedFile::Use::anywhere, image_, place.offset, place.length);
}

// How much of the log that counts lies before a position.
std::uint64_t LiveFile::log_bytes_before(std::uint64_t position) const {
  const std::uint64_t begin =
      in_place() ? runtime_->starts[head_.block.live.epoch & 1].load() : std::uint64_t{0};
  return position - std::min(begin, position);
}

// In place, of a file that was not copied as far as its page tells.
Result<bool> LiveFile::payload_has_all(std::uint64_t log_bytes, std::uint64_t expected,
                                       const Replay& replay) const {
  if (log_bytes < expected) return false;
  bool all = true;
  std::uint64_t at = 0;
  // Of an add that was under way the record may be there, and nobody has acknowledged it.
  std::uint64_t behind = 0;
  const auto looked = each_logged([&](const LogRecord& record) -> Result<void> {
    at += record.bytes();
    if (at > expected) ++behind;
    if (!all || behind > 0) return {};
    const auto has = replay.has(record);
    if (!has) return has.error();
    all = *has;
    return {};
  });
  if (!looked) return looked.error();
  return all && behind <= 1;
}

// The record behind the one that was counted last, if there is one. The log ends before it for
// good: what is added next may be shorter.
Result<void> LiveFile::drop_uncounted() const {
  const std::uint64_t epoch = runtime_->epoch, at = log_bytes();
  const auto bytes = region(epoch);
  if (at > bytes.size()) return {};
  const Visit look = [](const LogRecord&) { return Result<void>(); };
  const auto end = each_record(bytes, seal(epoch), look, at);
  if (!end) return end.error();
  if (*end == at) return {};
  const std::array<std::byte, LogRecord::head_bytes> nothing{};
  return file_.write(region_at(epoch) + at, nothing);
}

Result<Recovery> LiveFile::recover(const Replay& replay, const Mark& mark) {
  const LiveFields live = head_.block.live;
  const bool failed = is_ready() && runtime_->failed != 0;
  const auto mixed = has_parts_of_different_times();
  if (!mixed) return mixed.error();
  const bool page_fits = is_recovered() && !failed && !*mixed;
  bool closed = live.boot == Boot{} && !failed && !*mixed;
  bool same_run = page_fits && is_this_boot(live.boot);
  Recovery found{.was_cut = !closed,
                 .lost_power = !failed && live.boot != Boot{} && !is_this_boot(live.boot),
                 .sync_failed = failed};
  if (auto sound = check_image_bytes(name(), head_, std::as_const(image_).bytes(), closed); !sound)
    return sound.error();
  // Before the page is made ready for others: what it knows of the log, or the superblock does.
  const bool by_page = !closed && (same_run || failed);
  const std::uint64_t promised = by_page  ? log_bytes_before(runtime_->durable)
                                 : *mixed ? 0
                                          : live.log_end;
  const auto log_bytes = expect_whole_log(promised);
  if (!log_bytes) return log_bytes.error();
  const std::uint64_t expected =
      by_page && !failed ? log_bytes_before(runtime_->published) : promised;
  // The disk went and came back: what was not synced may be lost in one run of the system, too.
  if (*log_bytes < expected) {
    same_run = false;
    found.lost_power = true;
  }
  bool has_all = in_place() && page_fits && (closed || same_run);
  // Whoever adds to a file that was closed opens it first, which the page would tell.
  if (has_all && !(closed && *log_bytes == live.log_end)) {
    const auto all = payload_has_all(*log_bytes, expected, replay);
    if (!all) return all.error();
    // Copied while others added, or the disk went and came back: nobody knows when its pages were
    // read or written.
    if (!*all) has_all = closed = same_run = false;
    found.was_cut = !closed;
  }
  // Of an add that ended between its record and its intent no bit is set, and nobody knows whether
  // its keys are new.
  const bool uncounted = has_all && same_run && *log_bytes > expected && runtime_->intent == 0;
  if (uncounted)
    if (auto done = drop_uncounted(); !done) return done.error();
  if ((same_run || failed) && in_place()) settle_intent();
  if (runtime_->failed != 0 && !failed && same_run) return poisoned();
  const std::uint32_t retired = same_run || failed ? runtime_->retired.load() : 0;
  if (failed)
    if (auto again = write_again(); !again) return again.error();
  // A generation that is newer than the superblock's tells of the copy until that is recovered. And
  // the file that it was copied from may have gone on with the generations behind it.
  std::uint64_t generation = head_.block.generation;
  if (*mixed) generation = runtime_->generation;
  if (!closed && !same_run && !failed) generation += far_epochs;
  const std::uint32_t failure = failed ? runtime_->failed.load() : 0;
  make_ready(live, generation);
  runtime_->retired = retired;
  runtime_->failed = failure;  // until all is recovered
  // What is believed from here on may not be on the disk yet: what one before has written and not
  // synced, or cp, also over the file itself. Not before the page is ready: it keeps a failure.
  if (!failed)
    if (auto done = sync(image_, 0, image_.size()); !done) return done.error();

  KeyForm form = live.form;
  std::uint64_t newest_epoch = live.epoch, seen = 0;
  const auto again = [&](const LogRecord& record) -> Result<void> {
    ++found.records;
    if (is_of_keys(record.op)) found.keys += record.keys;
    form = joined(form, record.form);
    newest_epoch = std::max(newest_epoch, record.epoch);
    runtime_->runs = std::max<std::uint64_t>(runtime_->runs, record.run);
    if (in_place() && record.op == LogOp::add) add_adds(record.keys);
    seen += record.bytes();
    return has_all && seen <= expected ? Result<void>() : replay.again(record);
  };
  const auto first = each_record(region(live.epoch), seal(live.epoch), again);
  if (!first) return first.error();
  runtime_->published = *first;
  if (in_place()) {
    const std::uint64_t adds_of_first = adds();
    const auto second = each_record(region(live.epoch + 1), seal(live.epoch + 1), again);
    if (!second) return second.error();
    if (*second > 0) {
      const std::uint64_t next = live.epoch + 1;
      runtime_->starts[next & 1] = *first;
      // Only now: what the log of live.epoch has is not yet in the superblock's count.
      runtime_->adds_before[next & 1] = adds_of_first;
      runtime_->epoch = next;
      runtime_->published = *first + *second;
    }
  }
  runtime_->form = static_cast<std::uint32_t>(form);

  if (in_place() && !closed && !same_run) {
    // Any page may have been written, also with bits that the log has lost: all sums are taken
    // again.
    ChunkMarks marks = no_marks();
    marks.mark_all();
    found.summed_bytes = head_.layout.payloads.at(0).length;
    const std::uint64_t next = live.epoch + far_epochs;
    runtime_->epoch = live.epoch;
    runtime_->starts[0] = runtime_->starts[1] = runtime_->published = 0;
    runtime_->adds_before[next & 1] = adds();
    if (auto done = finish_checkpoint(mark, next, std::move(marks)); !done) return done.error();
    runtime_->epoch = next;
  } else if (in_place() && runtime_->epoch != live.epoch) {
    if (auto done = finish_checkpoint(mark, live.epoch + 1, no_marks()); !done) return done.error();
  } else if (!same_run) {
    if (auto done = write_superblock(live.epoch, live.adds, false); !done) return done.error();
  }
  // Generations are on the disk before the first key, and never come twice: nor does such an epoch.
  if (!in_place())
    runtime_->epoch = std::max(newest_epoch, live.epoch + runtime_->generation.load());
  runtime_->failed = 0;
  runtime_->recovered = 1;
  return found;
}

std::optional<LogRecord> LiveFile::intended() const {
  const std::uint64_t intent = runtime_->intent;
  // Its record counts already: who wrote it ended before it could say so.
  if (intent == 0 || runtime_->intent_at != runtime_->published) return {};
  LogRecord record = unpacked(intent);
  record.op = LogOp::settled;
  record.epoch = runtime_->epoch;
  const std::uint64_t at = log_bytes();
  const auto bytes = region(record.epoch);
  if (record.words < 1 || record.words > 2 || at > bytes.size() ||
      record.bytes() > bytes.size() - at)
    return {};
  record.content = {
      reinterpret_cast<const std::uint64_t*>(bytes.data() + at + LogRecord::head_bytes),
      std::size_t{record.keys} * record.words};
  return record;
}

// A process ended between the intent and the count: its bits may be in the payload, so its keys
// belong into the log. Nobody was told whether they were new, so they are not counted.
void LiveFile::settle_intent() {
  if (runtime_->intent == 0) return;
  if (const auto record = intended()) {
    const std::uint64_t at = log_bytes();
    // By a call: beside a record that was written by one, the page may have holes.
    if (!file_.write(region_at(record->epoch) + at,
                     seal_record(*record, seal(record->epoch), at))) {
      runtime_->failed = EIO;
      return;
    }
    runtime_->published += record->bytes();
  }
  runtime_->intent = 0;
}

Result<void> LiveFile::detach(const Mark& mark) {
  if (!attached_ || is_of_parent()) return {};
  attached_ = false;
  if (runtime_->failed != 0) return poisoned();
  Result<void> left = make_durable(published());
  if (auto locked = file_.lock_door(); !locked) return locked;
  const auto alone = file_.attach_alone();
  if (left && !alone) left = alone.error();
  if (left && *alone) {
    // One that was killed meanwhile may have left an add to others, or what it added in memory.
    if (in_place()) Turn(*this).unlock();
    left = make_durable(published());
  }
  if (left && *alone) {
    if (in_place() && log_bytes() > long_log_bytes) left = checkpoint(mark);
    // A checkpoint that somebody left is finished by the next one who attaches.
    if (left && runtime_->epoch == runtime_->saved_epoch)
      left =
          write_superblock(runtime_->saved_epoch, runtime_->adds_before[runtime_->epoch & 1], true);
    else if (left && !in_place())
      left =
          write_superblock(runtime_->saved_epoch, runtime_->adds_before[runtime_->epoch & 1], true);
  }
  // Before the door is open: the next one must not take this file for one that is still in use.
  file_.leave();
  file_.unlock_door();
  return left;
}

}  // namespace bloomery::inline v0::detail
