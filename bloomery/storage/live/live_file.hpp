// The file of a live set: what processes share, in which order it reaches the disk, and what to do
// about those that ended in the middle.
//
//    0         image: superblocks, directory, chunk table, payload        (image_layout.hpp)
//    + image   one page that only running processes read: locks, ends     (LiveRuntime)
//    + 4096    log: two regions in turns, or one that grows               (live_log.hpp)
//
// Adding in place, under the one lock:
//    1 keys to the log, not yet counted (the intent)   a process that dies here leaves them to the
//    2 bits into the payload                           next one, which counts them all
//    3 the log is counted up to them
//    4 lock given back; under Durability::every the log is synced by whoever comes first, for all
// So whatever bits the payload has, the log has their keys, and the log reaches the disk first
// where that was promised. Bits are never cleared, so a page of the payload may reach the disk at
// any time, torn or not.
// Checkpoint: the log goes on in the other region (epoch + 1); the payload is synced, changed
// chunks are summed, a superblock with the new epoch is synced; then the old region is free.
// Whoever attaches alone recovers: replays what the log has from the superblock's epoch on.
// Failed sync: the system may take what it could not write for written, so nobody syncs or adds any
// more. Whoever attaches alone then writes all bytes once more, and recovers as after a power cut.
// Limits:  the lock is a robust mutex of the C library, in the file.
// Threads: one object, one thread; any number of objects and processes.
// See:     docs/format.md "Live files"; live_test, live_cuts_test.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/error.hpp>
#include <bloomery/storage/image_source.hpp>
#include <bloomery/storage/live/forks.hpp>
#include <bloomery/storage/live/live_log.hpp>
#include <bloomery/storage/live/robust_lock.hpp>
#include <bloomery/storage/live/shared_file.hpp>
#include <bloomery/storage/live/shared_wait.hpp>

namespace bloomery::inline v0::detail {

// Positions count the bytes of the log since the file was attached first; a region holds those from
// `start` on.
struct LiveRuntime {
  std::uint64_t mark;                 // of this layout and its locks; written last
  std::array<std::uint8_t, 16> boot;  // the system's run in which it was made ready
  std::array<std::uint64_t, 3> file;  // in which it was made ready: not so in a copy
  std::uint64_t thread_numbers;       // namespace of the numbers in the locks
  pthread_mutex_t add_lock;
  pthread_mutex_t sync_lock;
  pthread_mutex_t checkpoint_lock;
  std::atomic<std::uint64_t> published;    // all records end here
  std::atomic<std::uint64_t> durable;      // and these are on the disk
  std::atomic<std::uint64_t> epoch;        // of the region that is written
  std::atomic<std::uint64_t> saved_epoch;  // of the superblock: one less while a checkpoint runs
  // Of the region of an epoch, at epoch % 2: where it begins, and how many adds there were then.
  // Those of the next epoch are there before the one store that changes the epoch.
  std::array<std::atomic<std::uint64_t>, 2> starts;
  std::array<std::atomic<std::uint64_t>, 2> adds_before;
  std::atomic<std::uint64_t> adds;
  std::atomic<std::uint64_t> generation;  // of the superblock
  std::atomic<std::uint64_t> intent;      // keys, words a key and form of what is being added
  std::atomic<std::uint64_t> intent_at;   // position of its record: `published`, until that counts
  std::atomic<std::uint64_t> runs;        // numbers given to runs (claims)
  std::atomic<std::uint32_t> failed;      // errno of a sync: nobody knows what the disk has
  std::atomic<std::uint32_t> form;
  std::atomic<std::uint32_t> retired;   // 1: another live file has the name; 2: sealed
  std::atomic<std::uint32_t> retiring;  // the same, as soon as this file has lost its name
  std::atomic<std::uint32_t> recovered;
  std::atomic<std::uint32_t> syncs;  // of the log that have ended; those who wait for one wait here
  // In place, of each region: bytes from its beginning that have room on the disk (live_room.cpp).
  std::array<std::atomic<std::uint64_t>, 2> stored;
  std::atomic<std::uint64_t> checkpoint_ended;  // on the monotonic clock, in nanoseconds
  std::atomic<std::uint64_t> checkpoint_took;
  // Group commit (live_sync.cpp).
  std::atomic<std::uint32_t> arrivals;         // of those who need a sync, ever
  std::atomic<std::uint32_t> arrivals_synced;  // when the last sync began
  std::atomic<std::uint32_t> company;          // how many came for the last sync
  std::atomic<std::uint64_t> sync_took;        // the last one, in nanoseconds
  std::atomic<std::uint64_t> syncing_upto;     // what the one under way brings to the disk, or 0
};
static_assert(sizeof(LiveRuntime) <= page_bytes);

enum class Retired : std::uint32_t { no = 0, replaced = 1, sealed = 2 };

struct LiveFacts;  // live_image.hpp

class LiveFile {
 public:
  using Visit = std::function<Result<void>(const LogRecord&)>;
  using Mark = std::function<void(const LogRecord&, ChunkMarks&)>;
  // What the first one to come does with the records of the log. In place: `again` adds the keys,
  // if the payload may lack some; `has` tells whether it has all of them.
  struct Replay {
    Visit again;
    std::function<Result<bool>(const LogRecord&)> has;
  };

