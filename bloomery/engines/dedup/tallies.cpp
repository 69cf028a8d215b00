#include <bloomery/engines/dedup/tallies.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include <bloomery/engines/dedup/key_numbers.hpp>
#include <bloomery/engines/dedup/loss_meter.hpp>
#include <bloomery/engines/keys/keyed_block.hpp>

namespace bloomery::inline v0::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto progress_interval = std::chrono::milliseconds(100);
// How many keys ahead the slots, and the keys themselves, are prefetched.
constexpr std::size_t slots_ahead = 24;
constexpr std::size_t keys_ahead = 12;
// Spools that are not longer than so many times their memory are not packed.
constexpr std::uint64_t least_compacted = 4;

// Reads everything and remembers what is asked for.
class TallyReading {
 public:
  TallyReading(const AnySet& set, BlockInputs& inputs, const DedupRules& rules,
               const TallyRules& tallies)
      : inputs_(inputs),
        rules_(rules),
        tallies_(tallies),
        hashing_(set, inputs.rules().delimiter, rules),
        meter_(set, rate_of_others(rules.against)),
        spool_(tallies.spool_memory_bytes),
        next_compacting_(least_compacted * tallies.spool_memory_bytes) {}

  Result<void> read_all() {
    KeyedBlock work;
    std::string head;
    for (;;) {
      const auto filled = inputs_.fill(work.block);
      if (!filled) return filled.error();
      if (!*filled) break;
      if (auto taken = heads_.take(work.block, head); !taken) return taken;
      if (!head.empty()) head_ = head;
      if (auto hashed = hashing_.hash(work); !hashed) return hashed;
      if (auto counted = take(work); !counted) return counted;
      if (auto moved = compact(); !moved) return moved;
      tell();
    }
    return {};
  }

  const std::string& head() const { return head_; }
  KeyNumbers& keys() { return keys_; }
  const Spool& spool() const { return spool_; }
  TallyReport report() {
    note_sizes();
    report_.expected_lost = meter_.lost();
    return report_;
  }

 private:
  Result<void> take(KeyedBlock& work) {
    if (work.block.first_of_file) records_in_file_ = rules_.on_head ? 1 : 0;
    if (work.no_key > 0 && rules_.refuse_no_key)
      return work.no_key_error(inputs_, records_in_file_);
    const std::vector<WideHash>& hashes = work.keys.wide;
    const std::uint64_t before = keys_.size();
    std::size_t key = 0;
    for (std::size_t i = 0; i < work.records.size(); ++i) {
      const bool keyed = key < hashes.size() && work.place_of(key) == i;
      if (!keyed && !work.fresh[i]) continue;  // another set has it, or it is dropped
      if (keyed && key + slots_ahead < hashes.size()) {
        keys_.prefetch_slot(hashes[key + slots_ahead]);
        keys_.prefetch_key(hashes[key + keys_ahead]);
      }
      const std::uint64_t size = keys_.size();
      const std::uint64_t number = keyed ? keys_.number_of(hashes[key++]) : keys_.number_alone();
      if (auto noted = note(number, number == size, work.records[i]); !noted) return noted;
    }
    count(work, keys_.size() - before);
    return {};
  }

  Result<void> note(std::uint64_t number, bool fresh, std::string_view record) {
    std::uint64_t& word = keys_.word(number);
    if (tallies_.print == TallyPrint::last) {
      word = spool_.size();
      return spool_.append(number, record);
    }
    ++word;
    return fresh ? spool_.append(number, record) : Result<void>{};
  }

  void count(const KeyedBlock& work, std::uint64_t fresh) {
    const std::uint64_t records = work.records.size();
    records_in_file_ += records;
    const std::uint64_t repeats = records - fresh - work.empty_gone;
    meter_.add(fresh, repeats);
    report_.lines_in += records;
    report_.repeats += repeats;
    report_.no_key += work.no_key;
    report_.empty += work.empty;
    report_.bytes_in = work.block.bytes_read;
    report_.file_bytes_in = work.block.file_bytes_read;
  }

  // Drops the records that later ones have replaced.
  Result<void> compact() {
    if (tallies_.print != TallyPrint::last || spool_.size() < next_compacting_) return {};
    Spool kept(tallies_.spool_memory_bytes);
    SpoolReader reader(spool_);
    Spool::Record record;
    for (;;) {
      const auto got = reader.next(record);
      if (!got) return got.error();
      if (!*got) break;
      std::uint64_t& last = keys_.word(record.number);
      if (last != record.offset) continue;
      last = kept.size();
      if (auto written = kept.append(record.number, record.bytes); !written) return written;
    }
    spool_bytes_ = std::max(spool_bytes_, spool_.file_bytes() + kept.file_bytes());
    spool_ = std::move(kept);
    next_compacting_ = std::max(least_compacted * tallies_.spool_memory_bytes, 2 * spool_.size());
    return {};
  }

  void tell() {
    if (!rules_.progress) return;
    const auto now = Clock::now();
    if (now - told_ < progress_interval) return;
    told_ = now;
    note_sizes();
    rules_.progress(report_);
  }

