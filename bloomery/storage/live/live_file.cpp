#include <bloomery/storage/live/live_file.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/storage/image_layout.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Processes share the locks only if they agree on this page and on what a mutex is.
constexpr std::uint64_t runtime_mark = 0x4245'5649'4c00'0001U ^
                                       (std::uint64_t{sizeof(LiveRuntime)} << 8) ^
                                       (std::uint64_t{sizeof(pthread_mutex_t)} << 24);
// A log that is longer when the last one closes is emptied first, so that the next open is quick.
constexpr std::uint64_t long_log_bytes = std::uint64_t{1} << 20;

class SharedSource final : public ImageSource {
 public:
  explicit SharedSource(const SharedFile& file, std::uint64_t bytes)
      : file_(file), size_bytes_(bytes) {}
  std::uint64_t size_bytes() const override { return size_bytes_; }
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const override {
    return file_.read(offset, into);
  }
  Result<Memory> all(const OpenOptions&) const override { return file_.map(0, size_bytes_); }

 private:
  const SharedFile& file_;
  std::uint64_t size_bytes_;
};

std::uint64_t low_half(const Uuid& uuid) {
  std::uint64_t low = 0;
  std::memcpy(&low, uuid.data() + 8, sizeof low);
  return low;
}

void make_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &kind);
  pthread_mutexattr_destroy(&kind);
}

// An intent in one word: whole or not there.
std::uint64_t packed(const LogRecord& record) {
  return std::uint64_t{record.keys} | std::uint64_t{record.words} << 32 |
         static_cast<std::uint64_t>(record.form) << 40;
}
LogRecord unpacked(std::uint64_t intent) {
  LogRecord record;
  record.keys = static_cast<std::uint32_t>(intent);
  record.words = static_cast<std::uint8_t>(intent >> 32);
  record.form = static_cast<KeyForm>(intent >> 40);
  return record;
}

}  // namespace

RobustLock::RobustLock(pthread_mutex_t& mutex) : mutex_(&mutex) {
  if (pthread_mutex_lock(mutex_) != EOWNERDEAD) return;
  was_left_ = true;
  pthread_mutex_consistent(mutex_);
}
RobustLock::RobustLock(pthread_mutex_t& mutex, std::try_to_lock_t) : mutex_(&mutex) {
  const int number = pthread_mutex_trylock(mutex_);
  was_left_ = number == EOWNERDEAD;
  if (was_left_) pthread_mutex_consistent(mutex_);
  if (number != 0 && !was_left_) mutex_ = nullptr;
}
void RobustLock::unlock() {
  if (mutex_ != nullptr) pthread_mutex_unlock(std::exchange(mutex_, nullptr));
}

// -- opening --------------------------------------------------------------------------------------

Result<std::unique_ptr<LiveFile>> LiveFile::open(const std::filesystem::path& path,
                                                 const std::optional<SecretKey>& key,
                                                 SharedFile::Access access, Secret secret) {
  auto file = SharedFile::open(path, access);
  if (!file) return file.error();
  // What is acknowledged must be found under this name.
  if (access == SharedFile::Access::change)
    if (auto synced = file->sync_name(); !synced) return synced.error();
  const auto bytes = file->size_bytes();
  if (!bytes) return bytes.error();
  auto head = live_head_from(path.string(), SharedSource(*file, *bytes), key, secret);
  if (!head) return head.error();
  return mapped(std::move(*file), std::move(*head), *bytes, secret);
}

Result<std::unique_ptr<LiveFile>> LiveFile::mapped(SharedFile file, LiveHead head,
                                                   std::uint64_t bytes, Secret secret) {
  std::unique_ptr<LiveFile> live(new LiveFile(std::move(file), std::move(head), secret));
  auto image = live->file_.map(0, live->head_.block.file_bytes);
  if (!image) return image.error();
  live->image_ = std::move(*image);
  if (auto mapped = live->map_log(bytes); !mapped) return mapped.error();
  return live;
}

