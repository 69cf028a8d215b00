// A Bloom filter that spends all its bits for one key in one cache line; below 1e-4 in two.
//
//    hash --high word of hash * blocks--> line     --remix--> k bits of its 512 (block.hpp)
//    two lines a key: the second line is chosen by a remix, and has k bits of its own
//
// One cache miss per key instead of k. The price is that the fullest lines cause most false
// positives: 9.95 bits a key at 1 % (classic 9.59), 15.6 at 0.1 % (14.4); two lines 31.2 at 1e-6
// (28.8), where one line would need 38.8.
// Limits:  16 probes a line, so 1e-12 in two lines is the end.
// Threads: add_shared and may_contain_shared by any number at once; the rest by one. Two threads
//          that add the same key at once may both get Added::fresh.
// See:     docs/kinds.md "blocked"; golden_test pins the bits.
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
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/native_line.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/detail/hash/odd_constants.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class BlockedBloom {
 public:
  static constexpr KindId id{4, "blocked"};
  using Input = Hash;
  struct Shape {
    std::uint64_t blocks = 0;
    std::uint32_t probes = 0;  // in each line
    std::uint32_t lines = 0;   // 1 or 2 lines a key
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  static constexpr std::tuple fields{Field{"blocks", &Shape::blocks},
                                     Field{"probes", &Shape::probes},
                                     Field{"lines", &Shape::lines}};
  struct Slot {
    std::uint64_t first = 0;   // block
    std::uint64_t second = 0;  // block; the first again when one line is enough
    Hash hash;
  };

  static Result<Shape> plan(const Want& want) {
    return plan_lines(want, want.rate < two_lines_below ? 2U : 1U);
  }
  // For sets whose keys must lie in one place at any rate (redis_layout.hpp).
  static Result<Shape> plan_one_line(const Want& want) { return plan_lines(want, 1); }

  static Result<void> check(const Shape& shape, std::uint64_t payload_bytes) {
    if (shape.blocks == 0 || shape.blocks > most_blocks || shape.probes == 0 ||
        shape.probes > max_line_probes || shape.lines == 0 || shape.lines > 2)
      return Error{Code::damaged, "a blocked filter of " + std::to_string(shape.blocks) +
                                      " blocks, " + std::to_string(shape.probes) + " probes and " +
                                      std::to_string(shape.lines) + " lines is not possible"};
    return check_length(id.name, bytes(shape), payload_bytes);
  }

  static std::uint64_t bytes(const Shape& shape) { return shape.blocks * line_bytes; }
  static double expected_rate(const Shape& shape, std::uint64_t keys) {
    const double mean = static_cast<double>(keys) * shape.lines / static_cast<double>(shape.blocks);
    return real::pow(plan::line_rate(mean, shape.probes), shape.lines);
  }

  BlockedBloom(const Shape& shape, std::span<std::byte> lent)
      : shape_(shape),
        is_simple_(shape.lines == 1 && shape.probes <= 8),
        lone_{round_of(std::min(shape.probes, 8U)), shape.blocks,
              reinterpret_cast<std::uint64_t*>(lent.data())} {
    assert(lent.size() == bytes(shape) && "a filter is given exactly the bytes of its shape");
    assert(reinterpret_cast<std::uintptr_t>(lent.data()) % line_bytes == 0 &&
           "a line is a cache line");
  }

  Shape shape() const { return shape_; }
  std::span<std::byte> bytes_lent() const { return std::as_writable_bytes(words()); }

  Slot locate(Hash hash) const {
    const std::uint64_t first = mulhi(hash.bits, shape_.blocks);
    std::uint64_t second = first;
    if (!is_simple_) [[unlikely]]
      if (shape_.lines == 2) second = mulhi(remix(hash, 2), shape_.blocks);
    return {first, second, hash};
  }
  [[gnu::always_inline]] void prefetch(const Slot& slot) const {
    __builtin_prefetch(line(slot.first), 0, 2);
    __builtin_prefetch(line(slot.second), 0, 2);
  }

  template <class Visit>
  void each_byte(const Slot& slot, Visit&& visit) const {
    visit(slot.first * line_bytes);
    visit(slot.second * line_bytes);
  }

  Added add(const Slot& slot) {
    if (!is_simple_) [[unlikely]]
      return add_rounds<AnyCpu>(slot.hash);
    return add_simple<AnyCpu>(slot.hash);
  }
  Added add_shared(const Slot& slot) {
    bool seen = true;
    each_probe(slot, [&](std::uint64_t& word, std::uint64_t bit) {
      seen &= or_shared(word, bit) != 0;
      return true;
    });
    return added(!seen);
  }
  bool may_contain(const Slot& slot) const {
    // Branches on the shape, never on loaded bits: a misprediction there would throw away the
    // loads that the CPU has started for later keys.
    if (!is_simple_) [[unlikely]]
      return has_rounds<AnyCpu>(slot.hash);
    return has_simple<AnyCpu>(slot.hash);
  }
  // The same where the shape is known to be simple: one line a key and one round of probes.
  bool is_simple() const { return is_simple_; }
  // Inlined where the caller is compiled for its CPU (this_cpu.hpp).
  template <class Cpu = ThisCpu>
  Added add_simple(Hash hash) {
    return added(lone_mark<Cpu>(lone_, hash.bits));
  }
  template <class Cpu = ThisCpu>
  bool has_simple(Hash hash) const {
    return lone_has<Cpu>(lone_, hash.bits);
  }
  template <class Cpu = ThisCpu>
  Added add_lone(Hash hash) {
    return is_simple_ ? add_simple<Cpu>(hash) : add_rounds<Cpu>(hash);
  }
  template <class Cpu = ThisCpu>
  bool has_lone(Hash hash) const {
    return is_simple_ ? has_simple<Cpu>(hash) : has_rounds<Cpu>(hash);
  }
  // The same for any shape and for a second line that was chosen elsewhere (sharded.hpp).
  template <class Cpu = AnyCpu>
  Added add_at(const Slot& slot) {
    bool fresh = mark_line<Cpu>(line(slot.first), slot.hash, 0);
    if (shape_.lines == 2) fresh |= mark_line<Cpu>(line(slot.second), slot.hash, 3);
    return added(fresh);
  }
  template <class Cpu = AnyCpu>
  bool has_at(const Slot& slot) const {
    bool all = line_has_all<Cpu>(line(slot.first), slot.hash, 0);
    if (shape_.lines == 2) all &= line_has_all<Cpu>(line(slot.second), slot.hash, 3);
    return all;
  }
  bool may_contain_shared(const Slot& slot) const {
    return each_probe(slot, [&](const std::uint64_t& word, std::uint64_t bit) {
      return (load_shared(word) & bit) != 0;
    });
  }

  std::uint64_t add_step(const Hash* hashes, std::size_t n, std::size_t ahead) {
    return kernels().lines_add(view(), bare_words(hashes), n, ahead);
  }
  std::uint64_t ask_step(const Hash* hashes, std::size_t n, std::size_t ahead) const {
    return kernels().lines_ask(view(), bare_words(hashes), n, ahead);
  }
  bool fuses() const { return kernels().lines_add_fused != nullptr; }
  void call(CalledKeys& called, const NextKeys& first) const {
    kernels().lines_call(view(), called, first);
  }
  std::uint64_t add_fused(CalledKeys& called, const NextKeys& next) {
    return kernels().lines_add_fused(view(), called, next);
  }
  std::uint64_t ask_fused(CalledKeys& called, const NextKeys& next) const {
    return kernels().lines_ask_fused(view(), called, next);
  }

  std::uint64_t lines() const { return shape_.blocks; }
  void find_lines(const Hash* hashes, std::size_t n, std::uint64_t* lines) const {
    kernels().find_lines(bare_words(hashes), n, shape_.blocks, lines);
  }
  bool has_one_line() const { return shape_.lines == 1; }

  // Exact: the bytes are those of a filter that was given both lists.
  void unite(const BlockedBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words().size(); ++i) lone_.words[i] |= other.lone_.words[i];
  }
  // Holds the keys of both, and has more false positives than a filter built from those keys.
  void intersect(const BlockedBloom& other) {
    assert(shape_ == other.shape_ && "only sets of one shape combine");
    for (std::size_t i = 0; i < words().size(); ++i) lone_.words[i] &= other.lone_.words[i];
  }
  static std::uint64_t fold_units(const Shape& shape) { return shape.blocks; }
  static Shape folded(const Shape& shape, std::uint64_t factor) {
    return {shape.blocks / factor, shape.probes, shape.lines};
  }
  void fold_from(const BlockedBloom& larger, std::uint64_t factor) {
    for (std::uint64_t block = 0; block < larger.shape_.blocks; ++block)
      for (std::size_t lane = 0; lane < lanes_per_line; ++lane)
        line(block / factor)[lane] |= larger.line(block)[lane];
  }

  // The set of everything.
  void fill() { std::memset(lone_.words, 0xff, bytes(shape_)); }

  // Lines fill like 1 - e^(-visits (1 - spared)); the mixture has this closed form.
  double estimate() const { return keys_at_fill(shape_, fill_ratio()); }
  static double keys_at_fill(const Shape& shape, double fill) {
    if (fill >= 1) return std::numeric_limits<double>::infinity();
    const double visits = -real::log(1 - fill) / (1 - plan::line_bit_spared(shape.probes));
    return visits * static_cast<double>(shape.blocks) / shape.lines;
  }
  // The mean over lines of the chance to pass one; not fill^k, which is too low, since the fullest
  // lines cause most false positives.
  double rate_now() const {
    double sum = 0;
    for (std::uint64_t block = 0; block < shape_.blocks; ++block)
      sum += line_passing(line(block), shape_.probes);
    return real::pow(sum / static_cast<double>(shape_.blocks), shape_.lines);
  }
  double fill_ratio() const {
    return static_cast<double>(count_ones(words())) /
           (static_cast<double>(shape_.blocks) * line_bits);
  }

 private:
  // Where two lines begin to need so much less space that a second wait is worth it: 19.9 bits a
  // key instead of 22.1.
  static constexpr double two_lines_below = 1e-4;
  static constexpr std::uint64_t most_blocks = std::uint64_t{1} << 48;

  static Result<Shape> plan_lines(const Want& want, std::uint32_t lines) {
    if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
    Shape shape{.lines = lines};
    // Each line must hold its share of the rate; both see every key.
    const double rate = real::pow(want.rate, 1.0 / shape.lines);
    const auto [probes, mean] = plan::fullest_line(rate, max_line_probes);
    shape.probes = probes;
    const double visits = static_cast<double>(want.keys) * shape.lines;
    shape.blocks = plan::foldable(static_cast<std::uint64_t>(std::ceil(visits / mean)));
    if (!enough_bits(shape.blocks, mean, want.rate))
      return Error{Code::impossible,
                   "64-bit hashes cannot hold that rate for so many keys; ask "
                   "for a higher rate"};
    return shape;
  }

  LinesView view() const { return {lone_.words, shape_.blocks, shape_.probes, shape_.lines}; }
  Words words() const {
    return {lone_.words, static_cast<std::size_t>(shape_.blocks * lanes_per_line)};
  }
  std::uint64_t* line(std::uint64_t block) const { return lone_.words + block * lanes_per_line; }

  // Calls visit(word, bit) for each probe of a slot while it returns true; returns whether all did.
  template <class Visit>
  bool each_probe(const Slot& slot, Visit&& visit) const {
    std::uint64_t* at = line(slot.first);
    const auto in_line = [&](unsigned lane, std::uint64_t bit) { return visit(at[lane], bit); };
    if (!each_line_probe(remix(slot.hash, 0), remix(slot.hash, 1), shape_.probes, in_line))
      return false;
    if (shape_.lines == 1) return true;
    at = line(slot.second);
    return each_line_probe(remix(slot.hash, 3), remix(slot.hash, 4), shape_.probes, in_line);
  }

  // Several rounds or lines. Out of line and from the hash alone, so that loops over simple shapes
  // stay short.
  template <class Cpu>
  [[gnu::noinline]] Added add_rounds(Hash hash) {
    return add_at<Cpu>(locate(hash));
  }
  template <class Cpu>
  [[gnu::noinline]] bool has_rounds(Hash hash) const {
    return has_at<Cpu>(locate(hash));
  }

  template <class Cpu>
  bool mark_line(std::uint64_t* at, Hash hash, std::size_t use) {
    return mark_probes<Cpu>(at, hash.bits, use, lone_.round, shape_.probes);
  }
  template <class Cpu>
  bool line_has_all(const std::uint64_t* at, Hash hash, std::size_t use) const {
    return has_probes<Cpu>(at, hash.bits, use, lone_.round, shape_.probes);
  }

  Shape shape_;
  bool is_simple_;
  LoneView lone_;
};

}  // namespace bloomery::inline v0::detail
