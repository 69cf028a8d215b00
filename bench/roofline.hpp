// What the memory system allows: the same keys, the same hash, the key's cache line touched, on
// huge pages, with 32 lines on their way, prefetched in two ways:
//
//    first    into the L1 cache, as __builtin_prefetch does unless told otherwise
//    second   into the L2 cache, which can have more misses in flight
//
// A set that makes one random access a key, in the order of the keys, can hardly be faster than the
// better of them: only by hashing several keys at once, or calling for more lines. One that first
// sorts its keys by place can.
//
//    key --hash--> line of an array as large as the set --prefetch--> ... 32 keys later: touch
//
//    write   adds one to a word of the line       beside what adds
//    read    sums up a word of the line           beside what asks
//
// Threads: `threads` of them share the keys, each a run of neighbours. Two may touch a word at
//          once; the counts may then be short, which nobody reads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/engines/parallel.hpp>
#include <bloomery/detail/hash/budget.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <tools/inside.hpp>

namespace bloomery::bench {

// Makes the compiler believe that somebody reads the value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Work>
double ns_per_key(std::size_t keys, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(keys);
}

// Where a key of a set that takes this Input lies, in an array of so many lines.
template <class Input>
struct LineOf {
  std::uint64_t lines;
  unsigned range_bits;  // of integers that are used as themselves
  // Known when this is compiled, which a set's own is not: a roofline may be lucky.
  static constexpr Hasher hasher{};

  template <class Key>
  [[gnu::always_inline]] std::uint64_t operator()(const Key& key) const {
    if constexpr (std::same_as<Input, Ordinal>)
      return mulhi(key << (64 - range_bits), lines);
    else if constexpr (std::same_as<Input, WideHash>)
      return mulhi(hasher.wide(key).high, lines);
    else
      return mulhi(hasher(key).bits, lines);
  }
};

// Nanoseconds a key.
struct Roof {
  double first = 0;
  double second = 0;
};

class Roofline {
 public:
  static constexpr std::size_t ring_keys = 32;
  static constexpr std::size_t line_words = 8;

  // As large as the set beside it; every page is there.
  static Result<Roofline> make(std::uint64_t bytes) {
    const std::uint64_t lines = std::max<std::uint64_t>(1, bytes / (8 * line_words));
    auto memory = Memory::make(lines * 8 * line_words);
    if (!memory) return memory.error();
    Roofline roofline(std::move(*memory), lines);
    for (std::uint64_t line = 0; line < lines; ++line) roofline.words_[line * line_words] = line;
    return roofline;
  }

  template <class Input, class Key>
  Roof write(std::span<const Key> keys, unsigned range_bits, unsigned threads = 1) {
    return touched<Input>(keys, range_bits, threads, [](std::uint64_t& word, std::uint64_t&) {
      std::atomic_ref shared(word);
      shared.store(shared.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    });
  }
  template <class Input, class Key>
  Roof read(std::span<const Key> keys, unsigned range_bits, unsigned threads = 1) {
    return touched<Input>(keys, range_bits, threads,
                          [](std::uint64_t& word, std::uint64_t& sum) { sum += word; });
  }

 private:
  Roofline(Memory memory, std::uint64_t lines)
      : memory_(std::move(memory)),
        words_(reinterpret_cast<std::uint64_t*>(memory_.bytes().data())),
        lines_(lines) {}

  template <class Input, class Key, class Touch>
  Roof touched(std::span<const Key> keys, unsigned range_bits, unsigned threads, Touch touch) {
    return {touched_from<Input, first_cache>(keys, range_bits, threads, touch),
            touched_from<Input, second_cache>(keys, range_bits, threads, touch)};
  }

  // The third argument of __builtin_prefetch.
  static constexpr int first_cache = 3;
  static constexpr int second_cache = 2;

  template <class Input, int cache, class Key, class Touch>
  double touched_from(std::span<const Key> keys, unsigned range_bits, unsigned threads,
                      Touch touch) {
    const LineOf<Input> line_of{lines_, range_bits};
    return ns_per_key(keys.size(), [&] {
      const bool ran = on_threads(threads, [&](unsigned i) {
        const std::size_t first = keys.size() * i / threads;
        const auto part = keys.subspan(first, keys.size() * (i + 1) / threads - first);
        keep(touch_lines<cache>(part, line_of, words_, touch));
      });
      if (!ran) throw std::runtime_error("the system does not give so many threads");
    });
  }

  template <int cache, class Key, class Line, class Touch>
  [[gnu::noinline]] static std::uint64_t touch_lines(std::span<const Key> keys, Line line_of,
                                                     std::uint64_t* words, Touch touch) {
    std::array<std::uint64_t*, ring_keys> ring{};
    // Inlined, or GCC 12 drops the prefetch (docs/dead_ends.md).
    const auto fetch = [&](std::size_t i) __attribute__((always_inline)) {
      ring[i % ring_keys] = words + line_words * line_of(keys[i]);
      __builtin_prefetch(ring[i % ring_keys], 0, cache);
    };
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ring_keys && i < keys.size(); ++i) fetch(i);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::uint64_t* line = ring[i % ring_keys];
      if (i + ring_keys < keys.size()) fetch(i + ring_keys);
      touch(line[i % line_words], sum);
    }
    return sum;
  }

  Memory memory_;
  std::uint64_t* words_;
  std::uint64_t lines_;
};

}  // namespace bloomery::bench