Result<std::unique_ptr<LiveFile>> LiveFile::twin() const {
  auto file = file_.opened_again();
  if (!file) return file.error();
  const auto bytes = file->size_bytes();
  if (!bytes) return bytes.error();
  auto head = read_head();
  if (!head) return head.error();
  return mapped(std::move(*file), std::move(*head), *bytes, secret_);
}

LiveFile::~LiveFile() = default;

Result<void> LiveFile::map_log(std::uint64_t file_bytes) {
  if (runtime_ == nullptr) {
    auto page = file_.map(head_.block.file_bytes, page_bytes);
    if (!page) return page.error();
    page_ = std::move(*page);
    runtime_ = reinterpret_cast<LiveRuntime*>(page_.bytes().data());
  }
  auto log = file_.map(log_at(), (file_bytes - log_at()) / page_bytes * page_bytes);
  if (!log) return log.error();
  log_ = std::move(*log);
  return {};
}

Result<LiveHead> LiveFile::read_head() const {
  const auto bytes = file_.size_bytes();
  if (!bytes) return bytes.error();
  const Hasher& hasher = head_.hasher;
  const bool secret = hasher.mode() == HashMode::hardened;
  return live_head_from(name(), SharedSource(file_, *bytes),
                        secret ? std::optional(hasher.key()) : std::nullopt, secret_);
}

void LiveFile::expect_runs_from(std::uint32_t run) {
  std::uint64_t newest = runtime_->runs;
  while (newest < run && !runtime_->runs.compare_exchange_weak(newest, run)) {
  }
}

bool LiveFile::is_ready() const {
  return runtime_->mark == runtime_mark && is_this_boot(runtime_->boot) &&
         runtime_->file == file_.identity();
}
bool LiveFile::is_copy() const {
  return runtime_->mark == runtime_mark && runtime_->file != file_.identity();
}
bool LiveFile::is_recovered() const { return is_ready() && runtime_->recovered != 0; }

Result<Parts> LiveFile::image_parts(bool own) const {
  auto head = read_head();
  if (!head) return head.error();
  Memory memory = image_.part(0, image_.size());
  if (own || !in_place()) {
    auto mapped = file_.map_privately(head_.block.file_bytes);
    if (!mapped) return mapped.error();
    memory = std::move(*mapped);
  }
  return parts_in(*head, memory);
}

Memory LiveFile::payload() const {
  const Region& place = head_.layout.payloads.at(0);
  return image_.part(place.offset, place.length);
}

std::uint64_t LiveFile::region_at(std::uint64_t epoch) const {
  return log_at() + (in_place() ? (epoch & 1) * head_.block.live.region_bytes : 0);
}

std::span<const std::byte> LiveFile::region(std::uint64_t epoch) const {
  const auto log = std::as_const(log_).bytes();
  if (!in_place()) return log;
  const std::uint64_t bytes = head_.block.live.region_bytes;
  return log.subspan((epoch & 1) * bytes, bytes);
}

LogSeal LiveFile::seal(std::uint64_t epoch) const {
  return {low_half(head_.block.uuid), epoch, !in_place()};
}

Result<void> LiveFile::expect_whole_log(std::uint64_t expected) const {
  const std::uint64_t epoch = head_.block.live.epoch;
  const Visit look = [](const LogRecord&) { return Result<void>(); };
  std::uint64_t there = 0;
  for (const std::uint64_t one : {epoch, epoch + 1}) {
    if (one != epoch && !in_place()) break;
    const auto end = each_record(region(one), seal(one), look);
    if (!end) return end.error();
    there += *end;
  }
  if (there >= expected) return {};
  return Error{Code::damaged,
               name() + " is damaged: its log should have " + std::to_string(expected) +
                   " bytes, and only the first " + std::to_string(there) +
                   " match their checksums; restore it from a copy or build it again"};
}

Result<void> LiveFile::expect_closed_log() const {
  if (head_.block.live.boot != Boot{}) return {};
  auto whole = expect_whole_log(head_.block.live.log_end);
  if (whole) return whole;
  // It may have been opened, and its log begun again, since its superblock was read.
  const auto now = read_head();
  if (now && now->block.generation != head_.block.generation) return {};
  return whole;
}

