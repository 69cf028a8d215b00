// Bulk adding without random access: partition the inputs by cache line first, then work through
// the set slice by slice while each slice is in the cache.
//
//    inputs --line >> shift--> part: 64 gather in a buffer, then stream out past the caches
//
//      part 0   [buffer]  block -> block -> block       all of one part lies in one slice of the
//      part 1   [buffer]  block                         set, in the order in which it came
//      ...                  ^ 4,096 inputs each, taken from one pool
//
// One thread makes room, when the pool is used up, by working through the fullest part and giving
// its blocks back: a part is then about twice as full as the mean, so that a slice is brought into
// the cache half as often as if all parts were emptied at once. Several threads empty all at once.
//
// Stable: the inputs of a line are used in the order in which they came, so bytes and the count of
// fresh keys are those of adding one by one. Any skew is allowed: a part takes as many blocks as it
// needs, and the pool has one for each part besides those that the inputs fill.
// Limits:  for kinds where all the bits of a key lie in one line. Scratch: 8 bytes a key held,
//          256 MiB at most for one thread and 512 MiB for several, and 33 KiB a part for each.
// Threads: one Partitions per thread that scatters; once all have ended with finish(), any thread
//          may walk any part, and slices of different parts share no line.
// See:     partition_test; docs/benchmarks.md for where it begins to pay.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/caches.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// How a set of so many lines is cut up, and how many keys are held at a time.
struct PartitionPlan {
  unsigned shift = 0;  // lines of a slice, as a power of two
  std::size_t parts = 0;
  std::size_t held_keys = 0;
};

// What the caches decide.
struct PartitionTuning {
  std::uint64_t from_bytes = 0;  // sets below are not partitioned by one thread
  unsigned slice_shift = 0;      // lines of the smallest slice, as a power of two

  // From four times the shared cache on. A slice is a quarter of a core's second level: beside it
  // lie buffers and the inputs that stream by.
  static PartitionTuning by(const Caches& caches);
};

inline constexpr std::size_t most_parts = 1024;
inline constexpr std::uint64_t most_scratch_bytes = std::uint64_t{256} << 20;

// Does partitioning by one thread cost less than it saves? Fused loops keep so many lines on their
// way that they are faster at any size. Otherwise many prefetches in flight are as fast while much
// of the set is in a cache, and with less than one key per line there is nothing to share.
template <OneLined K>
bool partition_pays(const K& kind, std::size_t keys) {
  if constexpr (Fusing<K>)
    if (kind.fuses()) return false;
  return kind.has_one_line() && keys >= kind.lines() &&
         kind.lines() * 64 >= PartitionTuning::by(caches()).from_bytes;
}

// `threads` share what is held. Slices that fit the cache, larger ones only where there would be
// too many; small sets are cut smaller, so that each thread has parts of its own. A slice is
// visited with about four keys a line: one thread holds half as many, several hold all of them.
PartitionPlan plan_partitions(std::uint64_t lines, std::size_t keys, unsigned threads,
                              const Caches& sizes = caches());

template <class Input>
class Partitions {
 public:
  static_assert(sizeof(Input) == sizeof(std::uint64_t) && std::is_trivially_copyable_v<Input>);

  // Room for any `keys` inputs at once.
  static Result<Partitions> make(const PartitionPlan& plan, std::size_t keys) {
    const std::size_t blocks = keys / block_inputs + plan.parts;
    std::optional<Result<Partitions>> partitions;
    if (!had_memory([&] { partitions.emplace(made(plan, blocks)); }))
      return Error{Code::no_memory, "the system does not give memory for the lists of a partition"};
    return std::move(*partitions);
  }

