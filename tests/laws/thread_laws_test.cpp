// Any number of threads may add at once: no key is lost and the bytes are those of adding in turn.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

constexpr unsigned thread_count = 4;

template <class Each>
void for_shared_kinds(Each&& each) {
  for_all_kinds([&]<class K>() {
    if constexpr (adds_shared<K>) each.template operator()<K>();
  });
}

// Runs work(t) in every thread at once, as nearly as a spinning start can have it.
template <class Work>
void in_threads(Work&& work) {
  std::atomic<unsigned> ready = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready.load() != thread_count) std::this_thread::yield();
      work(t);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadLaws, SharedVerbsBySingleThreadEqualPlainOnes) {
  for_shared_kinds([]<class K>() {
    const Want want = want_for<K>(500);
    Set<K> shared(want);
    Set<K> plain(want);
    for (std::uint64_t i = 0; i < 1'500; ++i) {
      const std::uint64_t key = numbered<K>(want, i / 2);
      ASSERT_EQ(shared.add_shared(key), plain.add(key)) << i;
    }
    for (std::uint64_t i = 0; i < 3'000; ++i) {
      const std::uint64_t key = numbered<K>(want, i);
      ASSERT_EQ(shared.may_contain_shared(key), plain.may_contain(key)) << i;
    }
    EXPECT_EQ(shared.adds(), plain.adds());
    EXPECT_EQ(bits_of(shared), bits_of(plain));
  });
}

TEST(ThreadLaws, OverlappingKeysAddedByManyThreadsAreAllThere) {
  for_shared_kinds([]<class K>() {
    constexpr std::uint64_t share = 6'000;
    constexpr std::uint64_t step = share / 2;  // every key but the outermost comes twice
    constexpr std::uint64_t distinct = step * (thread_count - 1) + share;
    // A chain starts small, so that it grows while they add.
    const Want want = want_for<K>(std::same_as<K, BloomChain> ? distinct / 20 : distinct);
    Set<K> shared(want);
    std::atomic<std::uint64_t> fresh = 0;
    in_threads([&](unsigned t) {
      for (std::uint64_t i = 0; i < share; ++i) {
        const std::uint64_t key = numbered<K>(want, t * step + i);
        if (shared.add_shared(key)) ++fresh;
        ASSERT_TRUE(shared.may_contain_shared(key));
      }
    });
    const auto all = numbered_keys<K>(want, 0, distinct);
    EXPECT_EQ(count_members(shared, all), distinct);
    EXPECT_EQ(shared.adds(), fresh);
    if constexpr (Exact<K>) {
      EXPECT_EQ(shared.count(), distinct);
      EXPECT_EQ(fresh, distinct);
    }
    if constexpr (!std::same_as<K, BloomChain>) {
      Set<K> serial(want);
      for (unsigned t = 0; t < thread_count; ++t)
        serial.add_all(numbered_keys<K>(want, t * step, share));
      EXPECT_EQ(bits_of(shared), bits_of(serial));
    }
  });
}

// Few words and many threads: a write that is not atomic loses a bit here within a few rounds.
TEST(ThreadLaws, ThreadsThatMeetInTheSameWordLoseNothing) {
  for_shared_kinds([]<class K>() {
    const Want want = want_for<K>(48);
    for (int round = 0; round < 60; ++round) {
      Set<K> shared(want);
      in_threads([&](unsigned t) {
        for (std::uint64_t i = 0; i < 100; ++i)
          shared.add_shared(numbered<K>(want, i * thread_count + t));
      });
      const auto all = numbered_keys<K>(want, 0, 100 * thread_count);
      ASSERT_EQ(count_members(shared, all), all.size()) << "round " << round;
    }
  });
}

// Every thread adds every key: on exact kinds, exactly one of the calls for a key returns true.
TEST(ThreadLaws, ExactKindsTellOneThreadThatAKeyIsNew) {
  for_shared_kinds([]<class K>() {
    if constexpr (Exact<K>) {
      constexpr std::uint64_t keys = 3'000;
      const Want want = want_for<K>(keys);
      Set<K> shared(want);
      std::atomic<std::uint64_t> fresh = 0;
      in_threads([&](unsigned) {
        for (std::uint64_t i = 0; i < keys; ++i) fresh += shared.add_shared(numbered<K>(want, i));
      });
      EXPECT_EQ(fresh, keys);
      EXPECT_EQ(shared.count(), keys);
    }
  });
}

// A thread that reads the number of links twice asks one link too few when the chain grows in
// between: then adding its own key again, a moment later, would report it as new.
TEST(ThreadLaws, AGrowingChainNeverCallsAnOldKeyNewToAnyThread) {
  for (int round = 0; round < 40; ++round) {
    Set<BloomChain> shared({.keys = 4, .rate = 1e-4});
    std::atomic<std::uint64_t> old_heard_as_new = 0;
    constexpr std::uint64_t keys = 1'000;
    in_threads([&](unsigned t) {
      for (std::uint64_t i = 0; i < keys; ++i) {
        const std::uint64_t key = keys * t + i;
        shared.add_shared(key);
        for (int again = 0; again < 3; ++again) old_heard_as_new += shared.add_shared(key);
      }
    });
    ASSERT_EQ(old_heard_as_new, 0) << "round " << round;
    ASSERT_EQ(count_members(shared, numbered_keys<BloomChain>({}, 0, keys * thread_count)),
              keys * thread_count);
  }
}

// Texts and hashes mix. Of texts and integers, whichever comes first bars the other, in any order.
TEST(ThreadLaws, ThreadsThatMixFormsOfKeysLeaveAMixedSetOrAreRefused) {
  for (int round = 0; round < 50; ++round) {
    Set<BlockedBloom> shared({.keys = 100, .rate = 0.01});
    shared.add("first");
    in_threads([&](unsigned t) {
      if (t % 2 == 0)
        shared.add_shared(Hash{t});
      else
        shared.add_shared("text");
    });
    ASSERT_EQ(shared.rules().form, KeyForm::mixed) << "round " << round;

    Set<BlockedBloom> barred({.keys = 100, .rate = 0.01});
    std::atomic<unsigned> refused_integers = 0;
    std::atomic<unsigned> refused_texts = 0;
    in_threads([&](unsigned t) {
      try {
        if (t % 2 == 0)
          barred.add_shared(std::uint64_t{t});
        else
          barred.add_shared("text");
      } catch (const Failure&) {
        ++(t % 2 == 0 ? refused_integers : refused_texts);
      }
    });
    const bool has_texts = barred.rules().form == KeyForm::text;
    ASSERT_EQ(refused_integers, has_texts ? thread_count / 2 : 0u) << "round " << round;
    ASSERT_EQ(refused_texts, has_texts ? 0u : thread_count / 2) << "round " << round;
  }
}

}  // namespace
}  // namespace bloomery::detail
