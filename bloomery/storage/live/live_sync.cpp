// How a live file reaches the disk: its log for those who wait for it, the rest at a checkpoint.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/storage/image_layout.hpp>
#include <bloomery/storage/live/live_file.hpp>

namespace bloomery::inline v0::detail {
namespace {

void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t least) {
  std::uint64_t now = value.load();
  while (now < least && !value.compare_exchange_weak(now, least)) {
  }
}

// Of a process that was killed in the middle nobody is told.
constexpr auto longest_wait = std::chrono::milliseconds(20);
// After so many of these, a second, the one who syncs has perhaps died.
constexpr int most_in_vain = 50;

// A tenth of a second of a slow disk.
constexpr std::uint64_t synced_at_once = std::uint64_t{4} << 20;

using Clock = std::chrono::steady_clock;

// The turn to sync, if nobody else has it; its end is told, however it ends. Who came while it ran
// sleeps on, but for one, who sees to the next sync.
class SyncTurn {
 public:
  explicit SyncTurn(LiveRuntime& runtime)
      : runtime_(runtime), lock_(runtime.sync_lock, std::try_to_lock) {}
  ~SyncTurn() {
    if (!is_ours()) return;
    runtime_.syncing_upto = 0;
    lock_.unlock();
    if (runtime_.failed != 0)
      tell_change(runtime_.syncs);
    else
      tell_group(runtime_.syncs);
  }
  SyncTurn(const SyncTurn&) = delete;
  SyncTurn& operator=(const SyncTurn&) = delete;
  bool is_ours() const { return lock_.is_held(); }

 private:
  LiveRuntime& runtime_;
  RobustLock lock_;
};

}  // namespace

// -- to the disk ----------------------------------------------------------------------------------

Error LiveFile::poisoned() const {
  const auto number = static_cast<int>(runtime_->failed.load());
  return {Code::io, name() + " takes no more keys: a sync failed (" +
                        std::generic_category().message(number) +
                        "), so nobody knows what the disk has of what was added last; look at the "
                        "disk, end all programs that have it open, and open it again"};
}

Result<void> LiveFile::sync(const Memory& mapping, std::uint64_t offset, std::uint64_t bytes) {
  const int number = file_.sync(mapping, offset, bytes);
  if (number == 0) return {};
  runtime_->failed = static_cast<std::uint32_t>(number);
  return poisoned();
}

// By calls: a store of what is there already would be enough, but nobody could see it in a trace.
Result<void> LiveFile::write_again() {
  constexpr std::uint64_t piece_bytes = 1U << 20;
  auto piece = Memory::make(piece_bytes);
  if (!piece) return piece.error();
  const auto whole = [&](const Memory& mapping, std::uint64_t at) -> Result<void> {
    const auto bytes = std::as_const(mapping).bytes();
    for (std::uint64_t done = 0; done < bytes.size(); done += piece_bytes) {
      const auto some = bytes.subspan(done, std::min(piece_bytes, bytes.size() - done));
      std::memcpy(piece->bytes().data(), some.data(), some.size());
      if (auto put = file_.write(at + done, piece->bytes().first(some.size())); !put) return put;
    }
    if (auto done = sync(mapping, 0, mapping.size()); !done) return done;
    // Some file systems take a block that could not be written once for empty ever after, whatever
    // is written to it: ext4 without a journal.
    const auto there = file_.is_on_disk(at, bytes);
    if (!there) return there.error();
    if (*there) return {};
    return Error{Code::io, name() +
                               " cannot be brought to its disk, which failed before and does not "
                               "keep what is written again; copy the file to another disk before "
                               "this system is restarted, and go on with the copy"};
  };
  if (!in_place()) {
    if (auto done = whole(log_, log_at()); !done) return done;
  }
  for (std::uint64_t epoch = 0; in_place() && epoch < 2; ++epoch) {
    // What lies behind a hole was never written.
    const std::uint64_t most = head_.block.live.region_bytes;
    const std::uint64_t bytes = file_.bytes_before_hole(region_at(epoch), most).value_or(most);
    if (auto done = whole(log_.part(region_at(epoch) - log_at(), bytes), region_at(epoch)); !done)
      return done;
  }
  return whole(image_, 0);
}

// A mapping of bytes that were cut off ends the program; a call would make the file longer again.
Result<std::uint64_t> LiveFile::expect_uncut() const {
  const auto bytes = file_.size_bytes();
  if (!bytes || *bytes >= log_at() + log_.size()) return bytes;
  return Error{Code::damaged,
               name() +
                   " was cut short by another program while it was in use, or its disk cannot "
                   "be read; restore it from a copy or build it again"};
}

Result<void> LiveFile::sync_log(const Memory& log, std::uint64_t epoch, std::uint64_t from,
                                std::uint64_t to) {
  if (from >= to) return {};
  return sync(log, region_at(epoch) - log_at() + from, to - from);
}