  // lines[i]: the line of the set in which input i works. There must be room.
  void scatter(const Input* inputs, const std::uint64_t* lines, std::size_t n) {
    Input** const cursors = cursors_.data();  // not read again after each store
    const unsigned shift = shift_;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < n; ++i) {
      const auto part = static_cast<std::size_t>(lines[i] >> shift);
      Input* const to = cursors[part];
      *to = inputs[i];
      cursors[part] = to + 1;
      // Buffers stand on multiples of their size, so this was the last place of one.
      if (reinterpret_cast<std::uintptr_t>(to + 1) % buffer_bytes == 0) [[unlikely]]
        flush(part);
    }
  }

  // Each of the parts whose buffers are filled by n inputs, a block's at most, may need a block.
  bool has_room_for(std::size_t n) const { return free_.size() >= std::min(n, parts()); }

  // What was scattered may be walked from here on, by other threads too if no more is scattered.
  void finish() { kernels().stream_end(); }

  // Calls each(inputs) for the inputs of one part, span by span, in order.
  template <class Each>
  void walk(std::size_t part, Each&& each) const {
    for (std::uint32_t block = chains_[part].first; block != none; block = next_[block]) {
      const Input* start = pool() + std::size_t{block} * block_inputs;
      const bool is_last = block == chains_[part].last;
      each(std::span<const Input>(start, is_last ? ends_[part] : start + block_inputs));
    }
    each(std::span<const Input>(buffer(part), cursors_[part]));
  }

  std::size_t parts() const { return cursors_.size(); }

  // The part with the most blocks.
  std::size_t fullest() const {
    const auto most = std::ranges::max_element(chains_, {}, &Chain::blocks);
    return static_cast<std::size_t>(most - chains_.begin());
  }

  // Forgets what was sent to one part, or to all.
  void clear(std::size_t part) {
    for (std::uint32_t block = chains_[part].first; block != none; block = next_[block])
      free_.push_back(block);
    chains_[part] = {};
    ends_[part] = nullptr;
    cursors_[part] = buffer(part);
  }
  void clear() {
    for (std::size_t part = 0; part < parts(); ++part) clear(part);
  }

 private:
  // Eight cache lines: a part is flushed once in 64 inputs, a branch that is mostly mispredicted.
  static constexpr std::size_t buffer_inputs = 64;
  static constexpr std::size_t buffer_bytes = buffer_inputs * sizeof(Input);
  static constexpr std::size_t block_inputs = 4096;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Chain {
    std::uint32_t first = none;
    std::uint32_t last = none;
    std::uint32_t blocks = 0;
  };

  static Result<Partitions> made(const PartitionPlan& plan, std::size_t blocks) {
    auto buffers = Memory::make((plan.parts + 1) * buffer_bytes);
    if (!buffers) return buffers.error();
    auto pool = Memory::make(blocks * block_inputs * sizeof(Input));
    if (!pool) return pool.error();
    return Partitions(plan, std::move(*buffers), std::move(*pool), blocks);
  }

  Partitions(const PartitionPlan& plan, Memory buffers, Memory pool, std::size_t blocks)
      : shift_(plan.shift),
        buffers_(std::move(buffers)),
        pool_(std::move(pool)),
        cursors_(plan.parts),
        ends_(plan.parts),
        chains_(plan.parts),
        next_(blocks, none),
        free_(blocks) {
    const auto start = reinterpret_cast<std::uintptr_t>(buffers_.bytes().data());
    const std::uintptr_t aligned = (start + buffer_bytes - 1) / buffer_bytes * buffer_bytes;
    first_buffer_ = reinterpret_cast<Input*>(aligned);
    std::iota(free_.rbegin(), free_.rend(), 0U);  // the last is taken first
    clear();
  }

  Input* buffer(std::size_t part) { return first_buffer_ + part * buffer_inputs; }
  const Input* buffer(std::size_t part) const { return first_buffer_ + part * buffer_inputs; }
  Input* pool() { return reinterpret_cast<Input*>(pool_.bytes().data()); }
  const Input* pool() const { return reinterpret_cast<const Input*>(pool_.bytes().data()); }

  // Not inlined: the loop that calls it now and then keeps its registers.
  [[gnu::noinline]] void flush(std::size_t part) {
    Chain& chain = chains_[part];
    if (chain.last == none || ends_[part] == pool() + (std::size_t{chain.last} + 1) * block_inputs)
      take_block(part);
    kernels().stream_lines(reinterpret_cast<std::uint64_t*>(ends_[part]),
                           reinterpret_cast<const std::uint64_t*>(buffer(part)), buffer_bytes / 64);
    ends_[part] += buffer_inputs;
    cursors_[part] = buffer(part);
  }

  void take_block(std::size_t part) {
    const std::uint32_t block = free_.back();
    free_.pop_back();
    Chain& chain = chains_[part];
    (chain.last == none ? chain.first : next_[chain.last]) = block;
    chain.last = block;
    ++chain.blocks;
    next_[block] = none;
    ends_[part] = pool() + std::size_t{block} * block_inputs;
  }

  unsigned shift_;
  Memory buffers_;
  Input* first_buffer_ = nullptr;
  Memory pool_;
  std::vector<Input*> cursors_;  // where the next input of a part goes in its buffer
  std::vector<Input*> ends_;     // where its next flush goes in its last block
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> next_;  // block after block
  std::vector<std::uint32_t> free_;  // blocks that belong to no part
};

