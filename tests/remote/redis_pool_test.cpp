// Sets on Redis servers in programs with threads, and servers that are dead, silent or babble.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <bloomery/guard.hpp>
#include <bloomery/redis/redis_pool.hpp>
#include <bloomery/redis/redis_set.hpp>

#include "fake_server.hpp"
#include "live_redis.hpp"

namespace bloomery::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

RedisSet::Wish wish(std::uint64_t keys = 100'000) {
  return {.want = {.keys = keys, .rate = 0.001}};
}

struct EmptyCache {
  Result<Cached<int>> get(std::uint64_t) { return Cached<int>{}; }
  Result<void> put(std::uint64_t, int) { return {}; }
};
// A row for each key that was inserted, and those alone.
struct Rows {
  std::uint64_t below;
  Result<std::optional<int>> operator()(std::uint64_t key) const {
    return key < below ? std::optional<int>(1) : std::nullopt;
  }
};

template <class Each>
void in_threads(unsigned count, Each&& each) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) threads.emplace_back([&each, t] { each(t); });
  for (std::thread& thread : threads) thread.join();
}

// Each thread inserts its own keys and asks for its own and for strangers.
template <class S>
void expect_guards_threads(S set) {
  constexpr std::uint64_t keys = 300;
  constexpr unsigned threads = 4;
  Guard guard(std::move(set));
  std::atomic<unsigned> hidden = 0;
  in_threads(threads, [&](unsigned t) {
    EmptyCache cache;
    for (std::uint64_t i = 0; i < keys; ++i) {
      const std::uint64_t key = t * keys + i;
      const auto told = guard.insert(key);
      if (!told) ADD_FAILURE() << told.error().sentence;
      const auto row = guard.get(key, cache, Rows{keys * threads});
      hidden += !row || !*row;
      (void)guard.get(1'000'000 + key, cache, Rows{keys * threads});
    }
  });
  EXPECT_EQ(hidden, 0u) << "rows that were inserted were not found";
  const GuardCounts counts = guard.counts();
  EXPECT_EQ(counts.asked, 2 * keys * threads);
  EXPECT_EQ(counts.set_failures, 0u);
  EXPECT_EQ(counts.found, keys * threads);
  EXPECT_GT(counts.absent, keys * threads * 9 / 10);
}

TEST(RedisThreads, AGuardLocksARedisSet) {
  LiveRedis redis;
  expect_guards_threads(RedisSet::open_or_make(redis.address("seen"), wish()).value());
}

TEST(RedisThreads, AGuardLetsThreadsIntoAPool) {
  LiveRedis redis;
  expect_guards_threads(RedisPool::open_or_make(redis.address("seen"), wish()).value());
}

TEST(RedisPool, EveryKeyIsNewOnceWhoeverAddsIt) {
  LiveRedis redis;
  RedisPool pool =
      RedisPool::open_or_make(redis.address("seen"), wish(), {.connections = 3, .deadline = 5s})
          .value();
  constexpr unsigned keys = 400;
  std::atomic<unsigned> fresh = 0;
  in_threads(6, [&](unsigned) {
    for (unsigned i = 0; i < keys; ++i) {
      const auto added = pool.add("key " + std::to_string(i));
      if (!added)
        ADD_FAILURE() << added.error().sentence;
      else
        fresh += *added == RemoteAdd::fresh;
    }
  });
  // One absent key in a thousand is a false positive.
  EXPECT_LE(fresh, keys);
  EXPECT_GE(fresh, keys - 5);
  EXPECT_LE(pool.handles(), 3u);
  for (unsigned i = 0; i < keys; ++i)
    EXPECT_TRUE(pool.may_contain("key " + std::to_string(i)).value());
  EXPECT_EQ(pool.may_contain(std::uint64_t{1}).error().code, Code::mismatch) << "keys are texts";
  const std::vector<std::string_view> some = {"key 1", "key 2", "stranger"};
  bool there[3] = {};
  ASSERT_TRUE(pool.may_contain_all(some, there));
  EXPECT_TRUE(there[0] && there[1]);
  EXPECT_EQ(pool.add_all(some).value().fresh, 1u);
}

TEST(RedisPool, KeepsTheKeyOfASetThatDoesNotStoreIt) {
  LiveRedis redis;
  RedisSet::Wish hardened = wish();
  hardened.hasher = Hasher::hardened({.low = 5, .high = 6});
  hardened.key_is_elsewhere = true;
  RedisPool pool = RedisPool::open_or_make(redis.address("seen"), hardened).value();
  std::atomic<unsigned> failures = 0;
  in_threads(4, [&](unsigned t) {
    for (int i = 0; i < 50; ++i) failures += !pool.add(std::to_string(t) + std::to_string(i));
  });
  EXPECT_EQ(failures, 0u);
  EXPECT_FALSE(RedisPool::open(redis.address("seen"))) << "without the key";
  const SecretKey key{.low = 5, .high = 6};
  EXPECT_TRUE(RedisPool::open(redis.address("seen"), {}, &key));
  EXPECT_EQ(RedisPool::open(redis.address("seen"), {.connections = 0}).error().code,
            Code::impossible);
}

