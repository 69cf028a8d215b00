// The pipeline, once, for every kind: locate and prefetch some keys ahead of the one in hand, so
// that many memory waits run at the same time.
//
//    inputs   . . . i . . . . . . i+32 . .
//                   |             |
//                   add / ask     locate, prefetch, remember the slot in a ring
//
// Kinds with kernels of their own (Batched) are handed the whole span.
// Limits:  for spans shorter than the ring it is a plain loop.
// Threads: as the kind's add and may_contain.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <bloomery/sets/concepts.hpp>

namespace bloomery {

// Thirty-two waits fill the miss buffers of the CPUs we measured; more gain nothing.
inline constexpr std::size_t pipeline_depth = 32;

// Text and integers are hashed so many at a time: their hashes stay in the first cache, and the
// pipeline below is filled and drained seldom.
inline constexpr std::size_t group_keys = 2048;

// Calls each(i, slot of inputs[i]) for every input in order, with the slots' memory on its way.
template <Kind K, class Each>
void for_each_slot(const K& kind, std::span<const typename K::Input> inputs, Each&& each) {
  std::array<typename K::Slot, pipeline_depth> ring{};
  const auto fetch = [&](std::size_t i) {
    const auto slot = kind.locate(inputs[i]);
    if constexpr (Prefetchable<K>) kind.prefetch(slot);
    ring[i % pipeline_depth] = slot;
  };
  const std::size_t head = std::min(pipeline_depth, inputs.size());
  for (std::size_t i = 0; i < head; ++i) fetch(i);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto slot = ring[i % pipeline_depth];
    if (i + pipeline_depth < inputs.size()) fetch(i + pipeline_depth);
    each(i, slot);
  }
}

// Adds every input in order; returns how many were surely new. `fresh` may be null, else it has
// room for one answer per input. The kind must never be full (see Addable kinds that can be:
// cuckoo).
template <Addable K>
std::size_t add_all(K& kind, std::span<const typename K::Input> inputs, bool* fresh) {
  if constexpr (Batched<K>) {
    return kind.add_all(inputs, fresh);
  } else {
    std::size_t count = 0;
    for_each_slot(kind, inputs, [&](std::size_t i, const typename K::Slot& slot) {
      const bool is_new = kind.add(slot) == Added::fresh;
      count += is_new;
      if (fresh != nullptr) fresh[i] = is_new;
    });
    return count;
  }
}

template <Kind K>
void may_contain_all(const K& kind, std::span<const typename K::Input> inputs, bool* answers) {
  if constexpr (Batched<K>) {
    kind.may_contain_all(inputs, answers);
  } else {
    for_each_slot(kind, inputs, [&](std::size_t i, const typename K::Slot& slot) {
      answers[i] = kind.may_contain(slot);
    });
  }
}

}  // namespace bloomery
