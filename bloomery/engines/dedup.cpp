#include <bloomery/engines/dedup.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>

namespace bloomery {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto progress_interval = std::chrono::milliseconds(100);
constexpr std::uint64_t first_keys_of_a_pipe = 1'000'000;

// Sums the rate at each add. The rate is asked again only when the set has grown by a part in 32,
// and taken as linear between: its formula is dear next to an add.
class LossMeter {
 public:
  LossMeter(const AnySet& set, const AnySet* against)
      : set_(set), against_rate_(against != nullptr ? against->expected_rate_now() : 0) {
    measures_ = !set.exact() || against_rate_ > 0;
    if (measures_) rate_ = rate();
  }

  void add(std::uint64_t fresh, std::uint64_t repeats) {
    fresh_ += fresh;
    repeats_ += repeats;
    all_repeats_ += repeats;
    if (measures_ && fresh_ + repeats_ >= step_) settle();
  }

  double lost() {
    if (measures_) settle();
    return lost_so_far();
  }
  // Without asking for the rate again. It can not be more than was taken for repeats.
  double lost_so_far() const {
    return std::min(lost_ + crowd_.lost(), static_cast<double>(all_repeats_));
  }

 private:
  // The formula goes by the keys that were fresh. Beyond the plan so many are lost, and yet fill
  // their share, that only the bits tell.
  double rate() const {
    double own = 0;
    if (!set_.exact()) own = set_.overfull() ? set_.rate_now() : set_.expected_rate_now();
    return std::min(1.0, own + against_rate_);
  }

  void settle() {
    const double after = rate();
    const double mean = (rate_ + after) / 2;
    if (mean > crowded)
      join_crowd(mean);
    else
      lost_ += likely_lost(fresh_, mean);
    rate_ = after;
    fresh_ = repeats_ = 0;
    step_ = std::max(least_step, set_.adds() / (set_.overfull() ? 8 : 32));
  }

  // Of the truly new lines a part `mean` was lost and the rest was fresh. Not held against the
  // repeats of this window: a tenth of a line would be dropped from each window that has none.
  static double likely_lost(std::uint64_t fresh, double mean) {
    return static_cast<double>(fresh) * mean / (1 - mean);
  }

  // All windows in which most of the new lines were lost. There the few fresh ones of a window, or
  // none, say little; together they tell which part of the lines was new.
  struct Crowd {
    double fresh = 0;
    double repeats = 0;
    double fresh_if_all_new = 0;
    double lost_if_all_new = 0;

    double lost() const {
      const double new_part = fresh_if_all_new > 0 ? fresh / fresh_if_all_new : 1;
      return std::min(repeats, new_part * lost_if_all_new);
    }
  };

  void join_crowd(double mean) {
    const auto lines = static_cast<double>(fresh_ + repeats_);
    crowd_.fresh += static_cast<double>(fresh_);
    crowd_.repeats += static_cast<double>(repeats_);
    crowd_.fresh_if_all_new += lines * (1 - mean);
    crowd_.lost_if_all_new += lines * mean;
  }

  static constexpr double crowded = 0.5;
  static constexpr std::uint64_t least_step = lines_per_batch;
  const AnySet& set_;
  double against_rate_;
  bool measures_ = false;
  double rate_ = 0;
  double lost_ = 0;  // outside the crowd
  Crowd crowd_;
  std::uint64_t fresh_ = 0;
  std::uint64_t repeats_ = 0;
  std::uint64_t all_repeats_ = 0;
  std::uint64_t step_ = least_step;
};

class Run {
 public:
  Run(AnySet& set, Inputs& inputs, LineWriter& out, const DedupRules& rules)
      : set_(set), inputs_(inputs), out_(out), rules_(rules), meter_(set, rules.against) {}

  Result<DedupReport> to_the_end() {
    for (;;) {
      const auto batch = inputs_.next();
      if (!batch) return after_flush(batch.error());
      if (batch->empty()) break;
      const auto fresh = mark(*batch);
      if (!fresh) return after_flush(fresh.error());
      print(*batch, *fresh);
      if (auto written = check_outputs(); !written) return written.error();
      tell();
    }
    if (auto written = flush_outputs(); !written) return written.error();
    note_sizes();
    report_.rate_now = set_.exact() ? 0 : set_.rate_now();
    report_.expected_lost = meter_.lost();
    return report_;
  }

 private:
  Lines keys_of(Lines lines) {
    if (!rules_.strip_cr) return lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      keys_[i] = lines[i];
      if (keys_[i].ends_with('\r')) keys_[i].remove_suffix(1);
    }
    return Lines(keys_).first(lines.size());
  }

  // Adds the keys of these lines to the set and marks in fresh_ which were new; returns how many.
  Result<std::size_t> mark(Lines lines) {
    const Lines keys = keys_of(lines);
    const std::span<bool> fresh = std::span<bool>(fresh_).first(keys.size());
    if (rules_.against == nullptr) return set_.add_all(keys, fresh);
    return mark_against(keys, fresh);
  }

