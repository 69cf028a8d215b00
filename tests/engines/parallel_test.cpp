// Several threads on one set, as if one had added: the bytes, the count, the answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/detail/engines/build.hpp>
#include <bloomery/detail/engines/parallel.hpp>
#include <tests/sets/repeats.hpp>

namespace bloomery::detail {
namespace {

TEST(Parallel, EveryThreadWorksOnce) {
  std::vector<std::atomic<int>> calls(5);
  EXPECT_TRUE(on_threads(5, [&](unsigned me) { ++calls[me]; }));
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

// A system that gives two threads and no more.
struct Scarce : std::jthread {
  template <class Work>
  explicit Scarce(Work&& work) : std::jthread(counted(std::forward<Work>(work))) {}
  static inline int given = 0;

 private:
  template <class Work>
  static Work&& counted(Work&& work) {
    if (given == 2) throw std::system_error(EAGAIN, std::generic_category());
    ++given;
    return std::forward<Work>(work);
  }
};

// No thread begins its work, and none waits for a thread that was refused.
TEST(ParallelThreads, RefusedOnesAreToldAndNoWorkIsDone) {
  std::atomic<int> calls = 0;
  Scarce::given = 0;
  EXPECT_FALSE(on_threads<Scarce>(4, [&](unsigned) { ++calls; }));
  EXPECT_EQ(calls, 0);
  Scarce::given = 0;
  EXPECT_TRUE(on_threads<Scarce>(3, [&](unsigned) { ++calls; }));
  EXPECT_EQ(calls, 3);
}

// Whichever thread it is, all others end first, and the program goes on.
TEST(ParallelThreads, WhatOneThrowsIsThrownToTheCaller) {
  for (const unsigned who : {0U, 1U, 2U}) {
    std::atomic<int> calls = 0;
    const auto work = [&](unsigned me) {
      ++calls;
      if (me == who) throw std::bad_alloc();
    };
    EXPECT_THROW(static_cast<void>(on_threads(3, work)), std::bad_alloc);
    EXPECT_EQ(calls, 3);
  }
}

// Hashes, until there is no memory for the next one.
struct StarvingSource : ReadyInputs<Hash> {
  using ReadyInputs::ReadyInputs;
  void make(std::size_t first, std::size_t n, Hash* out) const {
    if (first + n > size() / 2) throw std::bad_alloc();
    ReadyInputs::make(first, n, out);
  }
  void inputs() const = delete;  // so that keys are made
};

TEST(ParallelThreads, WithoutMemoryNoThreadWaitsForAnother) {
  const std::vector<Hash> hashes(300'000, Hash{1});
  const BlockedBloom::Shape shape{.blocks = 3'001, .probes = 6, .lines = 1};
  auto memory = Memory::make(BlockedBloom::bytes(shape)).value();
  BlockedBloom kind(shape, memory.bytes());
  const StarvingSource source{std::span<const Hash>(hashes)};
  EXPECT_THROW(static_cast<void>(add_all_parallel(kind, source, 3)), std::bad_alloc);
}

TEST(ParallelThreads, ACrewWithoutMemoryReturnsTheErrorAndThrowsTheRest) {
  for (const unsigned threads : {1U, 3U}) {
    const Crew crew = crew_of({threads});
    const auto starved = crew.share(10, 10, [](unsigned, std::uint64_t piece) {
      if (piece == 7) throw std::bad_alloc();
    });
    ASSERT_FALSE(starved);
    EXPECT_EQ(starved.error().code, Code::no_memory);
    const auto wrong = [](unsigned, std::uint64_t piece) {
      if (piece == 7) throw std::length_error("too long");
    };
    EXPECT_THROW(static_cast<void>(crew.share(10, 10, wrong)), std::length_error);
  }
}

TEST(Parallel, UsesNoMoreThreadsThanThereIsWorkFor) {
  EXPECT_EQ(detail::threads_for({8}, 0, 100), 1U);
  EXPECT_EQ(detail::threads_for({8}, 250, 100), 2U);
  EXPECT_EQ(detail::threads_for({8}, 100'000, 100), 8U);
  EXPECT_EQ(detail::threads_for({~0U}, std::size_t{1} << 60, 100), most_threads);
  EXPECT_GE(detail::threads_for({0}, 100'000'000, 100), 1U);
}

template <class K>
void expect_as_one_thread(const typename K::Shape& shape,
                          const std::vector<typename K::Input>& inputs, unsigned threads) {
  auto law_memory = Memory::make(K::bytes(shape)).value();
  auto copy_memory = Memory::make(K::bytes(shape)).value();
  K law(shape, law_memory.bytes());
  K copy(shape, copy_memory.bytes());
  std::size_t fresh = 0;
  for (const auto& input : inputs) fresh += law.add(law.locate(input)) == Added::fresh;
  const ReadyInputs<typename K::Input> source(inputs);
  EXPECT_EQ(add_all_parallel(copy, source, threads).value(), fresh);
  EXPECT_TRUE(std::ranges::equal(law_memory.bytes(), copy_memory.bytes()));
}

TEST(ParallelThreads, AddTheSameBytesAndCountAsOne) {
  for (const std::size_t n : {0, 1, 1'000, 300'000}) {
    std::vector<Hash> hashes;
    std::vector<Ordinal> ordinals;
    for (const std::uint64_t number : keys_with_repeats(n, 200'000)) {
      hashes.push_back(Hasher()(number));
      ordinals.push_back({number});
    }
    for (const unsigned threads : {2U, 3U}) {
      expect_as_one_thread<BlockedBloom>({.blocks = 3'001, .probes = 6, .lines = 1}, hashes,
                                         threads);
      expect_as_one_thread<BlockedBloom>({.blocks = 1, .probes = 8, .lines = 1}, hashes, threads);
      expect_as_one_thread<SplitBlock>({.blocks = 6'001}, hashes, threads);
      expect_as_one_thread<Bitmap>({.low = 0, .high = 199'999}, ordinals, threads);
      expect_as_one_thread<TwoBitMap>({.low = 0, .high = 200'001}, ordinals, threads);
    }
  }
}

TEST(ParallelThreads, AskForEveryKeyOnce) {
  const auto keys = keys_with_repeats(300'000, 400'000);
  Set<BlockedBloom> set({.keys = 100'000, .rate = 0.01});
  set.add_all(std::span(keys).first(100'000));
  const auto one = std::make_unique<bool[]>(keys.size());
  const auto three = std::make_unique<bool[]>(keys.size());
  std::vector<std::uint64_t> mask(keys.size() / 64 + 1);
  const std::size_t there = set.may_contain_all(keys, std::span(one.get(), keys.size()));
  EXPECT_EQ(set.may_contain_all(keys, std::span(three.get(), keys.size()), Threads{3}), there);
  EXPECT_EQ(set.may_contain_all(keys, std::span(mask), Threads{3}), there);
  EXPECT_EQ(set.count_may_contain(keys, Threads{3}), there);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(one[i], set.may_contain(keys[i])) << i;
    ASSERT_EQ(three[i], one[i]) << i;
    ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1, one[i]) << i;
  }
}

// Through the front door, with enough keys that it does start threads where it can.
template <class K>
void expect_set_as_one_thread(const Want& want, const std::vector<std::uint64_t>& keys) {
  Set<K> one(want);
  Set<K> two(want);
  EXPECT_EQ(two.add_all(keys, Threads{2}), one.add_all(keys)) << K::id.name;
  EXPECT_EQ(one.adds(), two.adds());
  EXPECT_EQ(one.count_may_contain(keys), keys.size());
  EXPECT_EQ(two.count_may_contain(keys, Threads{2}), keys.size());
  EXPECT_EQ(one.estimate(), two.estimate());
}

// Blocked and bitmap share the work; classic and chain are added to by one thread.
TEST(ParallelThreads, SetsTakeAThreadCount) {
  const auto keys = keys_with_repeats(2'200'000, 1'000'000);
  const Want want{.keys = 1'000'000, .rate = 0.01};
  expect_set_as_one_thread<BlockedBloom>(want, keys);
  expect_set_as_one_thread<Bitmap>({.range = {0, 999'999}}, keys);
  expect_set_as_one_thread<ClassicBloom>(want, keys);
  expect_set_as_one_thread<BloomChain>({.keys = 10'000, .rate = 0.01}, keys);
}

TEST(ParallelThreads, TextIsHashedByThreadsToo) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < 2'100'000; ++i) texts.push_back(std::to_string(i / 2 * 7));
  Set<BlockedBloom> one({.keys = 1'100'000, .rate = 0.01});
  Set<BlockedBloom> two({.keys = 1'100'000, .rate = 0.01});
  EXPECT_EQ(two.add_all(texts, Threads{2}), one.add_all(texts));
  two.unite(one);
  EXPECT_EQ(two.fill_ratio(), one.fill_ratio());
}

}  // namespace
}  // namespace bloomery::detail