  static Result<std::unique_ptr<LiveFile>> open(const std::filesystem::path& path,
                                                const std::optional<SecretKey>& key,
                                                SharedFile::Access access,
                                                Secret secret = Secret::needed);
  ~LiveFile();

  const LiveHead& head() const { return head_; }
  bool in_place() const { return head_.block.live.regions == 2; }
  // The set as its image has it: in place in the bytes that all processes share, or in private
  // ones, where changes stay with this process.
  Result<Parts> image_parts(bool own) const;
  // Of all chunks that nothing was added to since the last checkpoint.
  Result<void> check_sums(const Mark& mark) const;
  // In place: all records since the last checkpoint, without attaching.
  Result<void> each_logged(const Visit& visit) const;
  Result<LiveFacts> facts() const;
  // For those who only ask: how many keys it has, and of which form, as long as nobody has it open
  // to add to it. Reads the log.
  Result<void> look_at_rest();
  // Nobody had it open then, or has done anything to it since: its page is not believed.
  bool is_whole_at_rest() const { return is_at_rest() && at_rest_->is_whole; }
  bool is_at_rest() const { return at_rest_ && (at_rest_->moment == moment() || !is_recovered()); }
  // Of a file that was closed: its log is as long as it was then.
  Result<void> expect_closed_log() const;
  const std::string& name() const { return file_.name(); }
  const std::filesystem::path& path() const { return file_.path(); }
  // A process that was forked off has the locks of its parent: they are not its own.
  bool is_of_parent() const { return forks_ != forks_so_far(); }
  bool has_its_name() const { return file_.has_its_name(); }
  bool is_only_name() const { return file_.is_only_name(); }
  Result<bool> is_open_elsewhere() const { return file_.is_attached(); }

  // Joins those who have it open. Alone, and before anybody else may join, first recovers; visit
  // gets each record of the log. In place: only if the payload may lack some of them.
  Result<Recovery> attach(const Replay& replay, const Mark& mark);
  // The last one leaves a file that says that it was closed.
  Result<void> detach(const Mark& mark);

  // -- adding, under the lock --
  class Turn {
   public:
    explicit Turn(LiveFile& file);
    // Of an add that ended between its intent and its end, the log has all keys.
    ~Turn() {
      if (lock_.is_held() && file_.in_place()) file_.settle_intent();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    // What may be wrong with the file: sealed, replaced, or its disk failed.
    Result<void> check() const;
    Retired retired() const;
    // In place: is there room for this record, also on the disk? If not: end the turn,
    // make_room(), try again.
    Result<bool> has_room(std::uint64_t record_bytes);
    // In place, step 1. The record's content may lie anywhere.
    Result<void> intend(const LogRecord& record, bool by_call);
    // Step 3, of the keys that were new. is_written: these are all keys of the intent.
    Result<void> publish(const LogRecord& record, bool by_call, bool is_written = false);
    // Without an intent, where the log grows.
    Result<void> append(const LogRecord& record, bool by_call, bool is_written = false);
    // Puts another file under the name of this one, which takes no more keys then: also if this
    // process ends in the middle.
    Result<void> retire(Retired how, const std::function<Result<void>()>& replace);
    void unlock() { lock_.unlock(); }

   private:
    LiveFile& file_;
    RobustLock lock_;
    bool has_head_ = false;  // the intent has, and is a whole record
  };
  Result<void> make_room(const Mark& mark) { return checkpoint(mark); }
  // In place: pages of the payload that will be touched. Are they in memory? Reads them all at
  // once: whoever touches one that is not waits for this one page.
  ChunkMarks no_pages() const { return {head_.layout.payloads.at(0).length, page_bytes}; }
  bool are_resident(const ChunkMarks& pages) const;
  void call_for(const ChunkMarks& pages) const;

