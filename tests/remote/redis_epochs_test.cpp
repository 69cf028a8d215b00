#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/redis/redis_set.hpp>

#include "live_redis.hpp"

namespace bloomery::detail {
namespace {

class RedisEpochs : public testing::Test {
 protected:
  RedisSet make(Want want = {.keys = 20'000, .rate = 0.001}) {
    return RedisSet::open_or_make(redis.address("seen"), {.want = want}).value();
  }
  RedisSet open() { return RedisSet::open(redis.address("seen")).value(); }
  // All the Redis keys of the set, and no other.
  void expect_only(const RedisSet& set) {
    EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) " + std::to_string(set.law().shards() + 1));
    RedisNames names(set.stem(), set.epoch(), set.law().shards());
    for (std::uint64_t shard = 0; shard < set.law().shards(); ++shard)
      EXPECT_EQ(redis.say({"STRLEN", std::string(names.shard(shard))}),
                "(integer) " + std::to_string(set.law().bytes_of(shard)));
  }
  // Adding and asking fail with this code, and nothing is written.
  void expect_refused(RedisSet& set, Code code) {
    const auto before = redis.contents();
    for (int i = 0; i < 200; ++i) {
      const std::string key = std::to_string(i);
      const auto asked = set.may_contain(key);
      if (asked) continue;  // its shard is a good one
      EXPECT_EQ(asked.error().code, code) << asked.error().sentence;
      const auto added = set.add(key);
      ASSERT_FALSE(added);
      EXPECT_EQ(added.error().code, code) << added.error().sentence;
      EXPECT_FALSE(set.estimate());
      EXPECT_FALSE(set.download());
      EXPECT_FALSE(set.verify());
      EXPECT_EQ(redis.contents(), before);
      return;
    }
    FAIL() << "no key was refused";
  }
  std::string shard_of(const RedisSet& set, std::uint64_t shard) {
    return std::string(RedisNames(set.stem(), set.epoch(), set.law().shards()).shard(shard));
  }

