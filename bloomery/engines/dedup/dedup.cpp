#include <bloomery/engines/dedup/dedup.hpp>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <utility>

#include <bloomery/detail/engines/thrown.hpp>
#include <bloomery/engines/dedup/loss_meter.hpp>
#include <bloomery/engines/keys/keyed_block.hpp>

namespace bloomery::inline v0::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto progress_interval = std::chrono::milliseconds(100);
// Milliseconds until the reader of a silent pipe looks again at the other threads and the clock.
constexpr int busy_wait = 10;
constexpr int longest_wait = 3'600'000;
// How late it may notice a request to stop.
constexpr int stop_wait = 100;
constexpr std::uint64_t first_keys_of_a_pipe = 1'000'000;
// Adding handles one block after the other, so it cannot keep more threads busy.
constexpr unsigned most_useful_threads = 8;

unsigned useful_threads(Threads threads) {
  return std::min(wanted_threads(threads), most_useful_threads);
}
std::size_t blocks_for(unsigned threads) { return threads == 1 ? 1 : threads + 2; }

class WithoutCr : public KeyMaker {
 public:
  Lines keys_of(Lines records) override {
    keys_.assign(records.begin(), records.end());
    for (std::string_view& key : keys_)
      if (key.ends_with('\r')) key.remove_suffix(1);
    return keys_;
  }
  std::string why_none(std::string_view) const override { return ""; }

 private:
  std::vector<std::string_view> keys_;
};

// A block on its way.
struct Work : KeyedBlock {
  std::string head;  // if it is to be printed
  bool hashed = false;
  bool partly = false;  // only some records were added, and it is unknown which are repeats
};

// Marks which records of the blocks are fresh, one block after the other.
class Adding {
 public:
  Adding(AnySet& set, const BlockInputs& inputs, const DedupRules& rules)
      : set_(set), inputs_(inputs), rules_(rules), meter_(set, rate_of_others(rules.against)) {}

  Result<void> add(Work& work) {
    if (work.block.first_of_file) lines_in_file_ = rules_.on_head ? 1 : 0;
    if (work.no_key > 0 && rules_.refuse_no_key) return work.no_key_error(inputs_, lines_in_file_);
    if (rules_.before_adding)
      if (auto told = rules_.before_adding(set_); !told) return told;
    std::uint64_t fresh = work.new_without_asking();
    marks_.assign(work.all ? 0 : work.key_count, false);
    Marks& marks = work.all ? work.fresh : marks_;
    const std::size_t step = set_.shared() ? meter_.most_at_once_far() : meter_.most_at_once();
    for (std::size_t first = 0; first < work.key_count; first += step) {
      const std::size_t count = std::min(step, work.key_count - first);
      const auto added = add_some(work, marks.span(first, count), first);
      if (!added)
        return set_.shared() ? end_within(work, marks, first + count, added.error())
                             : added.error();
      fresh += *added;
    }
    spread(work);
    meter_.add(0,
               work.records.size() - work.key_count - work.new_without_asking() - work.empty_gone);
    count(work, fresh);
    return {};
  }
  // The last block was added in part, and what the set now has of it must be printed.
  bool ended_within() const { return ended_within_; }

  // Called from time to time; not while a thread adds.
  void tell() {
    if (!rules_.progress) return;
    untold_ = true;
    if (Clock::now() - told_ >= progress_interval) tell_rest();
  }
  // What came too soon after the last time: before nothing more may come for long.
  void tell_rest() {
    if (!untold_) return;
    untold_ = false;
    told_ = Clock::now();
    note_sizes();
    rules_.progress(report_);
  }

  const DedupReport& so_far() {
    note_sizes();
    return report_;
  }
  Result<DedupReport> at_the_end() {
    note_sizes();
    if (auto measured = set_.measure(); !measured) return measured.error();
    report_.rate_now = set_.exact() ? 0 : set_.rate_now();
    report_.expected_lost = meter_.lost();
    return report_;
  }

 private:
  // Throws nothing: what a shared set has of the block must still be printed.
  Result<std::uint64_t> add_some(Work& work, std::span<bool> marks, std::size_t first) {
    bool marked = false;
    try {
      const auto added = set_.add_all(work.keys, first, marks.size(), marks);
      marked = true;
      if (!added) return added.error();
      meter_.add(*added, marks.size() - *added);
      warn(first + marks.size());
      return std::uint64_t{*added};
    } catch (const std::exception&) {
      // The set may have any of them.
      if (!marked) std::fill(marks.begin(), marks.end(), true);
      return error_of(std::current_exception());
    }
  }