void LiveFile::make_ready(const LiveFields& live) {
  std::memset(static_cast<void*>(runtime_), 0, page_bytes);
  make_mutex(runtime_->add_lock);
  make_mutex(runtime_->sync_lock);
  make_mutex(runtime_->checkpoint_lock);
  runtime_->epoch = runtime_->saved_epoch = live.epoch;
  runtime_->adds = runtime_->adds_at_start = live.adds;
  runtime_->generation = head_.block.generation;
  runtime_->form = static_cast<std::uint32_t>(live.form);
  runtime_->boot = this_boot();
  runtime_->file = file_.identity();
  runtime_->mark = runtime_mark;
}

Result<Recovery> LiveFile::attach(const Visit& visit, const Mark& mark) {
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
      auto found = recover(visit, mark);
      expect_anywhere();
      return found;
    }
    expect_anywhere();
    if (runtime_->mark != runtime_mark)
      return Error{Code::unsupported,
                   name() +
                       " is in use by a program whose locks are others; use one build of this "
                       "library for all"};
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

Result<Recovery> LiveFile::recover(const Visit& visit, const Mark& mark) {
  const LiveFields live = head_.block.live;
  const bool failed = is_ready() && runtime_->failed != 0;
  const bool closed = live.boot == Boot{} && !failed;
  const bool same_run = is_this_boot(live.boot) && !is_copy() && !failed;
  Recovery found{.was_cut = !closed,
                 .lost_power = !closed && !failed && !is_this_boot(live.boot),
                 .sync_failed = failed};
  if (auto sound = check_image_bytes(name(), head_, std::as_const(image_).bytes(), closed); !sound)
    return sound.error();
  if ((same_run || failed) && in_place() && is_ready()) settle_intent();
  // Before the page is made ready for others: what it knows of the log, or the superblock does.
  std::uint64_t expected = live.log_end;
  if (!closed && (same_run || failed) && is_ready()) {
    const std::uint64_t there = failed ? runtime_->durable : runtime_->published;
    const std::uint64_t begin =
        runtime_->epoch == live.epoch || !in_place() ? runtime_->start : runtime_->start_before;
    expected = there - std::min(begin, there);
  }
  if (auto whole = expect_whole_log(expected); !whole) return whole.error();
  // Every bit that is in the log is in the payload, which all processes share: they have ended, the
  // system has not.
  const bool has_all = in_place() && is_recovered() && !failed;
  const std::uint32_t retired = (same_run || failed) && is_ready() ? runtime_->retired.load() : 0;
  if (failed)
    if (auto again = write_again(); !again) return again.error();
  make_ready(live);
  runtime_->retired = retired;

  KeyForm form = live.form;
  std::uint64_t newest_epoch = live.epoch;
  const auto again = [&](const LogRecord& record) -> Result<void> {
    ++found.records;
    found.keys += record.keys;
    form = joined(form, record.form);
    newest_epoch = std::max(newest_epoch, record.epoch);
    runtime_->runs = std::max<std::uint64_t>(runtime_->runs, record.run);
    if (in_place() && record.op == LogOp::add) add_adds(record.keys);
    return has_all ? Result<void>() : visit(record);
  };
  const auto first = each_record(region(live.epoch), seal(live.epoch), again);
  if (!first) return first.error();
  runtime_->published = *first;
  if (in_place()) {
    const std::uint64_t adds_of_first = adds();
    const auto second = each_record(region(live.epoch + 1), seal(live.epoch + 1), again);
    if (!second) return second.error();
    if (*second > 0) {
      // Only now: what the log of live.epoch has is not yet in the superblock's count.
      runtime_->adds_at_start = adds_of_first;
      runtime_->epoch = live.epoch + 1;
      runtime_->start = *first;
      runtime_->published = *first + *second;
    }
  }
  runtime_->form = static_cast<std::uint32_t>(form);

  if (in_place() && !closed && !same_run) {
    // Any page may have been written, also with bits that the log has lost: all sums are taken
    // again. Records of an epoch that was under way may lie behind the end that was found; so the
    // log goes on in an epoch that nobody has written.
    ChunkMarks marks = no_marks();
    marks.mark_all();
    found.summed_bytes = head_.layout.payloads.at(0).length;
    runtime_->start = runtime_->start_before = runtime_->published = 0;
    runtime_->adds_at_start = adds();
    if (auto done = finish_checkpoint(mark, live.epoch + 2, std::move(marks)); !done)
      return done.error();
    runtime_->epoch = live.epoch + 2;
  } else if (in_place() && runtime_->epoch != live.epoch) {
    if (auto done = finish_checkpoint(mark, live.epoch + 1, no_marks()); !done) return done.error();
  } else if (!same_run) {
    if (!in_place()) runtime_->epoch = newest_epoch + 1;
    if (auto done = write_superblock(live.epoch, live.adds, false); !done) return done.error();
  } else if (!in_place()) {
    runtime_->epoch = newest_epoch;
  }
  runtime_->recovered = 1;
  return found;
}