  // Only what `against` surely has not goes on to the set.
  Result<std::size_t> mark_against(Lines keys, std::span<bool> fresh) {
    if (auto asked = rules_.against->may_contain_all(keys, fresh); !asked) return asked.error();
    std::size_t left = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      places_[left] = i;
      absent_[left] = keys[i];
      left += !fresh[i];
      fresh[i] = false;
    }
    const auto added =
        set_.add_all(Lines(absent_).first(left), std::span(absent_fresh_).first(left));
    if (!added) return added;
    for (std::size_t i = 0; i < left; ++i) fresh[places_[i]] = absent_fresh_[i];
    return added;
  }

  void print(Lines lines, std::size_t fresh) {
    report_.lines_in += lines.size();
    report_.repeats += lines.size() - fresh;
    report_.lines_out += append_marked(out_, lines, !rules_.repeated);
    if (rules_.repeats_out != nullptr) append_marked(*rules_.repeats_out, lines, false);
    meter_.add(fresh, lines.size() - fresh);
  }

  // The lines whose mark in fresh_ is `wanted`. What lies side by side in the input buffer, with
  // the delimiters between, is one run.
  std::uint64_t append_marked(LineWriter& out, Lines lines, bool wanted) {
    const std::string_view delimiter = inputs_.rules().delimiter;
    std::uint64_t appended = 0;
    for (std::size_t i = 0; i < lines.size();) {
      if (fresh_[i] != wanted) {
        ++i;
        continue;
      }
      const std::size_t first = i;
      const char* end = nullptr;
      do {
        end = lines[i].data() + lines[i].size();
        ++i;
      } while (i < lines.size() && fresh_[i] == wanted &&
               lines[i].data() == end + delimiter.size());
      out.append({lines[first].data(), static_cast<std::size_t>(end - lines[first].data())});
      out.append(delimiter);
      appended += i - first;
    }
    return appended;
  }

  // A slow pipe (tail -f) shall not wait for a megabyte: nothing to read means time to write.
  Result<void> check_outputs() {
    const bool good = out_.good() && (rules_.repeats_out == nullptr || rules_.repeats_out->good());
    if (good && inputs_.ready()) return {};
    return flush_outputs();
  }

  Result<void> flush_outputs() {
    if (auto flushed = out_.flush(); !flushed) return flushed.error();
    if (rules_.repeats_out != nullptr) return rules_.repeats_out->flush();
    return {};
  }

  // The lines decided so far are right; the Error that ended the run is the one to tell.
  Error after_flush(const Error& error) {
    static_cast<void>(flush_outputs().has_value());
    return error;
  }

  void note_sizes() {
    report_.bytes_in = inputs_.bytes_read();
    report_.memory_bytes = set_.bytes();
    report_.expected_lost = meter_.lost_so_far();
  }

  void tell() {
    if (rules_.on_overfull && !told_overfull_ && set_.overfull()) {
      told_overfull_ = true;
      note_sizes();
      rules_.on_overfull(report_);
    }
    if (!rules_.progress) return;
    const auto now = Clock::now();
    if (now - told_progress_ < progress_interval) return;
    told_progress_ = now;
    note_sizes();
    rules_.progress(report_);
  }

  AnySet& set_;
  Inputs& inputs_;
  LineWriter& out_;
  const DedupRules& rules_;
  LossMeter meter_;
  DedupReport report_;
  bool told_overfull_ = false;
  Clock::time_point told_progress_ = Clock::now();
  std::array<bool, lines_per_batch> fresh_{};
  std::array<std::string_view, lines_per_batch> keys_;
  std::array<std::string_view, lines_per_batch> absent_;
  std::array<std::size_t, lines_per_batch> places_{};
  std::array<bool, lines_per_batch> absent_fresh_{};
};

}  // namespace

Result<DedupReport> dedup(AnySet& set, Inputs& inputs, LineWriter& out, const DedupRules& rules) {
  assert(!inputs.rules().strip_cr && "dedup prints the bytes that came; let DedupRules strip");
  if (set.input() != InputForm::hashed)
    return Error{Code::mismatch, "dedup needs a set that takes text, and a " +
                                     std::string(set.kind().name) +
                                     " set takes integers; choose another kind"};
  return Run(set, inputs, out, rules).to_the_end();
}

Result<Want> dedup_want(const std::vector<std::string>& files, const LineRules& rules,
                        double rate) {
  const auto lines = estimate_lines(files, rules);
  if (!lines) return lines.error();
  Want want;
  want.keys = std::max<std::uint64_t>(1, lines->value_or(first_keys_of_a_pipe));
  want.rate = rate;
  return want;
}

}  // namespace bloomery