  // Of keys that have places.
  void spread(Work& work) {
    for (std::size_t i = 0; !work.all && i < work.key_count; ++i)
      work.fresh.set(work.places[i], marks_[i]);
  }

  // Keys from `end` on were not tried: neither new nor repeats.
  Error end_within(Work& work, Marks& marks, std::size_t end, const Error& why) {
    for (std::size_t i = end; i < work.key_count; ++i) marks.set(i, false);
    spread(work);
    ended_within_ = work.partly = true;
    return why;
  }

  void count(const Work& work, std::uint64_t fresh) {
    const std::uint64_t lines = work.records.size();
    const std::uint64_t repeats = lines - fresh - work.empty_gone;
    lines_in_file_ += lines;
    report_.lines_in += lines;
    report_.repeats += repeats;
    report_.lines_out += rules_.repeated ? repeats : fresh;
    report_.no_key += work.no_key;
    report_.empty += work.empty;
    report_.bytes_in = work.block.bytes_read;
    report_.file_bytes_in = work.block.file_bytes_read;
  }

  // `lines`: how many of the current block are done.
  void warn(std::uint64_t lines) {
    if (!rules_.on_overfull || warned_ || !set_.overfull()) return;
    warned_ = true;
    note_sizes();
    DedupReport now = report_;
    now.lines_in += lines;
    rules_.on_overfull(now);
  }

  void note_sizes() {
    report_.memory_bytes = set_.bytes();
    report_.expected_lost = meter_.lost_so_far();
  }

  AnySet& set_;
  const BlockInputs& inputs_;
  const DedupRules& rules_;
  LossMeter meter_;
  DedupReport report_;
  Marks marks_;
  std::uint64_t lines_in_file_ = 0;
  bool warned_ = false;
  bool ended_within_ = false;
  Clock::time_point told_ = Clock::now();
  bool untold_ = false;
};

// Writes what the marks say, one block after the other.
class Printing {
 public:
  Printing(LineWriter& out, std::string_view delimiter, const DedupRules& rules)
      : out_(out), delimiter_(delimiter), rules_(rules) {}

  Result<void> print(Work& work) {
    const bool begins = out_.bytes_written() == 0;
    if (!work.head.empty()) print_head(work.head);
    if (begins && work.head.empty()) out_.append(rules_.mark);
    // Records that were not tried are not repeats.
    if (work.partly && rules_.repeated) return flush();
    if (rules_.repeats_out != nullptr && !work.partly)
      for_each_run(work, false, [&](std::string_view run) { rules_.repeats_out->append(run); });
    // What is wanted moves to the front: from there it is one write.
    char* const begin = work.block.bytes().data();
    char* end = begin;
    for_each_run(work, !rules_.repeated, [&](std::string_view run) {
      if (end != run.data()) std::memmove(end, run.data(), run.size());
      end += run.size();
    });
    out_.append_block({begin, static_cast<std::size_t>(end - begin)});
    if (good()) return {};
    return flush();
  }

  Result<void> flush() {
    if (auto flushed = out_.flush(); !flushed) return flushed;
    if (rules_.repeats_out != nullptr) return rules_.repeats_out->flush();
    return {};
  }

 private:
  bool good() const {
    return out_.good() && (rules_.repeats_out == nullptr || rules_.repeats_out->good());
  }

  // Once to each writer, and only while it is empty: not after lines of another file or an earlier
  // run.
  void print_head(std::string_view head) {
    for (LineWriter* out : {&out_, rules_.repeats_out}) {
      if (out == nullptr || out->bytes_written() > 0) continue;
      if (out == &out_) out->append(rules_.mark);
      out->append(head);
      out->append(delimiter_);
    }
  }

  // Calls each(bytes) for every run of neighbours whose mark is `wanted`, delimiters included.
  template <class Each>
  void for_each_run(const Work& work, bool wanted, Each&& each) {
    const Lines records = work.records;
    const auto is_wanted = [&](std::size_t i) {
      return work.fresh[i] == wanted && !work.is_gone(i);
    };
    for (std::size_t i = 0; i < records.size();) {
      if (!is_wanted(i)) {
        ++i;
        continue;
      }
      const char* const begin = records[i].data();
      do {
        ++i;
      } while (i < records.size() && is_wanted(i));
      const char* const end = records[i - 1].data() + records[i - 1].size() + delimiter_.size();
      each({begin, static_cast<std::size_t>(end - begin)});
    }
  }

  LineWriter& out_;
  std::string_view delimiter_;
  const DedupRules& rules_;
};