  std::uint64_t most_record_bytes() const { return head_.block.live.region_bytes / 4; }
  std::uint64_t published() const { return runtime_->published.load(); }
  // The records from a position on, where the log grows; returns the position behind them.
  Result<std::uint64_t> follow(std::uint64_t from, const Visit& visit);

  // Awaited: others who add one by one are likely to need a sync just now, too.
  enum class Company { none, awaited };
  Result<void> make_durable(std::uint64_t upto, Company company = Company::none);
  // The same for all there is, by a thread of its own beside the one that adds.
  Result<void> make_durable_aside();
  // The same file with mappings of its own, for such a thread. It is not attached.
  Result<std::unique_ptr<LiveFile>> twin() const;
  // In place: so little room is left that a checkpoint should begin now.
  bool is_nearly_full() const;
  // The same, or the log has become long and a checkpoint takes little of the time.
  bool is_checkpoint_due() const;
  // Left: where another process is at it, it is left to that one.
  enum class Others { awaited, left };
  // Between the pieces of a long sync `meanwhile` is called.
  Result<void> checkpoint(const Mark& mark, Others others = Others::awaited,
                          const std::function<void()>& meanwhile = {});

  std::uint64_t adds() const {
    return is_at_rest() ? at_rest_->adds : runtime_->adds.load(std::memory_order_relaxed);
  }
  // One at a time: in a turn, or alone. So it takes no locked operation, which would wait for the
  // cache miss of the key.
  void add_adds(std::uint64_t fresh) {
    runtime_->adds.store(runtime_->adds.load(std::memory_order_relaxed) + fresh,
                         std::memory_order_relaxed);
  }
  KeyForm form() const {
    return is_at_rest() ? at_rest_->form : static_cast<KeyForm>(runtime_->form.load());
  }
  Result<void> settle_form(KeyForm form);
  // Runs have numbers, and last as long as somebody holds their lock.
  std::uint32_t new_run() { return static_cast<std::uint32_t>(runtime_->runs.fetch_add(1)) + 1; }
  Result<void> begin_running(std::uint32_t run) const { return file_.hold_run(run); }
  Result<bool> is_running(std::uint32_t run) const { return file_.is_run_held(run); }
  std::uint32_t newest_run() const { return static_cast<std::uint32_t>(runtime_->runs.load()); }
  // Numbers up to this one are taken.
  void expect_runs_from(std::uint32_t run);
  // Are the ends in the runtime page those of now?
  bool is_ready() const;
  std::uint64_t log_bytes() const {
    const std::uint64_t begin = start(), end = published();
    return end - std::min(begin, end);
  }
  // Has another live file its name now? Then nothing is logged here any more.
  bool is_replaced() const {
    constexpr auto replaced = static_cast<std::uint32_t>(Retired::replaced);
    if (runtime_->retired != replaced && runtime_->retiring != replaced) return false;
    // The page of a copy tells of the file that it was copied from.
    if (!is_ready()) return false;
    // Or who replaces it has not said so yet, or ended before it could.
    return runtime_->retired == replaced || !has_its_name();
  }
  std::uint64_t epoch() const { return runtime_->epoch; }
  std::uint64_t image_bytes() const { return head_.block.file_bytes; }
  // And has the payload all that the log has? It does from the first recovery after the system was
  // started on, since all processes share its bytes. A copy of the file is another file.
  bool is_recovered() const;
  // Copied since somebody had it open. If that was while they added, it has pages of different
  // moments: as little is known of it as after a power cut.
  bool is_copy() const;

 private:
  LiveFile(SharedFile file, LiveHead head, Secret secret)
      : file_(std::move(file)), head_(std::move(head)), secret_(secret) {}

  Memory payload() const;  // in place
  std::uint64_t start() const { return runtime_->starts[runtime_->epoch & 1]; }
  void settle_retirement();
  Result<LiveHead> read_head() const;
  static Result<std::unique_ptr<LiveFile>> mapped(SharedFile file, LiveHead head,
                                                  std::uint64_t bytes, Secret secret);
  std::uint64_t log_at() const { return head_.block.file_bytes + page_bytes; }
  Result<void> map_log(std::uint64_t file_bytes);
  // The bytes of the region of this epoch.
  std::span<const std::byte> region(std::uint64_t epoch) const;
  std::uint64_t region_at(std::uint64_t epoch) const;  // in the file
  LogSeal seal(std::uint64_t epoch) const;
  Result<bool> is_in_use() const;
  // Of a log that grows.
  std::span<const std::byte> log_at_rest(std::uint64_t end) const {
    return region(0).first(std::min<std::uint64_t>(end, region(0).size()));
  }

