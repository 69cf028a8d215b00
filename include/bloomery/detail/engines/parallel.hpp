// Adding and asking with several threads, with the result of one.
//
//    add    each thread scatters its share of a chunk by lines     (partition.hpp)
//           -- all wait --
//           each part is walked by one thread: the shares in order, so that a line sees its keys
//           in the order in which they came
//
//    ask    each thread asks for its share of the keys
//
// Same bytes, same count of fresh keys as adding one by one; no atomics, since no two threads work
// in one line.
// Limits:  kinds whose keys have bits in several lines (classic, blocked with two lines) are added
//          by one thread: there the count would depend on who came first.
//          With BLOOMERY_NO_THREADS defined (bits/lock.hpp) the caller's thread does everything.
// Threads: the caller's and those that are started here; all have ended when a call returns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#ifndef BLOOMERY_NO_THREADS
#include <barrier>
#include <thread>
#endif

#include <bloomery/detail/engines/thrown.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/partition.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/error.hpp>
#include <bloomery/want.hpp>

namespace bloomery::inline v0::detail {

inline constexpr unsigned most_threads = 256;

#ifdef BLOOMERY_NO_THREADS

inline unsigned wanted_threads(Threads) { return 1; }

template <class Work>
[[nodiscard]] bool on_threads(unsigned count, Work&& work) {
  if (count != 1) return false;
  work(0);
  return true;
}

#else

inline unsigned wanted_threads(Threads threads) {
  if (threads.count != 0) return std::min(threads.count, most_threads);
  return std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
}

// Calls work(0) ... work(count - 1), each on a thread of its own, the first on the caller's. If the
// system refuses one of the threads, returns false and calls nothing: the calls may wait for each
// other, so none begins before all threads are there. What a call throws is thrown here once all
// have ended; calls that wait for each other must not throw. Thread differs from std::jthread only
// in a test that simulates a system without threads.
template <class Thread = std::jthread, class Work>
[[nodiscard]] bool on_threads(unsigned count, Work&& work) {
  assert(count >= 1 && "the caller's thread is one");
  enum class Sign { wait, go, leave };
  std::atomic<Sign> sign = Sign::wait;
  FirstThrown thrown;
  std::vector<Thread> others;
  FirstThrown refused;
  refused.keep([&] {
    others.reserve(count - 1);
    for (unsigned i = 1; i < count; ++i)
      others.emplace_back([&work, &sign, &thrown, i] {
        sign.wait(Sign::wait);
        if (sign.load() == Sign::go) thrown.keep([&] { work(i); });
      });
  });
  sign = refused.any() ? Sign::leave : Sign::go;
  sign.notify_all();
  if (refused.any()) return false;
  thrown.keep([&] { work(0); });
  others.clear();  // waits for them
  thrown.rethrow();
  return true;
}

#endif

// With fewer keys than this each, a thread costs more than it saves. Adding partitions keys first,
// which one thread alone need not do for a set that fits its caches.
inline constexpr std::size_t least_asked_per_thread = std::size_t{1} << 16;
inline constexpr std::size_t least_added_per_thread = std::size_t{1} << 20;

inline unsigned threads_for(Threads threads, std::size_t keys, std::size_t least) {
  const std::size_t useful = std::max<std::size_t>(1, keys / least);
  return static_cast<unsigned>(std::min<std::size_t>(wanted_threads(threads), useful));
}

#ifndef BLOOMERY_NO_THREADS
// Adds every key; returns how many were surely new. An Error when scratch memory or threads are
// refused; then nothing was added. What a source throws is thrown, and some keys may be in.
template <OneLined K, KeySource<typename K::Input> Source>
Result<std::size_t> add_all_parallel(K& kind, const Source& source, unsigned threads) {
  const PartitionPlan plan = plan_partitions(kind.lines(), source.size(), threads);
  const std::size_t share = plan.held_keys / threads + 1;
  std::vector<Partitions<typename K::Input>> shares;
  for (unsigned i = 0; i < threads; ++i) {
    auto made = Partitions<typename K::Input>::make(plan, share);
    if (!made) return made.error();
    shares.push_back(std::move(*made));
  }
  std::atomic<std::size_t> fresh = 0;
  std::atomic<std::size_t> next_part = 0;
  const std::size_t size = source.size();
  const std::size_t chunk = share * threads;
  std::barrier all_scattered(threads, [&]() noexcept { next_part = 0; });
  std::barrier all_walked(threads);
  const auto a_share_fits = [](std::size_t) {};
  FirstThrown thrown;  // all go on to the barriers, where the others wait
  const bool ran = on_threads(threads, [&](unsigned me) {
    for (std::size_t done = 0; done < size; done += chunk) {
      const std::size_t first = std::min(done + me * share, size);
      shares[me].clear();
      thrown.keep([&] {
        scatter_keys(kind, source, first, std::min(share, size - first), shares[me], a_share_fits);
      });
      all_scattered.arrive_and_wait();
      thrown.keep([&] {
        std::size_t count = 0;
        for (std::size_t part; !thrown.any() && (part = next_part++) < plan.parts;)
          for (const auto& from : shares)
            count += walk_part<K>(from, part, [&](const auto& inputs) {
              return pipeline(kind, inputs, lookahead_of<K>(), adding(kind), CountOnly{}).yes;
            });
        fresh += count;
      });
      all_walked.arrive_and_wait();
    }
  });
  thrown.rethrow();
  if (!ran) return Error{Code::no_memory, "the system does not give so many threads"};
  return fresh.load();
}

#endif

// The same for a set that keeps count, by as many threads as pay; nothing where that is one.
template <class Body, class Source>
std::optional<std::size_t> add_by_threads(Body& body, const Source& source, Threads threads) {
  const unsigned count =
      detail::threads_for(threads, source.size(), detail::least_added_per_thread);
  if (count == 1 || !body.kind().has_one_line()) return std::nullopt;
#ifndef BLOOMERY_NO_THREADS
  if (const auto fresh = add_all_parallel(body.kind(), source, count)) {
    body.note_added(*fresh);
    return *fresh;
  }
#endif
  return std::nullopt;
}

// Calls ask(first key, keys) for one share of the keys per thread, each a whole number of mask
// words long; on one thread if the system gives no more. Returns the sum.
template <class Ask>
std::size_t ask_all_parallel(std::size_t keys, Threads threads, Ask&& ask) {
  const unsigned count = detail::threads_for(threads, keys, detail::least_asked_per_thread);
  // Whole words of a mask.
  const std::size_t share = (keys / count / 64 + 1) * 64;
  std::atomic<std::size_t> there = 0;
  const bool ran = on_threads(count, [&](unsigned me) {
    const std::size_t first = std::min(me * share, keys);
    there += ask(first, std::min(share, keys - first));
  });
  return ran ? there.load() : ask(0, keys);
}

}  // namespace bloomery::inline v0::detail