  LiveRedis redis;
};

TEST_F(RedisEpochs, ClearingForgetsForEverybody) {
  RedisSet one = make();
  RedisSet other = open();
  ASSERT_TRUE(one.add("a"));
  ASSERT_TRUE(other.add("b"));
  ASSERT_TRUE(one.clear());
  EXPECT_EQ(one.epoch(), 2u);
  EXPECT_EQ(one.adds(), 0u);
  EXPECT_FALSE(other.may_contain("a").value());
  EXPECT_EQ(other.epoch(), 2u);
  EXPECT_EQ(other.add("a").value(), RemoteAdd::fresh);
  EXPECT_EQ(one.add("a").value(), RemoteAdd::seen);
  expect_only(one);
}

TEST_F(RedisEpochs, ClearingMayChangeTheSize) {
  RedisSet one = make();
  RedisSet other = open();
  ASSERT_TRUE(other.add("a"));
  ASSERT_TRUE(one.clear({.keys = 300'000, .rate = 0.01}));
  EXPECT_EQ(other.add("a").value(), RemoteAdd::fresh);
  EXPECT_EQ(other.law().capacity, 300'000u);
  EXPECT_EQ(other.law().shards(), one.law().shards());
  expect_only(one);
}

TEST_F(RedisEpochs, AnUploadReplacesWhatOthersUse) {
  RedisSet one = make();
  RedisSet other = open();
  ASSERT_TRUE(one.add("a"));
  const auto bytes = one.download().value();
  ASSERT_TRUE(other.add("b"));
  RedisSet third =
      RedisSet::upload(redis.address("seen"), one.law(), bytes, 1, KeyForm::text).value();
  EXPECT_TRUE(other.may_contain("a").value());
  EXPECT_FALSE(other.may_contain("b").value());
  EXPECT_EQ(one.add("b").value(), RemoteAdd::fresh);
  EXPECT_EQ(third.adds(), 1u);
  expect_only(third);
}

TEST_F(RedisEpochs, AReplacementThatHashesDifferentlyIsNoticed) {
  RedisSet one = make();
  ASSERT_TRUE(one.add("a"));
  RedisLaw law = one.law();
  law.hasher = Hasher(77);
  const std::vector<std::byte> zeros(law.shape.blocks * 64);
  ASSERT_TRUE(RedisSet::upload(redis.address("seen"), law, zeros, 0, KeyForm::none));
  EXPECT_EQ(one.may_contain("a").error().code, Code::mismatch);
  EXPECT_EQ(one.add("a").error().code, Code::mismatch);
  EXPECT_EQ(open().add("a").value(), RemoteAdd::fresh);
}

TEST_F(RedisEpochs, AReplacementWithKeysOfAnotherFormIsNoticed) {
  RedisSet one = make();
  ASSERT_TRUE(one.add("a"));
  const std::vector<std::byte> zeros(one.law().shape.blocks * 64);
  ASSERT_TRUE(RedisSet::upload(redis.address("seen"), one.law(), zeros, 0, KeyForm::u64));
  EXPECT_EQ(one.add("a").error().code, Code::mismatch);
}

TEST_F(RedisEpochs, ThreadsGoOnWhileItIsCleared) {
  std::atomic<bool> stop = false;
  RedisSet one = make();
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < 2; ++worker)
      threads.emplace_back([&, worker] {
        RedisSet set = open();
        std::vector<std::string> keys(50);
        for (std::uint64_t i = 0; !stop; ++i) {
          for (std::string& key : keys) key = std::to_string(i++) + "/" + std::to_string(worker);
          const std::vector<std::string_view> all(keys.begin(), keys.end());
          const auto added = set.add_all(all);
          EXPECT_TRUE(added) << added.error().sentence;
          if (!added) return;
        }
      });
    for (int round = 0; round < 30; ++round) {
      if (round % 3 == 2) {
        const RedisLaw law = one.law();
        const std::vector<std::byte> zeros(law.shape.blocks * 64);
        const auto put = RedisSet::upload(redis.address("seen"), law, zeros, 0, KeyForm::none);
        EXPECT_TRUE(put) << put.error().sentence;
      } else {
        const auto cleared = one.clear();
        EXPECT_TRUE(cleared) << cleared.error().sentence;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    stop = true;
  }
  // Nothing of older epochs is left, and what is there is whole.
  RedisSet last = open();
  EXPECT_TRUE(last.verify());
  EXPECT_EQ(last.epoch(), 31u);
  expect_only(last);
  EXPECT_EQ(redis.say({"HEXISTS", "{seen}:meta", "adds:1"}), "(integer) 0");
  EXPECT_EQ(redis.say({"HEXISTS", "{seen}:meta", "form:1"}), "(integer) 0");
}

TEST_F(RedisEpochs, ThreadsThatReplaceAtOnceLeaveOneSet) {
  make();
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < 4; ++worker)
      threads.emplace_back([&] {
        RedisSet set = open();
        for (int round = 0; round < 10; ++round) {
          const auto cleared = set.clear();
          // Another thread replaced it later: that does no harm.
          EXPECT_TRUE(cleared || cleared.error().code == Code::exists);
        }
      });
  }
  RedisSet last = open();
  EXPECT_TRUE(last.verify());
  EXPECT_EQ(last.add("a").value(), RemoteAdd::fresh);
  // A thread that lost the race may remove its shards after the others have looked; one more clear
  // removes all.
  ASSERT_TRUE(last.clear());
  expect_only(last);
}

TEST_F(RedisEpochs, DroppingLeavesNothing) {
  RedisSet one = make();
  {
    RedisSet other = open();
    ASSERT_TRUE(one.add("a"));
    ASSERT_TRUE(other.add("b"));
    ASSERT_TRUE(one.drop());
    EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) 0");
    EXPECT_EQ(other.may_contain("a").error().code, Code::io);
    EXPECT_EQ(other.add("c").error().code, Code::io);
    // Its count comes too late.
  }
  EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) 0");
  EXPECT_FALSE(RedisSet::exists(redis.address("seen")).value());
  EXPECT_EQ(make().add("a").value(), RemoteAdd::fresh);
}

TEST_F(RedisEpochs, AHandleThatNeverAddedLeavesNothingEither) {
  RedisSet one = make();
  RedisSet other = open();
  ASSERT_TRUE(one.drop());
  EXPECT_EQ(other.add("c").error().code, Code::io);
  EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) 0");
}

TEST_F(RedisEpochs, WhatWasToldTooLateDoesNotBarTheName) {
  redis.say({"HSET", "{seen}:meta", "adds:1", "7", "form:9", "text"});
  EXPECT_FALSE(RedisSet::exists(redis.address("seen")).value());
  EXPECT_EQ(make().add("a").value(), RemoteAdd::fresh);
}

TEST_F(RedisEpochs, AMakerThatWasCutOffIsFinishedByTheNext) {
  RedisLaw law;
  {
    RedisSet first = make();
    law = first.law();
    redis.say({"HDEL", "{seen}:meta", "ready:1"});
    redis.say({"DEL", shard_of(first, 0), shard_of(first, 5)});
  }
  EXPECT_FALSE(RedisSet::exists(redis.address("seen")).value());
  EXPECT_EQ(RedisSet::open(redis.address("seen")).error().code, Code::io);
  // Another one is not made in its place, since its maker may be at work.
  const auto other =
      RedisSet::open_or_make(redis.address("seen"), {.want = {.keys = 5, .rate = 0.1}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::exists);
  RedisSet next = make();
  EXPECT_EQ(next.law().shape.blocks, law.shape.blocks);
  EXPECT_EQ(next.epoch(), 1u);
  EXPECT_TRUE(next.verify());
  expect_only(next);
}

TEST_F(RedisEpochs, AnUploadThatWasCutOffIsReplacedOnlyByAnother) {
  RedisSet first = make();
  const RedisLaw law = first.law();
  const std::vector<std::byte> zeros(law.shape.blocks * 64);
  ASSERT_TRUE(first.drop());
  {
    RedisSet put = RedisSet::upload(redis.address("seen"), law, zeros, 0, KeyForm::text).value();
    redis.say({"HDEL", "{seen}:meta", "ready:1"});
  }
  const auto joined =
      RedisSet::open_or_make(redis.address("seen"), {.want = {.keys = 5, .rate = 0.1}});
  EXPECT_EQ(joined.error().code, Code::exists);
  RedisSet again = RedisSet::upload(redis.address("seen"), law, zeros, 0, KeyForm::text).value();
  expect_only(again);
}

TEST_F(RedisEpochs, AMissingShardIsAnError) {
  RedisSet set = make();
  ASSERT_TRUE(set.add("a"));
  for (std::uint64_t shard = 0; shard < set.law().shards(); shard += 3)
    redis.say({"DEL", shard_of(set, shard)});
  expect_refused(set, Code::damaged);
  RedisSet later = open();
  expect_refused(later, Code::damaged);
}

TEST_F(RedisEpochs, AShardThatIsCutShortIsAnError) {
  RedisSet set = make();
  ASSERT_TRUE(set.add("a"));
  for (std::uint64_t shard = 0; shard < set.law().shards(); ++shard)
    redis.say({"SET", shard_of(set, shard), "short"});
  expect_refused(set, Code::damaged);
}

TEST_F(RedisEpochs, AShardWithoutItsSealIsNotAddedTo) {
  RedisSet set = make();
  ASSERT_TRUE(set.add("a"));
  for (std::uint64_t shard = 0; shard < set.law().shards(); ++shard)
    redis.say({"SETRANGE", shard_of(set, shard), std::to_string(set.law().bytes_of(shard) - 1),
               std::string("\0", 1)});
  const auto added = set.add("b");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::damaged);
  EXPECT_FALSE(set.verify());
}

TEST_F(RedisEpochs, AShardOfAnotherTypeIsAnError) {
  RedisSet set = make();
  ASSERT_TRUE(set.add("a"));
  for (std::uint64_t shard = 0; shard < set.law().shards(); ++shard) {
    redis.say({"DEL", shard_of(set, shard)});
    redis.say({"RPUSH", shard_of(set, shard), "item"});
  }
  expect_refused(set, Code::not_ours);
}

TEST_F(RedisEpochs, WhatIsNoSetIsLeftAlone) {
  const auto expect_left_alone = [&](Code code) {
    const auto before = redis.contents();
    const auto address = redis.address("seen");
    const auto opened = RedisSet::open(address);
    const auto made = RedisSet::open_or_make(address, {.want = {.keys = 9, .rate = 0.1}});
    ASSERT_FALSE(opened);
    ASSERT_FALSE(made);
    EXPECT_EQ(opened.error().code, code) << opened.error().sentence;
    EXPECT_EQ(made.error().code, code) << made.error().sentence;
    EXPECT_NE(opened.error().sentence.find("seen"), std::string::npos);
    EXPECT_EQ(redis.contents(), before);
    redis.say({"FLUSHALL"});
  };
  redis.say({"SET", "{seen}:meta", "text"});
  expect_left_alone(Code::not_ours);
  redis.say({"HSET", "{seen}:meta", "colour", "blue"});
  expect_left_alone(Code::not_ours);
  // A later format.
  make();
  redis.say({"HSET", "{seen}:meta", "format", "bloomery 2"});
  expect_left_alone(Code::not_ours);
  // A law that is damaged, and one of a kind that is not known.
  make();
  redis.say({"HSET", "{seen}:meta", "law:1", "blocked blocks=12"});
  expect_left_alone(Code::damaged);
  make();
  redis.say({"HSET", "{seen}:meta", "law:1", "cuckoo slots=12"});
  expect_left_alone(Code::unsupported);
}

TEST_F(RedisEpochs, AServerThatThrowsKeysAwayIsRefused) {
  RedisSet set = make();
  RedisAddress expiring = redis.address("expiring");
  expiring.rules.ttl = std::chrono::hours(1);
  const RedisSet::Wish wish = {.want = {.keys = 1000, .rate = 0.01}};
  ASSERT_TRUE(RedisSet::open_or_make(expiring, wish));
  for (const char* policy : {"allkeys-lru", "allkeys-lfu", "allkeys-random"}) {
    redis.say({"CONFIG", "SET", "maxmemory-policy", policy});
    const auto before = redis.contents();
    EXPECT_EQ(RedisSet::open(redis.address("seen")).error().code, Code::mismatch);
    EXPECT_EQ(RedisSet::open_or_make(redis.address("new"), wish).error().code, Code::mismatch);
    EXPECT_EQ(set.clear().error().code, Code::mismatch);
    EXPECT_EQ(redis.contents(), before);
  }
  for (const char* policy : {"volatile-lru", "volatile-ttl"}) {
    redis.say({"CONFIG", "SET", "maxmemory-policy", policy});
    EXPECT_TRUE(RedisSet::open(redis.address("seen")));
    EXPECT_EQ(RedisSet::open(expiring).error().code, Code::mismatch);
    RedisAddress another = expiring;
    another.name = "another";
    EXPECT_EQ(RedisSet::open_or_make(another, wish).error().code, Code::mismatch);
    // Without an expiry in the wish, open_or_make may still find a set that has one.
    EXPECT_EQ(RedisSet::open_or_make(redis.address("expiring"), wish).error().code, Code::mismatch);
  }
}

TEST_F(RedisEpochs, AServerWithoutMemoryRefusesAndNothingIsLost) {
  RedisSet set = make();
  ASSERT_TRUE(set.add("a"));
  redis.say({"CONFIG", "SET", "maxmemory", "1"});
  RemoteAdd answer{};
  const Hash hash = Hasher{}("b");
  const auto added = set.add_all({&hash, 1}, {&answer, 1}, KeyForm::text);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::full);
  EXPECT_EQ(answer, RemoteAdd::not_done);
  redis.say({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(set.add("b").value(), RemoteAdd::fresh);
}

}  // namespace
}  // namespace bloomery::detail