Result<void> LiveFile::make_durable(std::uint64_t upto, Company company) {
  return make_durable(upto, log_, company);
}

Result<void> LiveFile::make_durable_aside() {
  const std::uint64_t upto = published();
  if (runtime_->durable >= upto) return {};
  Memory log;  // the other thread may map the log again while this one syncs
  return make_durable(upto, log, Company::none);
}

// As many have come for the next sync as came for the last one, and while it ran.
bool LiveFile::is_company_there() const {
  return runtime_->arrivals - runtime_->arrivals_synced >= runtime_->company;
}

// Who waits for the end of the sync that is under way, if that has its records, or else of the one
// behind it. While no sync has said yet where it ends: for both.
WaitGroups LiveFile::groups_of(std::uint64_t upto, std::uint32_t syncs) const {
  const std::uint64_t syncing = runtime_->syncing_upto;
  if (syncing == 0) return group_of(syncs) | group_of(syncs + 1);
  return group_of(upto <= syncing ? syncs : syncs + 1);
}

// One syncs for all whose records are there when it begins; the others wait until that sync has
// ended, all at once: by the lock itself they would wake up one after the other. Who adds one by
// one waits for the others first: of eight, the first to wake up would sync its key alone, and
// seven would wait for that. The last one to come syncs, without being woken up. If they do not
// come, half of a sync is lost.
Result<void> LiveFile::make_durable(std::uint64_t upto, Memory& log, Company company) {
  std::uint32_t ended = runtime_->syncs.load(std::memory_order_acquire);
  Clock::time_point until;
  int in_vain = 0;
  for (bool has_come = false;; has_come = true) {
    const std::uint32_t syncs = runtime_->syncs.load(std::memory_order_acquire);
    if (runtime_->durable.load(std::memory_order_acquire) >= upto) return {};
    if (runtime_->failed != 0) return poisoned();
    if (!has_come) runtime_->arrivals.fetch_add(1);
    if (company == Company::awaited && runtime_->syncing_upto == 0 && !is_company_there()) {
      const auto now = Clock::now();
      // A sync that ended has left those behind who came while it ran.
      if (!has_come || ended != syncs)
        until = now + std::min<Clock::duration>(std::chrono::nanoseconds(runtime_->sync_took / 2),
                                                longest_wait);
      ended = syncs;
      if (now < until) {
        wait_for_change(runtime_->syncs, syncs, until - now, group_of(syncs));
        continue;
      }
    }
    SyncTurn turn(*runtime_);
    if (!turn.is_ours()) {
      wait_for_change(runtime_->syncs, syncs, longest_wait, groups_of(upto, syncs));
      in_vain = runtime_->syncs == syncs ? in_vain + 1 : 0;
      if (in_vain % most_in_vain == most_in_vain - 1)
        RobustLock::free_if_owner_died(runtime_->sync_lock);
      continue;
    }
    if (runtime_->failed != 0) return poisoned();
    const std::uint64_t from = runtime_->durable;
    if (from >= upto) return {};
    const std::uint32_t arrivals = runtime_->arrivals;
    const std::uint32_t came = arrivals - runtime_->arrivals_synced;
    RobustLock adding(runtime_->add_lock);
    if (in_place() && adding.was_left()) settle_intent();
    const std::uint64_t to = runtime_->published, epoch = runtime_->epoch;
    const std::uint64_t start = runtime_->starts[epoch & 1];
    const std::uint64_t before = in_place() ? runtime_->starts[(epoch + 1) & 1].load() : 0;
    adding.unlock();
    const std::uint64_t needed =
        in_place() ? head_.block.live.regions * head_.block.live.region_bytes : to;
    if (needed > log.size()) {
      auto mapped = file_.map(log_at(), (needed + page_bytes - 1) / page_bytes * page_bytes);
      if (!mapped) return mapped.error();
      log = std::move(*mapped);
    }
    runtime_->arrivals_synced = arrivals;
    runtime_->syncing_upto = to;
    const auto began = Clock::now();
    if (from < start) {
      const auto done = sync_log(log, epoch - 1, std::max(from, before) - before, start - before);
      if (!done) return done;
    }
    // With the room behind it, which the file system notes once and not at each sync of a part.
    const std::uint64_t end =
        std::max(to - start, in_place() ? runtime_->stored[epoch & 1].load() : 0);
    if (auto done = sync_log(log, epoch, std::max(from, start) - start, end); !done) return done;
    raise_to(runtime_->durable, to);
    runtime_->sync_took = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count());
    runtime_->company = came + (runtime_->arrivals - arrivals);
  }
}

ChunkMarks LiveFile::no_marks() const { return {head_.layout.payloads.at(0).length, chunk_bytes}; }