  // Are all records there that were known to be? Others may be open beside a reader.
  Result<std::uint64_t> expect_whole_log(std::uint64_t expected) const;
  Result<bool> has_parts_of_different_times() const;
  std::uint64_t log_bytes_before(std::uint64_t position) const;
  Result<bool> payload_has_all(std::uint64_t log_bytes, std::uint64_t expected,
                               const Replay& replay) const;
  Result<void> drop_uncounted() const;
  void make_ready(const LiveFields& live, std::uint64_t generation);
  void look_for_holes();
  // Has the current region room on the disk up to `end`? Makes it; false if it cannot be made and
  // a checkpoint may help.
  Result<bool> has_stored(std::uint64_t end);
  class CheckpointTime {
   public:
    explicit CheckpointTime(LiveRuntime& runtime);
    ~CheckpointTime();
    CheckpointTime(const CheckpointTime&) = delete;
    CheckpointTime& operator=(const CheckpointTime&) = delete;

   private:
    LiveRuntime& runtime_;
    std::uint64_t began_;
  };
  Result<Recovery> recover(const Replay& replay, const Mark& mark);
  void expect_anywhere() const;
  void settle_intent();
  void leave_pages_before(std::uint64_t place);
  Result<void> put(std::uint64_t at, std::span<const std::byte> bytes, bool by_call);
  Result<void> put_record(std::uint64_t place, std::span<const std::byte> head,
                          const LogRecord& record, bool by_call);
  // The length of the file, which is at least what is mapped of it.
  Result<std::uint64_t> expect_uncut() const;
  Result<void> make_durable(std::uint64_t upto, Memory& log, Company company);
  bool is_company_there() const;
  WaitGroups groups_of(std::uint64_t upto, std::uint32_t syncs) const;
  Result<void> sync_log(const Memory& log, std::uint64_t epoch, std::uint64_t from,
                        std::uint64_t to);
  Result<void> finish_checkpoint(const Mark& mark, std::uint64_t next_epoch, ChunkMarks marks,
                                 const std::function<void()>& meanwhile = {});
  void sum_chunks(const ChunkMarks& marks);
  ChunkMarks no_marks() const;
  struct Chunk {
    const Region* payload;
    std::uint64_t at;  // in the payload
    std::uint64_t length;
    std::uint64_t number;  // of all payloads
  };
  std::vector<Chunk> unmatched(const std::vector<Chunk>& chunks) const;
  Result<ChunkMarks> changed_chunks(const LiveFields& live, const Mark& mark) const;
  Error chunk_is_damaged(const Region& payload, std::uint64_t at, std::uint64_t length) const;
  // What is being added, or was by a process that ended.
  std::optional<LogRecord> intended() const;
  Result<void> write_superblock(std::uint64_t epoch, std::uint64_t adds, bool closed);
  // Of one of the mappings. A failure is told to all who have the file open.
  Result<void> sync(const Memory& mapping, std::uint64_t offset, std::uint64_t bytes);
  Error poisoned() const;
  Result<void> write_again();

  SharedFile file_;
  LiveHead head_;
  Secret secret_;
  Memory image_;  // shared
  Memory page_;   // shared: the runtime page, which stays where it is: its locks are held
  Memory log_;    // shared; mapped again when it has grown
  LiveRuntime* runtime_ = nullptr;
  std::uint64_t piece_written_ = 0;  // of the log, by this object
  bool attached_ = false;
  ForkCount forks_ = forks_so_far();
  // Of the runtime page: what changes with whatever somebody does.
  using Moment = std::array<std::uint64_t, 3>;
  Moment moment() const { return {runtime_->generation, runtime_->published, runtime_->adds}; }
  struct AtRest {
    std::uint64_t adds = 0;
    KeyForm form = KeyForm::none;
    Moment moment = {};
    bool is_whole = false;                      // the payload has all that the log has
    std::uint64_t log_end = ~std::uint64_t{0};  // of a log that grows; what lies behind is not read
  };
  std::optional<AtRest> at_rest_;
};

}  // namespace bloomery::inline v0::detail
