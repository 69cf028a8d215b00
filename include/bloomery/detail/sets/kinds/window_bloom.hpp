// A Bloom filter for endless streams: the last N different keys are surely remembered, older ones
// fade.
//
//    head line, then for each block one line for each of two generations:
//      block 0:  | gen 0 | gen 1 |     hash --mulhi--> block, --remix--> k bits of a line, the
//      block 1:  | gen 0 | gen 1 |     same in each (block.hpp)
//    head:  current generation | keys in each | time slice + 1 | span of time
//
// Adds go to the current generation, asks to both; their lines are neighbours, so that an ask waits
// once for two lines in a row. A key that the current generation has changes nothing; any other key
// is written into it and counts, also if the other generation has it: so it is refreshed.
// When the current one has taken N keys, the other is cleared and becomes the current one.
// Why a whole N and two: the keys of one generation are different from each other, and all came
// after every key that the other one alone has. So what is forgotten was followed by N different
// keys. Several generations of N / 3 do not give that: the same keys, refreshed in each of them,
// are counted three times (docs/dead_ends.md).
// By time: after the first call of advance_to only time moves the generations, and all keys added
// within the span are remembered. A generation holds the keys of one span; if they are more than N,
// rate_now and overfull say so.
// Limits:  the add that begins a generation clears half of the memory. A key fades between N and
//          2 N different keys later (between a span and two). Rates below about 5e-8 are refused.
// Threads: any number may ask, or one may change it.
// See:     docs/kinds.md "window"; window_bloom_test has the model.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/bits/native_line.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class WindowBloom {
 public:
  static constexpr KindId id{9, "window"};
  static constexpr bool forgets = true;
  using Input = Hash;
  struct Shape {
    std::uint64_t blocks = 0;  // of one line per generation
    std::uint64_t share = 0;   // N: keys that a generation takes before the next begins
    std::uint32_t probes = 0;
    std::uint32_t generations = 0;  // 2; earlier versions made 4 of N / 3 keys, which are refused
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"blocks", &Shape::blocks}, Field{"share", &Shape::share},
                                     Field{"probes", &Shape::probes},
                                     Field{"generations", &Shape::generations}};
  struct Slot {
    std::uint64_t block = 0;
    Hash hash;
  };

  static Result<Shape> plan(const Want& want) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    // Both generations are full just before one is cleared.
    const double rate = -real::expm1(real::log1p(-want.rate) / generations);
    const auto [probes, mean] = plan::fullest_line(rate, max_line_probes);
    if (plan::line_rate(mean, probes) > rate * 1.01)
      return Error{Code::impossible,
                   "a window cannot hold so low a rate in one line a generation; ask for 1e-7 or "
                   "more"};
    const auto blocks =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(want.keys) / mean));
    if (!enough_bits(blocks, mean * generations, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
    return Shape{std::max<std::uint64_t>(blocks, 1), want.keys, probes, generations};
  }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.blocks == 0 || shape.blocks > most_blocks || shape.share == 0 || shape.probes == 0 ||
        shape.probes > max_line_probes || shape.generations < generations ||
        shape.generations > once_most_generations)
      return Error{Code::damaged, "a window of " + std::to_string(shape.blocks) + " blocks, " +
                                      std::to_string(shape.generations) + " generations of " +
                                      std::to_string(shape.share) + " keys and " +
                                      std::to_string(shape.probes) + " probes is not possible"};
    if (shape.generations != generations)
      return Error{Code::unsupported, "a window of " + std::to_string(shape.generations) +
                                          " generations was made by an earlier version, which "
                                          "forgot keys too early; make it again"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) {
    return (1 + shape.blocks * shape.generations) * line_bytes;
  }
  // After that many different keys.
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    const auto blocks = static_cast<double>(shape.blocks);
    const std::uint64_t begun = keys / shape.share;
    const std::uint64_t in_last = keys % shape.share;
    const std::uint64_t full =
        std::min<std::uint64_t>(begun, in_last == 0 ? generations : generations - 1);
    const double of_full = plan::line_rate(static_cast<double>(shape.share) / blocks, shape.probes);
    const double of_last = plan::line_rate(static_cast<double>(in_last) / blocks, shape.probes);
    return 1 - real::pow(1 - of_full, static_cast<double>(full)) * (1 - of_last);
  }

  // Of so many keys, the last: those of both generations.
  static std::uint64_t most_held(const Shape& shape, std::uint64_t keys) {
    if (keys <= shape.share * generations) return keys;
    return shape.share + (keys - 1) % shape.share + 1;
  }

  WindowBloom(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        round_(round_of(std::min(shape.probes, 8U))),
        words_(reinterpret_cast<std::uint64_t*>(lent.data())) {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
  }

  Shape shape() const { return shape_; }

  // Two lines a key, so fewer keys are prefetched at a time.
  static constexpr std::size_t lookahead = 32;

  Slot locate(Hash hash) const { return {mulhi(hash.bits, shape_.blocks), hash}; }
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    for (std::uint32_t g = 0; g < generations; ++g) __builtin_prefetch(line(slot.block, g), 0, 2);
  }

  Added add(const Slot& slot) {
    std::uint64_t* const newest = line(slot.block, current());
    const bool in_newest = has(newest, slot);
    const bool in_oldest = has(line(slot.block, 1 - current()), slot);
    const bool seen = in_newest || in_oldest;
    if (!in_newest) [[likely]] {
      if (!is_timed() && head().adds[head().current] == shape_.share) [[unlikely]]
        return advance_and_add(slot, seen);
      add_to(newest, slot);
    }
    return added(!seen);
  }
  bool may_contain(const Slot& slot) const {
    // Both are asked: no branch on loaded bits.
    const bool in_first = has(line(slot.block, 0), slot);
    const bool in_second = has(line(slot.block, 1), slot);
    return in_first || in_second;
  }

  // Begins the next generation, in the place of the oldest, which is forgotten.
  void advance() {
    Head& at = head();
    at.current = (at.current + 1) % generations;
    at.adds[at.current] = 0;
    for (std::uint64_t block = 0; block < shape_.blocks; ++block)
      std::memset(line(block, current()), 0, line_bytes);
  }

  // Tells the time, in any unit. From then on only time forgets: what was added within `span`
  // before is surely there, what is older than two spans is forgotten.
  // A time before the latest one is ignored.
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) {
    Head& at = head();
    if (span == 0)
      return Error{Code::impossible, "a window of no time remembers nothing; give a longer span"};
    if (at.span != 0 && at.span != span)
      return Error{Code::mismatch, "the window spans " + std::to_string(at.span) + ", not " +
                                       std::to_string(span) + "; a span never changes"};
    const std::uint64_t now = std::min(time / span, latest_slice) + 1;
    // What was added before the first call counts as added then.
    const std::uint64_t passed = at.slice == 0 || now <= at.slice ? 0 : now - at.slice;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(passed, generations); ++i) advance();
    at.span = span;
    at.slice = std::max(at.slice, now);
    return {};
  }
  std::uint64_t time_span() const { return head().span; }
  // The latest time given to advance_to, rounded down to its generation's beginning; 0: none yet.
  std::uint64_t time_told() const {
    if (!is_timed()) return 0;
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t slice = head().slice - 1;
    return slice > most / time_span() ? most : slice * time_span();
  }
  bool is_timed() const { return time_span() != 0; }

  // Some generation took more than N keys: possible only if the window is one of time.
  bool overfull() const {
    return std::any_of(head().adds, head().adds + generations,
                       [&](std::uint64_t adds) { return adds > shape_.share; });
  }

  // Different keys: those of a filter that has the bits of both generations.
  double estimate() const {
    std::uint64_t ones = 0;
    for (std::uint64_t block = 0; block < shape_.blocks; ++block)
      for (std::size_t lane = 0; lane < lanes_per_line; ++lane) {
        std::uint64_t all = 0;
        for (std::uint32_t g = 0; g < generations; ++g) all |= line(block, g)[lane];
        ones += static_cast<std::uint64_t>(std::popcount(all));
      }
    const double bits = static_cast<double>(shape_.blocks) * line_bits;
    const double empty = 1 - static_cast<double>(ones) / bits;
    if (empty <= 0) return std::numeric_limits<double>::infinity();
    return -real::log(empty) / (1 - plan::line_bit_spared(shape_.probes)) *
           static_cast<double>(shape_.blocks);
  }
  // The mean over blocks of the chance to pass either of its lines.
  double rate_now() const {
    double sum = 0;
    for (std::uint64_t block = 0; block < shape_.blocks; ++block) {
      double refused = 1;
      for (std::uint32_t g = 0; g < generations; ++g)
        refused *= 1 - line_passing(line(block, g), shape_.probes);
      sum += 1 - refused;
    }
    return sum / static_cast<double>(shape_.blocks);
  }
  double fill_ratio() const {
    const Words lines(words_ + lanes_per_line, shape_.blocks * generations * lanes_per_line);
    return static_cast<double>(count_ones(lines)) / (static_cast<double>(lines.size()) * word_bits);
  }

  Result<void> check_bits() const {
    const Head& at = head();
    bool sound = at.current < generations && (at.span == 0) == (at.slice == 0);
    for (std::uint32_t g = 0; g < once_most_generations; ++g) {
      if (g >= generations) sound = sound && at.adds[g] == 0;
      if (at.span == 0) sound = sound && at.adds[g] <= shape_.share;
    }
    if (!sound) return Error{Code::damaged, "the head of a window is not valid"};
    return {};
  }

 private:
  static constexpr std::uint32_t generations =
      2;  // so the one that is not current is 1 - current()
  static constexpr std::uint32_t once_most_generations = 5;  // the head has room for so many
  static constexpr std::uint64_t most_blocks = std::uint64_t{1} << 48;
  static constexpr std::uint64_t latest_slice = std::numeric_limits<std::uint64_t>::max() - 1;

  // The first line.
  struct Head {
    std::uint64_t current;
    std::uint64_t adds[once_most_generations];  // those beyond generations are zero
    std::uint64_t slice;                        // of time, plus 1; 0 until the time is told
    std::uint64_t span;                         // of time; 0 until it is told
  };
  static_assert(sizeof(Head) == line_bytes);

  Head& head() const { return *reinterpret_cast<Head*>(words_); }
  std::uint32_t current() const { return static_cast<std::uint32_t>(head().current); }
  std::uint64_t* line(std::uint64_t block, std::uint32_t generation) const {
    return words_ + (1 + block * generations + generation) * lanes_per_line;
  }
  bool has(const std::uint64_t* at, const Slot& slot) const {
    return has_probes<AnyCpu>(at, slot.hash.bits, 0, round_, shape_.probes);
  }
  // The current generation: it did not have the key.
  void add_to(std::uint64_t* at, const Slot& slot) {
    mark_probes<AnyCpu>(at, slot.hash.bits, 0, round_, shape_.probes);
    ++head().adds[current()];
  }
  // `seen` was asked before the oldest generation is cleared: its keys were still there when this
  // key came.
  Added advance_and_add(const Slot& slot, bool seen) {
    advance();
    add_to(line(slot.block, current()), slot);
    return added(!seen);
  }

  Shape shape_;
  Round round_;
  std::uint64_t* words_;
};

}  // namespace bloomery::inline v0::detail