Result<void> LiveFile::checkpoint(const Mark& mark, Others others,
                                  const std::function<void()>& meanwhile) {
  if (!in_place()) return make_durable(published());
  const std::uint64_t epoch_before = runtime_->epoch;
  RobustLock turn = others == Others::awaited
                        ? RobustLock(runtime_->checkpoint_lock)
                        : RobustLock(runtime_->checkpoint_lock, std::try_to_lock);
  if (!turn.is_held()) return {};
  if (runtime_->failed != 0) return poisoned();
  // Another process has made room meanwhile.
  if (runtime_->epoch != epoch_before) return {};
  // One that ended in the middle has left its checkpoint to others.
  if (runtime_->epoch == runtime_->saved_epoch) {
    RobustLock adding(runtime_->add_lock);
    if (adding.was_left()) settle_intent();
    if (log_bytes() == 0) return {};
    const std::uint64_t next = runtime_->epoch + 1;
    runtime_->starts[next & 1] = runtime_->published.load();
    runtime_->adds_before[next & 1] = adds();
    runtime_->epoch = next;
  }
  const CheckpointTime time(*runtime_);
  return finish_checkpoint(mark, runtime_->saved_epoch + 1, no_marks(), meanwhile);
}

Result<void> LiveFile::finish_checkpoint(const Mark& mark, std::uint64_t next_epoch,
                                         ChunkMarks marks, const std::function<void()>& meanwhile) {
  const std::uint64_t epoch = runtime_->saved_epoch;
  const auto marked = each_record(region(epoch), seal(epoch), [&](const LogRecord& record) {
    mark(record, marks);
    return Result<void>();
  });
  if (!marked) return marked.error();
  const Region& payload = head_.layout.payloads.at(0);
  for (std::uint64_t at = 0; at < payload.length; at += synced_at_once) {
    const auto bytes = std::min(synced_at_once, payload.length - at);
    if (auto done = sync(image_, payload.offset + at, bytes); !done) return done;
    if (meanwhile) meanwhile();
  }
  sum_chunks(marks);
  const Region& table = head_.layout.table;
  if (auto done = sync(image_, table.offset, table.length); !done) return done;
  const std::uint64_t adds_before = runtime_->adds_before[next_epoch & 1];
  if (auto done = write_superblock(next_epoch, adds_before, false); !done) return done;
  runtime_->saved_epoch = next_epoch;
  raise_to(runtime_->durable, runtime_->starts[next_epoch & 1]);
  return {};
}

bool LiveFile::are_resident(const ChunkMarks& pages) const {
  const Region& place = head_.layout.payloads.at(0);
  for (std::uint64_t page = 0; page < pages.size(); ++page)
    if (pages[page] && !SharedFile::is_resident(image_, place.offset + page * page_bytes))
      return false;
  return true;
}

void LiveFile::call_for(const ChunkMarks& pages) const {
  const Region& place = head_.layout.payloads.at(0);
  for (std::uint64_t page = 0; page < pages.size(); ++page)
    if (pages[page])
      SharedFile::expect(SharedFile::Use::through, image_, place.offset + page * page_bytes,
                         page_bytes);
}

// A chunk that is changed while it is summed gets a sum that does not match; but then the log of
// this epoch names it, and nobody believes its sum before the next checkpoint.
void LiveFile::sum_chunks(const ChunkMarks& marks) {
  const auto bytes = payload();
  std::byte* const sums = image_.bytes().data() + head_.layout.table.offset;
  for (std::uint64_t chunk = 0; chunk < marks.size(); ++chunk) {
    if (!marks[chunk]) continue;
    const std::uint64_t at = chunk * chunk_bytes;
    const auto length = std::min<std::uint64_t>(chunk_bytes, bytes.size() - at);
    SharedFile::expect(SharedFile::Use::through, bytes, at, length);
    const std::uint64_t sum = chunk_sum(bytes.bytes().subspan(at, length), head_.block.uuid, chunk);
    std::memcpy(sums + 8 * chunk, &sum, sizeof sum);
  }
}

Result<void> LiveFile::write_superblock(std::uint64_t epoch, std::uint64_t adds, bool closed) {
  Superblock block = head_.block;
  block.generation = runtime_->generation + 1;
  block.live.epoch = epoch;
  block.live.adds = adds;
  block.live.boot = closed ? Boot{} : this_boot();
  block.live.log_end = closed ? log_bytes() : 0;
  // The form may be newer than the log that the next one replays, which is right: it only grows.
  block.live.form = form();
  const Region& table = head_.layout.table;
  block.table_sum = xxh3_64(image_.bytes().data() + table.offset, table.length, 0);
  const std::uint64_t slot = block.generation & 1;
  const auto bytes = encode_slot(block, slot);
  if (auto done = file_.write(slot * slot_bytes, bytes); !done) return done;
  if (auto done = sync(image_, slot * slot_bytes, slot_bytes); !done) return done;
  runtime_->generation = block.generation;
  return {};
}

}  // namespace bloomery::inline v0::detail