// A process ended between the intent and the count: its bits may be in the payload, so its keys
// belong into the log. Nobody was told whether they were new.
void LiveFile::settle_intent() {
  const std::uint64_t intent = runtime_->intent;
  if (intent == 0) return;
  LogRecord record = unpacked(intent);
  const std::uint64_t at = runtime_->published - runtime_->start;
  const std::uint64_t epoch = runtime_->epoch;
  const auto bytes = region(epoch);
  if (record.words >= 1 && record.words <= 2 && at <= bytes.size() &&
      record.bytes() <= bytes.size() - at) {
    record.content = {
        reinterpret_cast<const std::uint64_t*>(bytes.data() + at + LogRecord::head_bytes),
        std::size_t{record.keys} * record.words};
    record.epoch = epoch;
    const auto head = seal_record(record, seal(epoch), at);
    std::memcpy(const_cast<std::byte*>(bytes.data()) + at, head.data(), head.size());
    add_adds(record.keys);
    runtime_->published += record.bytes();
  }
  runtime_->intent = 0;
}

Result<void> LiveFile::detach(const Mark& mark) {
  if (!attached_) return {};
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
    if (in_place() && published() - runtime_->start > long_log_bytes) left = checkpoint(mark);
    // A checkpoint that somebody left is finished by the next one who attaches.
    if (left && runtime_->epoch == runtime_->saved_epoch)
      left = write_superblock(runtime_->saved_epoch, runtime_->adds_at_start, true);
    else if (left && !in_place())
      left = write_superblock(runtime_->saved_epoch, runtime_->adds_at_start, true);
  }
  file_.unlock_door();
  return left;
}

// -- adding ---------------------------------------------------------------------------------------

LiveFile::Turn::Turn(LiveFile& file) : file_(file), lock_(file.runtime_->add_lock) {
  if (file_.in_place()) file_.settle_intent();
}

Result<void> LiveFile::Turn::check() const {
  if (file_.runtime_->failed != 0) return file_.poisoned();
  switch (retired()) {
    case Retired::no: return {};
    case Retired::replaced:
      return Error{Code::mismatch,
                   file_.name() + " was replaced by another program; open it again"};
    case Retired::sealed: break;
  }
  return Error{Code::mismatch,
               file_.name() + " was sealed by another program, and takes no more live keys"};
}

Retired LiveFile::Turn::retired() const {
  return static_cast<Retired>(file_.runtime_->retired.load());
}

bool LiveFile::Turn::has_room(std::uint64_t record_bytes) const {
  const LiveRuntime& runtime = *file_.runtime_;
  return runtime.published - runtime.start + record_bytes <= file_.head_.block.live.region_bytes;
}

// Two ways into the same bytes: a call is cheaper for bytes that are synced next, since a page that
// is written through a mapping costs a fault after each sync.
Result<void> LiveFile::put(std::uint64_t at, std::span<const std::byte> bytes, bool by_call) {
  if (by_call) {
    if (auto whole = expect_uncut(); !whole) return whole.error();
    return file_.write(at, bytes);
  }
  // A record without keys, such as that of a run that begins, has no address either.
  if (!bytes.empty())
    std::memcpy(log_.bytes().data() + (at - log_at()), bytes.data(), bytes.size());
  return {};
}

