#include <gtest/gtest.h>

#include <string>

#include <bloomery/redis/redis_address.hpp>

namespace bloomery::detail {
namespace {

using namespace std::chrono_literals;

RedisAddress good(std::string_view url) {
  auto address = parse_redis_url(url);
  EXPECT_TRUE(address) << url << ": " << (address ? "" : address.error().sentence);
  return address ? *address : RedisAddress{};
}

TEST(RedisAddress, HasDefaults) {
  const auto address = good("redis://localhost/seen");
  EXPECT_EQ(address.host, "localhost");
  EXPECT_EQ(address.port, 6379);
  EXPECT_EQ(address.login.user, "");
  EXPECT_EQ(address.login.password, "");
  EXPECT_EQ(address.login.database, 0u);
  EXPECT_EQ(address.name, "seen");
  EXPECT_EQ(address.rules.timeout, 10s);
  EXPECT_EQ(address.rules.ttl, 0s);
  EXPECT_FALSE(address.rules.read_replicas);
  EXPECT_EQ(address.rules.wait_replicas, 0u);
}

TEST(RedisAddress, HasAllParts) {
  const auto address =
      good("redis://me:secret@10.0.0.7:7001/3/seen?timeout=500ms&ttl=24h&read=replicas&wait=2");
  EXPECT_EQ(address.host, "10.0.0.7");
  EXPECT_EQ(address.port, 7001);
  EXPECT_EQ(address.login.user, "me");
  EXPECT_EQ(address.login.password, "secret");
  EXPECT_EQ(address.login.database, 3u);
  EXPECT_EQ(address.name, "seen");
  EXPECT_EQ(address.rules.timeout, 500ms);
  EXPECT_EQ(address.rules.ttl, 24h);
  EXPECT_TRUE(address.rules.read_replicas);
  EXPECT_EQ(address.rules.wait_replicas, 2u);
}

TEST(RedisAddress, TimesHaveUnits) {
  EXPECT_EQ(good("redis://h/n?timeout=1ms").rules.timeout, 1ms);
  EXPECT_EQ(good("redis://h/n?timeout=7s").rules.timeout, 7s);
  EXPECT_EQ(good("redis://h/n?ttl=5min").rules.ttl, 5min);
  EXPECT_EQ(good("redis://h/n?ttl=7d").rules.ttl, 7 * 24h);
}

TEST(RedisAddress, OddCharactersAreEscaped) {
  EXPECT_FALSE(parse_redis_url("redis://h/a%20b"));
  EXPECT_EQ(good("redis://u%3Aser:p%40ss%2F%23%25@h/a%3Fb").login.user, "u:ser");
  EXPECT_EQ(good("redis://u%3Aser:p%40ss%2F%23%25@h/a%3Fb").login.password, "p@ss/#%");
  EXPECT_EQ(good("redis://h/a%3Fb").name, "a?b");
}

TEST(RedisAddress, AHostMayHaveColons) {
  const auto address = good("redis://[::1]:7001/0/n");
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, 7001);
  EXPECT_EQ(address.shown(), "redis://[::1]:7001/0/n");
}

TEST(RedisAddress, APasswordNeedsNoUser) {
  const auto address = good("redis://:secret@h/n");
  EXPECT_EQ(address.login.user, "");
  EXPECT_EQ(address.login.password, "secret");
  EXPECT_EQ(address.shown(), "redis://h:6379/0/n");
  EXPECT_EQ(address.shown_server(), "redis://h:6379");
}

TEST(RedisAddress, IsToldFromAFile) {
  EXPECT_TRUE(is_redis_url("redis://h/n"));
  EXPECT_TRUE(is_redis_url("rediss://h/n"));
  EXPECT_FALSE(is_redis_url("redis"));
  EXPECT_FALSE(is_redis_url("./redis://h/n"));
}

TEST(RedisAddress, RefusesWhatIsNone) {
  std::string long_name = "redis://h/";
  long_name.append(513, 'n');
  for (const std::string& url : {
           std::string("redis://"),
           std::string("redis:///n"),
           std::string("redis://h"),
           std::string("redis://h/"),
           std::string("redis://h/0/"),
           std::string("redis://h/one/n"),
           std::string("redis://h/-1/n"),
           std::string("redis://h/1000001/n"),
           std::string("redis://h/0/a/b"),
           std::string("redis://h:0/n"),
           std::string("redis://h:65536/n"),
           std::string("redis://h:port/n"),
           std::string("redis://h/a b"),
           std::string("redis://h/a%00b"),
           std::string("redis://h/a\0b", 13),
           std::string("redis://h/a%7Bb"),
           std::string("redis://h/a%7Db"),
           std::string("redis://h/n#part"),
           std::string("redis://h/n?timeout=10"),
           std::string("redis://h/n?timeout=0s"),
           std::string("redis://h/n?timeout=-1s"),
           std::string("redis://h/n?timeout=100000001d"),
           std::string("redis://h/n?timeout"),
           std::string("redis://h/n?read=all"),
           std::string("redis://h/n?wait=many"),
           std::string("redis://h/n?wait=1001"),
           std::string("redis://h/n?unknown=1"),
           std::string("http://"),
           long_name,
       }) {
    const auto address = parse_redis_url(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, Code::bad_input) << url;
  }
  const auto tls = parse_redis_url("rediss://h/n");
  ASSERT_FALSE(tls);
  EXPECT_EQ(tls.error().code, Code::unsupported);
}

TEST(RedisAddress, NeverTellsThePassword) {
  for (const char* url :
       {"redis://u:hunter2@h:99999/n", "redis://u:hunter2@h/x/n", "redis://u:hunter2@h/",
        "redis://u:hunter2@h/n?timeout=1", "redis://u:hunter2@h/n?nothing=1",
        "redis://u:hunter2@h/n#x", "redis://u:hunter2@/n", "redis://u:hunter2 @h/n",
        // A '/' that is not escaped ends the host.
        "redis://u:hunter2/@h/n", "redis://u:77/hunter2@h/n", "redis://u:77777/hunter2@h/n",
        // A '?' ends the path.
        "redis://u:7/7?hunter2@h/n", "redis://u:7/n?wait=hunter2@h/n"}) {
    const auto address = parse_redis_url(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().sentence.find("hunter2"), std::string::npos)
        << address.error().sentence;
  }
}

}  // namespace
}  // namespace bloomery::detail
