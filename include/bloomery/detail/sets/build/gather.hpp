// The keys of some neighbouring shards, partitioned by shard: a counting sort that several workers
// share.
//
//    keys     | slice 0 | slice 1 | slice 2 |          each slice is counted, then scattered, by
//                                                      one worker
//    words    | shard 7          | shard 8          |  in a shard slice by slice, so that the
//             | 0  |  1  |  2    | 0  |  1  |  2    |  order is that of the keys
//
// Limits:  goes through the keys twice; 8 bytes for each key of those shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/build/crew.hpp>
#include <bloomery/detail/sets/build/hash_source.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

// Shards [first, end).
struct ShardRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::uint64_t count() const { return end - first; }
};

class Gathered {
 public:
  Gathered() = default;
  Gathered(Memory memory, const ShardRange& shards, std::vector<std::uint64_t> ends)
      : memory_(std::move(memory)), shards_(shards), ends_(std::move(ends)) {}

  std::uint64_t bytes() const { return memory_.size(); }
  const ShardRange& shards() const { return shards_; }
  std::span<std::uint64_t> shard(std::uint64_t shard) {
    const std::uint64_t i = shard - shards_.first;
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    auto* const words = reinterpret_cast<std::uint64_t*>(memory_.bytes().data());
    return {words + begin, static_cast<std::size_t>(ends_[i] - begin)};
  }
  std::uint64_t most_keys() const {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i)
      most = std::max(most, ends_[i] - (i == 0 ? 0 : ends_[i - 1]));
    return most;
  }

 private:
  Memory memory_;
  ShardRange shards_;
  std::vector<std::uint64_t> ends_;
};

// word_of(hash) is what is kept of a key, shard_of(word) its shard.
template <class WordOf, class ShardOf>
Result<Gathered> gather(const HashSource& source, const ShardRange& shards, const Crew& crew,
                        WordOf&& word_of, ShardOf&& shard_of) {
  const std::uint64_t slices = crew.workers();
  const std::uint64_t count = shards.count();
  std::vector<std::uint64_t> next(slices * count);
  const auto for_slice = [&](std::uint64_t slice, auto&& visit) {
    source.for_each(source.size() * slice / slices, source.size() * (slice + 1) / slices,
                    [&](Hash hash) {
                      const std::uint64_t word = word_of(hash);
                      const std::uint64_t shard = shard_of(word) - shards.first;
                      if (shard < count) visit(shard, word);
                    });
  };
  if (auto done = crew.share(slices, crew.workers(),
                             [&](unsigned, std::uint64_t slice) {
                               std::uint64_t* const mine = next.data() + slice * count;
                               for_slice(slice, [mine](std::uint64_t shard, std::uint64_t) {
                                 ++mine[shard];
                               });
                             });
      !done)
    return done.error();
  std::vector<std::uint64_t> ends(count);
  std::uint64_t total = 0;
  for (std::uint64_t shard = 0; shard < count; ++shard) {
    for (std::uint64_t slice = 0; slice < slices; ++slice)
      total += std::exchange(next[slice * count + shard], total);
    ends[shard] = total;
  }
  auto memory = Memory::make(total * sizeof(std::uint64_t));
  if (!memory) return memory.error();
  auto* const words = reinterpret_cast<std::uint64_t*>(memory->bytes().data());
  if (auto done = crew.share(slices, crew.workers(),
                             [&](unsigned, std::uint64_t slice) {
                               std::uint64_t* const mine = next.data() + slice * count;
                               for_slice(slice, [=](std::uint64_t shard, std::uint64_t word) {
                                 words[mine[shard]++] = word;
                               });
                             });
      !done)
    return done.error();
  return Gathered(std::move(*memory), shards, std::move(ends));
}

// How a build divides its work: so many shards are gathered at once, so many workers solve them.
struct BuildPasses {
  std::uint64_t shards_at_once = 1;
  unsigned workers = 1;
  ShardRange pass(std::uint64_t number, std::uint64_t shards) const {
    const std::uint64_t first = number * shards_at_once;
    return {first, std::min(shards, first + shards_at_once)};
  }
};

// What a shard costs while it is built.
struct ShardCost {
  std::uint64_t shards = 1;
  std::uint64_t gathered_bytes = 0;  // its keys
  std::uint64_t worker_bytes = 0;    // of the worker that solves it
};

// Passes that stay below `cap` bytes (0: all at once, and workers as many as 24 bytes a key allow;
// always one). An Error when not even one shard fits.
Result<BuildPasses> plan_passes(const ShardCost& cost, std::uint64_t keys, unsigned workers,
                                std::uint64_t cap);

}  // namespace bloomery::inline v0::detail