Result<void> LiveFile::Turn::intend(const LogRecord& record, bool by_call) {
  LiveRuntime& runtime = *file_.runtime_;
  const std::uint64_t at = file_.region_at(runtime.epoch) + (runtime.published - runtime.start);
  if (auto done = file_.put(at + LogRecord::head_bytes, std::as_bytes(record.content), by_call);
      !done)
    return done;
  runtime.intent.store(packed(record), std::memory_order_release);
  return {};
}

Result<void> LiveFile::Turn::publish(const LogRecord& record, bool by_call, bool is_written) {
  LiveRuntime& runtime = *file_.runtime_;
  if (record.keys > 0) {
    if (auto done = append(record, by_call, is_written); !done) {
      // What the payload has is in the log all the same.
      file_.settle_intent();
      return done;
    }
    file_.add_adds(record.keys);
  }
  runtime.intent.store(0, std::memory_order_release);
  return {};
}

Result<void> LiveFile::Turn::append(const LogRecord& record, bool by_call, bool is_written) {
  LiveRuntime& runtime = *file_.runtime_;
  const std::uint64_t at = runtime.published - runtime.start;
  const std::uint64_t place = file_.region_at(runtime.epoch) + at;
  if (!file_.in_place()) {
    const std::uint64_t end = place + record.bytes();
    const std::uint64_t known = file_.log_at() + file_.log_.size();
    if (end > known) {
      const auto bytes = file_.expect_uncut();
      if (!bytes) return bytes.error();
      std::uint64_t grown = *bytes / page_bytes * page_bytes;
      if (end > grown) {
        // By an eighth of what there is, so that growing is seldom and little is wasted.
        const std::uint64_t log = grown - file_.log_at();
        const std::uint64_t step = std::clamp<std::uint64_t>(log / 8, page_bytes * 16, 64U << 20);
        const std::uint64_t more =
            std::max(step, end - grown + page_bytes) / page_bytes * page_bytes;
        if (auto done = file_.file_.extend(grown, more); !done) return done;
        grown += more;
      }
      if (auto mapped = file_.map_log(grown); !mapped) return mapped;
    }
  }
  const std::uint64_t epoch = runtime.epoch;
  const auto head = seal_record(record, file_.seal(epoch), at);
  if (!is_written)
    if (auto done = file_.put(place + head.size(), std::as_bytes(record.content), by_call); !done)
      return done;
  if (auto done = file_.put(place, head, by_call); !done) return done;
  runtime.published.store(runtime.published + record.bytes(), std::memory_order_release);
  return {};
}

Result<std::uint64_t> LiveFile::follow(std::uint64_t from, const Visit& visit) {
  // Nobody has had it open since the system was started: the log ends where its records do.
  if (file_.access() == SharedFile::Access::read && !is_ready()) {
    if (from > 0) return from;
    return each_record(region(0), seal(head_.block.live.epoch), visit);
  }
  const std::uint64_t end = runtime_->published.load(std::memory_order_acquire);
  if (from >= end) return from;
  if (end > log_.size()) {
    const auto bytes = file_.size_bytes();
    if (!bytes) return bytes.error();
    if (auto mapped = map_log(*bytes); !mapped) return mapped.error();
  }
  const auto reached = each_record(region(0).first(end), seal(head_.block.live.epoch), visit, from);
  if (!reached) return reached.error();
  if (*reached != end)
    return Error{Code::damaged, name() +
                                    " is damaged: its log has a record that does not match its "
                                    "checksum; restore it from a copy or build it again"};
  return end;
}

Result<void> LiveFile::settle_form(KeyForm form) {
  std::uint32_t now = runtime_->form;
  for (;;) {
    const auto held = static_cast<KeyForm>(now);
    if (!forms_meet(held, form)) return wrong_form(held, form);
    const auto next = static_cast<std::uint32_t>(joined(held, form));
    if (next == now || runtime_->form.compare_exchange_weak(now, next)) return {};
  }
}

}  // namespace bloomery::inline v0::detail
