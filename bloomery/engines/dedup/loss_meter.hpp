// How many new lines a set has probably taken for repeats while it filled: the rate at each add,
// summed up.
//
// The rate is computed again only when the set has grown by 1/32, and taken as linear in between:
// its formula is expensive compared to an add.
// Limits:  an expectation; what was truly lost is about its square root away from it.
// Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <bloomery/any_set.hpp>
#include <bloomery/text/lines.hpp>

namespace bloomery::inline v0::detail {

// The rate at which a set takes new keys for repeats. The formula counts the fresh keys. An
// overfull set takes many new keys for repeats, and those still set bits: so there the rate comes
// from the bits. Throws the Error of a server that has them and does not answer.
inline double rate_of_taking(const AnySet& set) {
  if (!set.overfull()) return set.expected_rate_now();
  set.measure().value();
  return set.rate_now();
}

class LossMeter {
 public:
  // other_rate: the rate at which sets asked before this one take a new line for a repeat.
  LossMeter(const AnySet& set, double other_rate) : set_(set), other_rate_(other_rate) {
    measures_ = !set.exact() || other_rate_ > 0;
    if (measures_) rate_ = rate();
  }

  void add(std::uint64_t fresh, std::uint64_t repeats) {
    fresh_ += fresh;
    repeats_ += repeats;
    all_repeats_ += repeats;
    if (measures_ && fresh_ + repeats_ >= step_) settle();
  }

  // Lines that may be added between two calls of add().
  std::size_t most_at_once() const { return static_cast<std::size_t>(least_step_); }
  // The same for remote sets, where each call is a round trip.
  std::size_t most_at_once_far() const {
    return static_cast<std::size_t>(std::max<std::uint64_t>(least_step_, set_.capacity() / 32));
  }

  double lost() {
    if (measures_) settle();
    return lost_so_far();
  }
  // Without asking for the rate again. It cannot be more than was taken for repeats.
  double lost_so_far() const {
    return std::min(lost_ + crowd_.lost(), static_cast<double>(all_repeats_));
  }

 private:
  double rate() const {
    const double own = set_.exact() ? 0 : rate_of_taking(set_);
    return std::min(1.0, own + other_rate_);
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
    step_ = std::max(least_step_, set_.adds() / (set_.overfull() ? 8 : 32));
  }

  // Of the truly new lines a share `mean` was lost and the rest was fresh. Not limited to the
  // repeats of this window: that would drop a tenth of a line from each window without repeats.
  static double likely_lost(std::uint64_t fresh, double mean) {
    return static_cast<double>(fresh) * mean / (1 - mean);
  }

  // All windows in which most of the new lines were lost. One such window has too few fresh lines
  // to tell which share of its lines was new; all of them together do. One more fresh line is
  // assumed, since zero may be chance, as in expected_false.hpp.
  struct Crowd {
    double fresh = 0;
    double repeats = 0;
    double fresh_if_all_new = 0;
    double lost_if_all_new = 0;

    double lost() const {
      const double new_part =
          fresh_if_all_new > 0 ? std::min(1.0, (fresh + 1) / fresh_if_all_new) : 1;
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
  // The rate of a small set rises within a few lines. A set without a capacity grows.
  static std::uint64_t least_step(std::uint64_t capacity) {
    if (capacity == 0) return lines_per_batch;
    return std::clamp<std::uint64_t>(capacity / 32, 8, lines_per_batch);
  }
  const AnySet& set_;
  double other_rate_;
  bool measures_ = false;
  double rate_ = 0;
  double lost_ = 0;  // outside the crowd
  Crowd crowd_;
  std::uint64_t fresh_ = 0;
  std::uint64_t repeats_ = 0;
  std::uint64_t all_repeats_ = 0;
  const std::uint64_t least_step_ = least_step(set_.capacity());
  std::uint64_t step_ = least_step_;
};

}  // namespace bloomery::inline v0::detail