// Schedules the steps. Blocks are numbered as they are read; block n is in ring_[n % size].
class Flow {
 public:
  Flow(AnySet& set, BlockInputs& inputs, LineWriter& out, const DedupRules& rules)
      : set_(set),
        inputs_(inputs),
        rules_(rules),
        delimiter_(inputs.rules().delimiter),
        adding_(set, inputs, rules),
        printing_(out, delimiter_, rules),
        ring_(blocks_for(useful_threads(rules.threads))) {
    inputs_.before_wait([this] { return before_wait(); });
  }
  ~Flow() { inputs_.before_wait({}); }
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  Result<DedupReport> to_the_end() {
    const unsigned threads = useful_threads(rules_.threads);
    if (!on_threads(threads, [this](unsigned) { work(); })) work();
    // Blocks that were added before an Error came are printed with any number of threads.
    while (!printer_busy_ && printed_ < added_ && printing_.print(at(printed_))) ++printed_;
    // What is already decided is right and is flushed also after an Error; the first Error wins.
    if (const auto flushed = printing_.flush(); !flushed && !failed_) failed_ = flushed.error();
    if (thrown_) return error_of(thrown_);
    if (failed_) return *failed_;
    if (input_failed_) return *input_failed_;
    return adding_.at_the_end();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void work() noexcept {
    Lock lock(mutex_, std::defer_lock);
    try {
      BlockHashing hashing(set_, delimiter_, rules_);
      lock.lock();
      while (going_on() && step(lock, hashing)) {
      }
    } catch (...) {
      // No message yet: making one needs memory, which may have run out.
      if (!lock.owns_lock()) lock.lock();
      thrown_ = std::current_exception();
    }
    changed_.notify_all();
  }

  bool going_on() const { return !failed_ && !thrown_; }

  // Takes the step that is farthest along, or waits; false when all is done.
  bool step(Lock& lock, BlockHashing& hashing) {
    if (rules_.stop != nullptr && rules_.stop->load() && !reader_busy_) ended_ = true;
    if (!printer_busy_ && printed_ < added_)
      print(lock);
    else if (checkpoint_due() && !adder_busy_ && !printer_busy_)
      take_checkpoint(lock);
    else if (!adder_busy_ && added_ < read_ && at(added_).hashed && !checkpoint_due())
      add(lock);
    else if (!reader_busy_ && !ended_ && read_ - printed_ < ring_.size())
      read(lock, hashing);
    else if (ended_ && printed_ == read_)
      return false;
    else
      wait(lock);
    return true;
  }

  // Also wakes up for a checkpoint when nothing else happens.
  void wait(Lock& lock) {
    if (rules_.checkpoint && added_ != saved_ && !checkpoint_due())
      changed_.wait_until(lock, next_checkpoint_);
    else
      // A checkpoint that is due waits for the thread that adds or prints, which notifies this one.
      changed_.wait(lock);
  }

  Work& at(std::uint64_t block) { return ring_[block % ring_.size()]; }

  // Runs `work` with the lock given back; its Error ends the run.
  template <class Do>
  void unlocked(Lock& lock, Do&& work) {
    lock.unlock();
    Result<void> done = work();
    lock.lock();
    if (!done && !failed_) failed_ = done.error();
    changed_.notify_all();
  }

  void print(Lock& lock) {
    printer_busy_ = true;
    Work& work = at(printed_);
    unlocked(lock, [&] { return printing_.print(work); });
    ++printed_;
    printer_busy_ = false;
    if (starving_ && printed_ == read_) flush(lock);
  }

  // Lines from a slow pipe (tail -f) must not wait for a full buffer: while there is nothing to
  // read, write and save. Also in the middle of a line, or between two files.
  Result<int> before_wait() {
    Lock lock(mutex_);
    starving_ = true;
    if (printed_ == read_ && !printer_busy_) flush(lock);
    if (added_ == read_ && !adder_busy_) adding_.tell_rest();
    if (going_on() && printed_ == read_ && !adder_busy_ && !printer_busy_ && checkpoint_due())
      take_checkpoint(lock);
    if (failed_) return *failed_;
    if (thrown_) return Error{Code::io, "stopped while waiting for input"};
    if (rules_.stop != nullptr && rules_.stop->load()) {
      stopped_waiting_ = true;
      return Error{Code::io, "stopped while waiting for input"};
    }
    // Other threads are still at work and may fail: then this one must not wait for input.
    if (printed_ != read_ || printer_busy_) return busy_wait;
    // A signal may wake up another thread than this one.
    const int longest = rules_.stop == nullptr ? longest_wait : stop_wait;
    if (!rules_.checkpoint || added_ == saved_) return rules_.stop == nullptr ? -1 : stop_wait;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_checkpoint_ - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, longest));
  }

  void flush(Lock& lock) {
    printer_busy_ = true;
    unlocked(lock, [&] { return printing_.flush(); });
    printer_busy_ = false;
  }

  void add(Lock& lock) {
    adder_busy_ = true;
    Work& work = at(added_);
    bool good = false;
    unlocked(lock, [&] {
      auto added = adding_.add(work);
      good = added.has_value();
      if (good) adding_.tell();
      return added;
    });
    added_ += good || adding_.ended_within();
    adder_busy_ = false;
  }

  void read(Lock& lock, BlockHashing& hashing) {
    reader_busy_ = true;
    Work& work = at(read_);
    work.hashed = false;
    bool got = false;
    std::optional<Error> refused;
    unlocked(lock, [&]() -> Result<void> {
      const auto filled = inputs_.fill(work.block);
      if (!filled) refused = filled.error();
      got = filled && *filled;
      if (!got) return {};
      if (const auto taken = heads_.take(work.block, work.head); !taken) refused = taken.error();
      got = !refused;
      return {};
    });
    starving_ = reader_busy_ = false;
    // A stop request while waiting for input counts as the end of the input.
    if (refused && !stopped_waiting_) input_failed_ = refused;
    ended_ = !got;
    if (!got || !going_on()) return;
    ++read_;
    unlocked(lock, [&] { return hashing.hash(work); });
    work.hashed = true;
  }

  bool checkpoint_due() const {
    return rules_.checkpoint && added_ != saved_ && Clock::now() >= next_checkpoint_;
  }

  void take_checkpoint(Lock& lock) {
    adder_busy_ = printer_busy_ = true;
    saved_ = added_;
    const auto start = Clock::now();
    unlocked(lock, [&]() -> Result<void> {
      if (auto flushed = printing_.flush(); !flushed) return flushed;
      return rules_.checkpoint(adding_.so_far());
    });
    const auto end = Clock::now();
    next_checkpoint_ = end + std::max<Clock::duration>(rules_.checkpoint_every, 9 * (end - start));
    adder_busy_ = printer_busy_ = false;
  }

  AnySet& set_;
  BlockInputs& inputs_;
  const DedupRules& rules_;
  const std::string delimiter_;
  Adding adding_;
  Printing printing_;
  Heads heads_{inputs_, rules_};
  Clock::time_point next_checkpoint_ = Clock::now() + rules_.checkpoint_every;

  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<Work> ring_;
  std::uint64_t read_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t printed_ = 0;
  std::uint64_t saved_ = 0;  // blocks that the last checkpoint knows
  bool reader_busy_ = false;
  bool adder_busy_ = false;
  bool printer_busy_ = false;
  bool stopped_waiting_ = false;
  bool starving_ = false;  // the reader waits for input from a pipe
  bool ended_ = false;     // the last block was read
  std::optional<Error> failed_;
  std::exception_ptr thrown_;          // by one of the threads
  std::optional<Error> input_failed_;  // returned after the blocks before it were printed
};

}  // namespace