TEST(RedisPool, MovedFromItThrows) {
  LiveRedis redis;
  RedisPool pool = RedisPool::open_or_make(redis.address("seen"), wish()).value();
  RedisPool other = std::move(pool);
  EXPECT_THROW((void)pool.add("a"), std::logic_error);
  RedisSet set = RedisSet::open(redis.address("seen")).value();
  RedisSet successor = std::move(set);
  EXPECT_THROW((void)set.add("a"), std::logic_error);
  EXPECT_THROW((void)set.may_contain("a"), std::logic_error);
  EXPECT_FALSE(successor.may_contain("a").value());
}

// Reads what comes and sends `first`, then a byte every 20 ms for as long as the client stays.
FakeServer::Serve trickling(std::string first, char byte) {
  return [first = std::move(first), byte](int fd, const std::atomic<bool>& stop) {
    char bytes[4096];
    while (!stop && !readable(fd)) {
    }
    if (::recv(fd, bytes, sizeof bytes, 0) <= 0) return;
    send_all(fd, first);
    while (!stop) {
      if (readable(fd) && ::recv(fd, bytes, sizeof bytes, 0) <= 0) return;
      if (::send(fd, &byte, 1, MSG_NOSIGNAL) != 1) return;
    }
  };
}

// Of a reply that never ends, for all that comes of it. Before, each byte restarted the wait.
TEST(RedisDeadline, BytesThatTrickleInDoNotExtendIt) {
  for (const std::string_view begin : {"$100000\r\n", "*5\r\n$3\r\nabc\r\n$90000\r\n", "+", ""}) {
    const FakeServer server(trickling(std::string(begin), '1'));
    const auto start = Clock::now();
    const auto opened = RedisSet::open(server.address(300ms));
    EXPECT_LT(Clock::now() - start, 5s) << "the reply alone would take half an hour";
    ASSERT_FALSE(opened);
    if (!begin.empty()) {
      EXPECT_EQ(opened.error().code, Code::io);
      EXPECT_NE(opened.error().sentence.find("in time"), std::string::npos)
          << opened.error().sentence;
    }
  }
}

TEST(RedisDeadline, RepliesHaveAGreatestLength) {
  for (const std::string_view begin :
       {"$2000000000\r\n", "*2000000000\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"}) {
    const FakeServer server(trickling(std::string(begin), '1'));
    const auto opened = RedisSet::open(server.address(5s));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::not_ours) << opened.error().sentence;
  }
}

// A server that can be frozen, by name of a handle that was opened while it still answered.
TEST(RedisCircuit, OpensForASilentServerAndClosesAgain) {
  LiveRedis redis;
  RedisAddress address = redis.address("seen");
  address.rules.timeout = 400ms;
  RedisSet set = RedisSet::open_or_make(address, wish()).value();
  ASSERT_TRUE(set.add("a"));
  redis.freeze();
  EXPECT_EQ(set.may_contain("a").error().code, Code::io);
  const std::uint64_t commands = set.router().commands();
  // Left alone for 200 ms: these take no time and send nothing. The first of them is surely in it.
  const auto refused = set.may_contain("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::io);
  EXPECT_NE(refused.error().sentence.find("is not tried"), std::string::npos)
      << refused.error().sentence;
  EXPECT_EQ(set.router().commands(), commands);
  // Far fewer than a command each: one trial for each rest.
  const auto start = Clock::now();
  unsigned calls = 0;
  for (; Clock::now() - start < 1s; ++calls) EXPECT_FALSE(set.may_contain("a"));
  EXPECT_GT(calls, 100u) << "a dead server takes its time from every call";
  EXPECT_LE(set.router().commands() - commands, 20u);
  redis.thaw();
  // Found alive by the next trial.
  const auto until = Clock::now() + 10s;
  while (!set.may_contain("a") && Clock::now() < until) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(set.may_contain("a").value());
  EXPECT_EQ(set.add("b").value(), RemoteAdd::fresh);
}

TEST(RedisCircuit, NeedsNoRestFromAServerThatRefusesConnections) {
  LiveRedis redis;
  RedisAddress address = redis.address("seen");
  address.rules.timeout = 300ms;
  RedisSet set = RedisSet::open_or_make(address, wish()).value();
  ASSERT_TRUE(set.add("a"));
  redis.kill();
  EXPECT_EQ(set.may_contain("a").error().code, Code::io);
  // Each call tries once, so that a server that is back is used at once.
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) {
    const auto refused = set.may_contain("a");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::io);
    EXPECT_EQ(refused.error().sentence.find("is not tried"), std::string::npos);
  }
  EXPECT_LT(Clock::now() - start, 10s) << "at 300 ms a call it would be 30 s";
}

TEST(RedisCircuit, ThreadsOfAPoolShareIt) {
  LiveRedis redis;
  RedisPool pool =
      RedisPool::open_or_make(redis.address("seen"), wish(), {.connections = 4, .deadline = 400ms})
          .value();
  in_threads(4, [&](unsigned t) {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(pool.add(std::to_string(t * 100 + i)));
  });
  redis.freeze();
  const auto start = Clock::now();
  std::atomic<unsigned> answered = 0;
  std::atomic<unsigned> calls = 0;
  in_threads(4, [&](unsigned) {
    while (Clock::now() - start < 2s) {
      answered += pool.may_contain("x").has_value();
      ++calls;
    }
  });
  EXPECT_EQ(answered, 0u);
  EXPECT_GT(calls, 200u) << "at 400 ms a call there would be 20";
  redis.thaw();
  const auto until = Clock::now() + 10s;
  while (!pool.may_contain("0") && Clock::now() < until) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(pool.may_contain("0").value());
}

}  // namespace
}  // namespace bloomery::detail
