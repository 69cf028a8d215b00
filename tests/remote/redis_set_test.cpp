#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/redis/redis_set.hpp>
#include <bloomery/remote/redis_any_set.hpp>

#include "live_redis.hpp"

namespace bloomery::detail {
namespace {

class RedisSetTest : public testing::Test {
 protected:
  RedisSet make(const std::string& name, Want want = {.keys = 1000, .rate = 0.01}) {
    return RedisSet::open_or_make(redis.address(name), {.want = want}).value();
  }
  RedisSet open(const std::string& name) { return RedisSet::open(redis.address(name)).value(); }

  LiveRedis redis;
};

std::vector<std::string> texts(std::size_t count, const std::string& prefix = "key") {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(prefix);
    keys.back() += std::to_string(i);
  }
  return keys;
}

std::vector<std::string_view> views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// std::vector<bool> has no span.
struct Answers {
  explicit Answers(std::size_t count) : size(count), bools(new bool[count]()) {}
  std::span<bool> span() { return {bools.get(), size}; }
  std::size_t count() { return static_cast<std::size_t>(std::ranges::count(span(), true)); }
  std::size_t size;
  std::unique_ptr<bool[]> bools;
};

TEST_F(RedisSetTest, AddsAndAsks) {
  RedisSet set = make("seen");
  EXPECT_EQ(set.add("a").value(), RemoteAdd::fresh);
  EXPECT_EQ(set.add("a").value(), RemoteAdd::seen);
  EXPECT_TRUE(set.may_contain("a").value());
  EXPECT_FALSE(set.may_contain("b").value());
  EXPECT_TRUE(open("seen").may_contain("a").value());
  EXPECT_EQ(set.adds(), 1u);
  EXPECT_TRUE(RedisSet::exists(redis.address("seen")).value());
  EXPECT_FALSE(RedisSet::exists(redis.address("other")).value());
  EXPECT_TRUE(set.verify());
  const std::vector<std::string_view> none;
  EXPECT_EQ(set.add_all(none).value().fresh, 0u);
  EXPECT_TRUE(set.may_contain_all(none, {}));
}

TEST_F(RedisSetTest, DeniesNoMemberAndKeepsTheRate) {
  constexpr std::size_t count = 100'000;
  RedisSet set = make("seen", {.keys = count, .rate = 0.01});
  const auto keys = texts(count);
  const auto counts = set.add_all(views(keys)).value();
  EXPECT_GE(counts.fresh, count * 995 / 1000);
  EXPECT_EQ(counts.in_doubt, 0u);
  Answers members(count);
  ASSERT_TRUE(set.may_contain_all(views(keys), members.span()));
  EXPECT_EQ(members.count(), count);
  const auto strangers = texts(count, "stranger");
  Answers passed(count);
  ASSERT_TRUE(set.may_contain_all(views(strangers), passed.span()));
  EXPECT_LE(passed.count(), count * 0.011);
  EXPECT_GE(passed.count(), count * 0.005);
  const auto estimate = set.estimate().value();
  EXPECT_NEAR(estimate.keys, count, count * 0.02);
  EXPECT_NEAR(estimate.rate, static_cast<double>(passed.count()) / count, 0.002);
  EXPECT_NEAR(set.expected_rate_now(), estimate.rate, 0.002);
  // After tell_adds() other clients see the count.
  ASSERT_TRUE(set.tell_adds());
  EXPECT_EQ(open("seen").adds(), counts.fresh);
}

TEST_F(RedisSetTest, HasTheBytesOfALocalSet) {
  RedisSet set = make("seen", {.keys = 20'000, .rate = 0.01});
  const auto keys = texts(20'000);
  ASSERT_TRUE(set.add_all(views(keys)));
  AnySet local = local_set_for(set.law()).value();
  Answers fresh(keys.size());
  ASSERT_TRUE(local.add_all(views(keys), fresh.span()));
  const Parts parts = local.parts().value();
  const auto bytes = set.download().value();
  ASSERT_EQ(bytes.size(), parts.parts[0].payload.size());
  EXPECT_EQ(std::memcmp(bytes.data(), parts.parts[0].payload.data(), bytes.size()), 0);
  EXPECT_EQ(fresh.count(), set.adds());
  // The way back: an upload has the same bytes, and goes on.
  RedisSet again = RedisSet::upload(redis.address("copy"), set.law(), parts.parts[0].payload,
                                    fresh.count(), KeyForm::text)
                       .value();
  EXPECT_EQ(again.download().value(), bytes);
  EXPECT_EQ(again.adds(), set.adds());
  EXPECT_EQ(again.add(keys[7]).value(), RemoteAdd::seen);
  EXPECT_EQ(local_copy_of(again).value().adds(), set.adds());
}

TEST_F(RedisSetTest, ExactlyOneOfManyThreadsHearsFresh) {
  constexpr std::size_t count = 5000;
  constexpr unsigned workers = 4;
  const auto keys = texts(count);
  std::vector<std::vector<RemoteAdd>> answers(workers, std::vector<RemoteAdd>(count));
  std::atomic<int> ready = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned worker = 0; worker < workers; ++worker)
      threads.emplace_back([&, worker] {
        RedisSet set = make("seen", {.keys = count, .rate = 0.001});
        for (++ready; ready < static_cast<int>(workers);) std::this_thread::yield();
        const auto all = views(keys);
        for (std::size_t first = 0; first < count; first += 100)
          EXPECT_TRUE(set.add_all(std::span(all).subspan(first, 100),
                                  std::span(answers[worker]).subspan(first, 100)));
      });
  }
  std::size_t told = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t fresh = 0;
    for (const auto& of_worker : answers) fresh += of_worker[i] == RemoteAdd::fresh;
    EXPECT_LE(fresh, 1u) << keys[i];
    told += fresh;
  }
  EXPECT_GE(told, count * 995 / 1000);
  EXPECT_EQ(open("seen").adds(), told);
}

TEST_F(RedisSetTest, TakesOneCommandToAskAndTwoToAdd) {
  constexpr std::size_t count = 10'000;
  RedisSet set = make("seen", {.keys = 2 * count, .rate = 0.01});
  const auto keys = texts(count);
  redis.say({"CONFIG", "RESETSTAT"});
  ASSERT_TRUE(set.add_all(views(keys)));
  EXPECT_EQ(redis.calls("getrange"), count);
  EXPECT_LE(redis.calls("bitfield"), count);
  EXPECT_GE(redis.calls("bitfield"), count * 99 / 100);
  redis.say({"CONFIG", "RESETSTAT"});
  Answers answers(count);
  ASSERT_TRUE(set.may_contain_all(views(keys), answers.span()));
  EXPECT_EQ(redis.calls("getrange"), count);
  EXPECT_EQ(redis.calls("bitfield"), 0u);
  // Those that are there are not written again.
  redis.say({"CONFIG", "RESETSTAT"});
  ASSERT_TRUE(set.add_all(views(keys)));
  EXPECT_EQ(redis.calls("bitfield"), 0u);
}

TEST_F(RedisSetTest, KeysHaveOneForm) {
  RedisSet set = make("seen");
  RedisSet other = make("seen");
  ASSERT_TRUE(set.add("text"));
  EXPECT_EQ(open("seen").form(), KeyForm::text);
  const auto before = redis.contents();
  const auto refused = other.add(std::uint64_t{7});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
  EXPECT_EQ(set.may_contain(std::uint64_t{7}).error().code, Code::mismatch);
  EXPECT_EQ(redis.contents(), before);
}

TEST_F(RedisSetTest, AHardenedSetMayKeepItsKey) {
  const SecretKey key{11, 22};
  RedisSet set = RedisSet::open_or_make(
                     redis.address("seen"),
                     {.want = {.keys = 1000, .rate = 0.01}, .hasher = Hasher::hardened(key)})
                     .value();
  ASSERT_TRUE(set.add("a"));
  EXPECT_TRUE(open("seen").may_contain("a").value());
}

// Somebody who can choose the keys that are added must not be able to choose their bits.
TEST_F(RedisSetTest, ANewSetIsHardenedUnlessAHasherIsGiven) {
  const Want want{.keys = 1000, .rate = 0.01};
  RedisSet one = RedisSet::open_or_make(redis.address("one"), {.want = want}).value();
  RedisSet two = RedisSet::open_or_make(redis.address("two"), {.want = want}).value();
  EXPECT_EQ(one.law().hasher.mode(), HashMode::hardened);
  EXPECT_NE(one.law().hasher, two.law().hasher);
  // A client that joins uses the secret key that is there.
  RedisSet joined = RedisSet::open_or_make(redis.address("one"), {.want = want}).value();
  EXPECT_EQ(joined.law().hasher, one.law().hasher);
  ASSERT_TRUE(one.add("a"));
  EXPECT_TRUE(joined.may_contain("a").value());
  RedisSet seeded =
      RedisSet::open_or_make(redis.address("seeded"), {.want = want, .hasher = Hasher(7)}).value();
  EXPECT_EQ(seeded.law().hasher, Hasher(7));
}

TEST_F(RedisSetTest, AHardenedSetMayHaveItsKeyElsewhere) {
  const SecretKey key{11, 22};
  const SecretKey other{11, 23};
  const RedisSet::Wish wish = {.want = {.keys = 1000, .rate = 0.01},
                               .hasher = Hasher::hardened(key),
                               .key_is_elsewhere = true};
  RedisSet set = RedisSet::open_or_make(redis.address("seen"), wish).value();
  ASSERT_TRUE(set.add("a"));
  EXPECT_EQ(RedisSet::open(redis.address("seen")).error().code, Code::mismatch);
  EXPECT_EQ(RedisSet::open(redis.address("seen"), &other).error().code, Code::mismatch);
  RedisSet again = RedisSet::open(redis.address("seen"), &key).value();
  EXPECT_TRUE(again.may_contain("a").value());
  EXPECT_TRUE(RedisSet::open_or_make(redis.address("seen"), wish).value().may_contain("a").value());
  // Replacing the set does not need the old key, and leaves nothing of the old set.
  const RedisLaw law = plan_redis_law({.keys = 1000, .rate = 0.01}).value();
  const std::vector<std::byte> zeros(law.shape.blocks * 64);
  ASSERT_TRUE(RedisSet::upload(redis.address("seen"), law, zeros, 0, KeyForm::none));
  EXPECT_EQ(redis.say({"KEYS", "seen.g1:*"}), "");
}

TEST_F(RedisSetTest, ATimeToLiveIsThatOfAllKeys) {
  RedisAddress address = redis.address("seen");
  address.rules.ttl = std::chrono::hours(1);
  RedisSet set = RedisSet::open_or_make(address, {.want = {.keys = 100'000, .rate = 0.01}}).value();
  ASSERT_TRUE(set.add("a"));
  EXPECT_GT(set.law().shards(), 1u);
  std::string all;
  for (const auto& [key, value] : redis.contents()) {
    const std::string at = redis.say({"PEXPIRETIME", key});
    EXPECT_EQ(at, "(integer) " + std::to_string(set.law().expires_at)) << key;
    all += key;
  }
  EXPECT_NE(all.find(":meta"), std::string::npos);
}

TEST_F(RedisSetTest, ASetThatHasExpiredIsGoneAndMayBeMadeAgain) {
  RedisAddress address = redis.address("seen");
  address.rules.ttl = std::chrono::milliseconds(300);
  {
    RedisSet set = RedisSet::open_or_make(address, {.want = {.keys = 1000, .rate = 0.01}}).value();
    ASSERT_TRUE(set.add("a"));
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const auto added = set.add("b");
    ASSERT_FALSE(added);
    EXPECT_NE(added.error().sentence.find("expired"), std::string::npos) << added.error().sentence;
    // The destructor sends its count, and must not create a key for it.
  }
  EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) 0");
  EXPECT_EQ(make("seen").add("a").value(), RemoteAdd::fresh);
}

TEST_F(RedisSetTest, DatabasesAreApart) {
  RedisAddress address = redis.address("seen");
  address.login.database = 3;
  RedisSet third = RedisSet::open_or_make(address, {.want = {.keys = 1000, .rate = 0.01}}).value();
  ASSERT_TRUE(third.add("a"));
  EXPECT_EQ(redis.say({"DBSIZE"}), "(integer) 0");
  EXPECT_EQ(RedisSet::open(redis.address("seen")).error().code, Code::io);
  address.login.database = 99;
  EXPECT_EQ(RedisSet::open(address).error().code, Code::mismatch);
}

TEST(RedisSetPassword, IsNeeded) {
  LiveRedis redis({"--requirepass", "sesame"});
  RedisAddress address = redis.address("seen");
  EXPECT_TRUE(RedisSet::open_or_make(address, {.want = {.keys = 1000, .rate = 0.01}}));
  for (const char* password : {"", "wrong-word"}) {
    address.login.password = password;
    const auto refused = RedisSet::open(address);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::mismatch);
    EXPECT_EQ(refused.error().sentence.find("wrong-word"), std::string::npos);
  }
}

TEST_F(RedisSetTest, WorksAsAnAnySet) {
  auto remote = std::make_shared<RedisSet>(make("seen", {.keys = 5000, .rate = 0.001}));
  AnySet set = any_set_of(remote, KeyForm::text);
  EXPECT_TRUE(set.shared());
  EXPECT_EQ(set.kind().name, "blocked");
  const auto keys = texts(1000);
  Answers fresh(keys.size());
  const auto added = set.add_all(views(keys), fresh.span());
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, fresh.count());
  EXPECT_GE(fresh.count(), 995u);
  Answers there(keys.size());
  ASSERT_TRUE(set.may_contain_all(views(keys), there.span()));
  EXPECT_EQ(there.count(), keys.size());
  EXPECT_EQ(set.adds(), fresh.count());
  EXPECT_EQ(set.capacity(), 5000u);
  EXPECT_NEAR(set.estimate(), 1000, 30);
  EXPECT_FALSE(set.overfull());
  // Another handle by the name of hashes finds that these keys are text.
  AnySet of_hashes = any_set_of(std::make_shared<RedisSet>(open("seen")), KeyForm::hash);
  const Hash hash = Hasher{}("key1");
  EXPECT_FALSE(of_hashes.add_all(std::span(&hash, 1)));
  EXPECT_FALSE(set.remove_all(views(keys)));
  // A copy is a local set with the same answers.
  const Parts parts = set.parts().value();
  ASSERT_EQ(parts.parts.size(), 1u);
  AnySet copy = local_copy_of(*remote).value();
  EXPECT_FALSE(copy.shared());
  Answers in_copy(keys.size());
  ASSERT_TRUE(copy.may_contain_all(views(keys), in_copy.span()));
  EXPECT_EQ(in_copy.count(), keys.size());
  // Cleared for every client; keys of another form may come then.
  AnySet other = any_set_of(std::make_shared<RedisSet>(make("other")), KeyForm::text);
  EXPECT_TRUE(other.add("a").value());
  ASSERT_TRUE(other.clear());
  EXPECT_EQ(other.adds(), 0u);
  EXPECT_EQ(other.rules().form, KeyForm::none);
  EXPECT_FALSE(other.may_contain("a").value());
  EXPECT_FALSE(open("other").may_contain("a").value());
  EXPECT_TRUE(other.add("a").value());
  // What reads from a server that is gone is an Error, and no number.
  const AnySet late = any_set_of(std::make_shared<RedisSet>(open("seen")), KeyForm::text);
  redis.kill();
  EXPECT_FALSE(set.parts());
  EXPECT_FALSE(late.measure());
  EXPECT_TRUE(std::isnan(late.estimate()));
  EXPECT_TRUE(std::isnan(late.rate_now()));
  EXPECT_TRUE(std::isnan(late.fill_ratio()));
}

}  // namespace
}  // namespace bloomery::detail