MakeKeys keys_without_cr() {
  return [](std::size_t) { return std::make_unique<WithoutCr>(); };
}

Result<DedupReport> dedup(AnySet& set, BlockInputs& inputs, LineWriter& out,
                          const DedupRules& rules) {
  assert(!inputs.rules().strip_cr && "dedup prints the bytes that came; let the keys strip");
  if (set.input() != InputForm::hashed)
    return Error{Code::mismatch, "dedup needs a set that takes text, and a " +
                                     std::string(set.kind().name) +
                                     " set takes integers; choose another kind"};
  try {
    return Flow(set, inputs, out, rules).to_the_end();
  } catch (const std::exception&) {
    return error_of(std::current_exception());
  }
}

// A block of short lines has up to twice its bytes in views, hashes and marks.
std::uint64_t dedup_overhead(Threads threads) {
  return 3 * default_record_block_bytes * blocks_for(useful_threads(threads));
}

Result<Want> dedup_want(const std::vector<std::string>& files, const LineRules& rules, double rate,
                        bool grows) {
  const auto lines = grows ? estimate_keys(files, rules) : estimate_lines(files, rules);
  if (!lines) return lines.error();
  Want want;
  want.keys = std::max<std::uint64_t>(1, lines->value_or(first_keys_of_a_pipe));
  want.rate = rate;
  return want;
}

}  // namespace bloomery::inline v0::detail