  void note_sizes() {
    report_.distinct = keys_.size();
    report_.memory_bytes = keys_.bytes() + spool_.memory_bytes();
    report_.spool_bytes = std::max(spool_bytes_, spool_.file_bytes());
  }

  BlockInputs& inputs_;
  const DedupRules& rules_;
  const TallyRules& tallies_;
  BlockHashing hashing_;
  Heads heads_{inputs_, rules_};
  std::string head_;
  LossMeter meter_;
  KeyNumbers keys_;
  Spool spool_;
  std::uint64_t next_compacting_;
  std::uint64_t spool_bytes_ = 0;  // of spools that are gone
  std::uint64_t records_in_file_ = 0;
  TallyReport report_;
  Clock::time_point told_ = Clock::now();
};

// Prints what is asked for of what was read.
class TallyPrinting {
 public:
  TallyPrinting(TallyReading& read, LineWriter& out, std::string_view delimiter)
      : keys_(read.keys()), spool_(read.spool()), out_(out), delimiter_(delimiter) {
    if (!read.head().empty()) print(read.head());
  }

  // What was printed, heads aside.
  std::uint64_t lines() const { return lines_; }

  Result<void> print_all(TallyPrint what) {
    return each_record([&](const Spool::Record& record) {
      const std::uint64_t word = keys_.word(record.number);
      if (what == TallyPrint::counts)
        print_count(word, record.bytes);
      else if (what == TallyPrint::once ? word == 1 : word == record.offset)
        print_line(record.bytes);
    });
  }

  Result<void> print_top(std::uint64_t top) {
    std::vector<Place> places = most_frequent(top);
    if (auto found = find_offsets(places); !found) return found;
    std::sort(places.begin(), places.end());
    SpoolReader reader(spool_);
    Spool::Record record;
    for (const Place& place : places) {
      if (auto got = reader.at(place.offset, record); !got) return got;
      print_count(place.count, record.bytes);
      if (!out_.good()) return out_.flush();
    }
    return {};
  }

 private:
  // A key among the most frequent. The smaller one is printed first.
  struct Place {
    std::uint64_t count = 0;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    bool operator<(const Place& other) const {
      return count != other.count ? count > other.count : number < other.number;
    }
  };

  // A heap whose front is the least of those that are kept.
  std::vector<Place> most_frequent(std::uint64_t top) {
    std::vector<Place> heap;
    for (std::uint64_t number = 0; number < keys_.size(); ++number) {
      const Place place{keys_.word(number), number};
      if (heap.size() < top) {
        heap.push_back(place);
        std::push_heap(heap.begin(), heap.end());
      } else if (place < heap.front()) {
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = place;
        std::push_heap(heap.begin(), heap.end());
      }
    }
    return heap;
  }

  // The spool has the keys in the order of their numbers.
  Result<void> find_offsets(std::vector<Place>& places) {
    std::sort(places.begin(), places.end(),
              [](const Place& one, const Place& other) { return one.number < other.number; });
    auto next = places.begin();
    return each_record([&](const Spool::Record& record) {
      if (next == places.end() || next->number != record.number) return;
      next->offset = record.offset;
      ++next;
    });
  }

  template <class Each>
  Result<void> each_record(Each&& each) {
    SpoolReader reader(spool_);
    Spool::Record record;
    for (;;) {
      const auto got = reader.next(record);
      if (!got) return got.error();
      if (!*got) return {};
      each(record);
      if (!out_.good()) return out_.flush();
    }
  }

  void print_count(std::uint64_t count, std::string_view record) {
    char digits[20];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), count).ptr;
    out_.append({digits, static_cast<std::size_t>(end - digits)});
    out_.append("\t");
    print_line(record);
  }
  void print_line(std::string_view record) {
    print(record);
    ++lines_;
  }
  void print(std::string_view record) {
    out_.append(record);
    out_.append(delimiter_);
  }

  KeyNumbers& keys_;
  const Spool& spool_;
  LineWriter& out_;
  std::string_view delimiter_;
  std::uint64_t lines_ = 0;
};

}  // namespace

Result<TallyReport> tally(const AnySet& set, BlockInputs& inputs, LineWriter& out,
                          const DedupRules& rules, const TallyRules& tallies) try {
  assert(!inputs.rules().strip_cr && "what is printed are the bytes that came; let the keys strip");
  TallyReading reading(set, inputs, rules, tallies);
  if (auto read = reading.read_all(); !read) return read.error();
  out.append(rules.mark);
  TallyPrinting printing(reading, out, inputs.rules().delimiter);
  const bool some = tallies.print == TallyPrint::counts && tallies.top > 0;
  if (auto printed = some ? printing.print_top(tallies.top) : printing.print_all(tallies.print);
      !printed)
    return printed.error();
  if (auto flushed = out.flush(); !flushed) return flushed.error();
  TallyReport report = reading.report();
  report.lines_out = printing.lines();
  return report;
} catch (const std::bad_alloc&) {
  return Error{Code::no_memory,
               "the system does not give the memory for one more different line; each takes 35 to "
               "46 bytes"};
}

}  // namespace bloomery::inline v0::detail