// Makes the inputs of keys [first, first + n) and scatters them, some at a time, after
// make_room_for(some).
template <OneLined K, KeySource<typename K::Input> Source, class MakeRoom>
void scatter_keys(const K& kind, const Source& source, std::size_t first, std::size_t n,
                  Partitions<typename K::Input>& into, MakeRoom&& make_room_for) {
  constexpr std::size_t most = 4 * step_keys;
  typename K::Input made[most];
  std::uint64_t lines[most];
  for (std::size_t done = 0; done < n; done += most) {
    const std::size_t some = std::min(most, n - done);
    source.make(first + done, some, made);
    kind.find_lines(made, some, lines);
    make_room_for(some);
    into.scatter(made, lines, some);
  }
  into.finish();
}

// What a thread does with one part: take(inputs) -> how many.
template <Kind K, class Take>
std::size_t walk_part(const Partitions<typename K::Input>& from, std::size_t part, Take&& take) {
  std::size_t count = 0;
  from.walk(part, [&](std::span<const typename K::Input> inputs) {
    count += take(ReadyInputs<typename K::Input>(inputs));
  });
  return count;
}

// Partitions all keys, as many at a time as are held; returns the sum of the results of
// take(inputs). An Error when the scratch memory is refused; then take was not called.
template <OneLined K, KeySource<typename K::Input> Source, class Take>
Result<std::size_t> in_partitions(const K& kind, const Source& source, Take&& take) {
  const PartitionPlan plan = plan_partitions(kind.lines(), source.size(), 1);
  auto parts = Partitions<typename K::Input>::make(plan, plan.held_keys);
  if (!parts) return parts.error();
  std::size_t count = 0;
  const auto make_room_for = [&](std::size_t n) {
    while (!parts->has_room_for(n)) {
      const std::size_t fullest = parts->fullest();
      parts->finish();
      count += walk_part<K>(*parts, fullest, take);
      parts->clear(fullest);
    }
  };
  scatter_keys(kind, source, 0, source.size(), *parts, make_room_for);
  for (std::size_t part = 0; part < parts->parts(); ++part)
    count += walk_part<K>(*parts, part, take);
  return count;
}

// Adds every key; returns how many were surely new. Same bytes and same count as in order. A slice
// stays in the cache, however large the set.
template <OneLined K, KeySource<typename K::Input> Source>
Result<std::size_t> add_all_partitioned(K& kind, const Source& source) {
  return in_partitions(kind, source, [&](const ReadyInputs<typename K::Input>& inputs) {
    return pipeline(kind, inputs, lookahead_of<K>(), adding(kind), CountOnly{}).yes;
  });
}

// How many of the keys may be there. Only a count: writing answers back in the order of the keys
// would be random access again. Every key must have a place.
template <OneLined K, KeySource<typename K::Input> Source>
Result<std::size_t> count_partitioned(const K& kind, const Source& source) {
  return in_partitions(kind, source, [&](const ReadyInputs<typename K::Input>& inputs) {
    return pipeline(kind, inputs, lookahead_of<K>(), asking(kind), CountOnly{}).yes;
  });
}

}  // namespace bloomery::inline v0::detail
