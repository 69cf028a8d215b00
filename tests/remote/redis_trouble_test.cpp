#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <bloomery/redis/redis_set.hpp>

#include "fake_server.hpp"
#include "live_redis.hpp"

namespace bloomery::detail {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Stands before a server, and cuts connections in the middle of what BITFIELD answers.
class CuttingProxy {
 public:
  explicit CuttingProxy(std::uint16_t server)
      : server_(server), fake_([this](int fd, const std::atomic<bool>& stop) { pass(fd, stop); }) {}
  // A long timeout: all that was cut is sent again, which takes long in a sanitizer build on a busy
  // machine.
  RedisAddress address() const { return fake_.address(60s); }
  // Each of the next connections lets so many bytes of such answers through.
  void cut(std::vector<std::size_t> after) {
    after_ = std::move(after);
    cuts_left_ = after_.size();
  }
  std::size_t cuts_left() const { return cuts_left_; }

 private:
  void pass(int client, const std::atomic<bool>& stop) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(server_);
    ASSERT_EQ(::connect(server, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    const int at_once = 1;
    for (const int fd : {client, server})
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    std::vector<char> bytes(1 << 16);
    bool adding = false;
    std::size_t answered = 0;
    while (!stop) {
      pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
      if (::poll(both, 2, 20) <= 0) continue;
      if (both[0].revents != 0) {
        const ssize_t got = ::recv(client, bytes.data(), bytes.size(), 0);
        if (got <= 0) break;
        const std::string_view said(bytes.data(), static_cast<std::size_t>(got));
        adding |= cuts_left_ > 0 && said.find("BITFIELD") != std::string_view::npos;
        send_all(server, said);
      }
      if (both[1].revents != 0) {
        const std::size_t left =
            adding ? after_[after_.size() - cuts_left_] - answered : bytes.size();
        const ssize_t got = ::recv(server, bytes.data(), bytes.size(), 0);
        if (got <= 0) break;
        const std::size_t passed = std::min(left, static_cast<std::size_t>(got));
        send_all(client, {bytes.data(), passed});
        if (!adding) continue;
        answered += passed;
        if (passed < static_cast<std::size_t>(got)) {
          --cuts_left_;
          break;
        }
      }
    }
    ::close(server);
  }

  std::uint16_t server_;
  std::vector<std::size_t> after_;
  std::atomic<std::size_t> cuts_left_ = 0;
  FakeServer fake_;
};

std::vector<Hash> hashes_of(std::size_t count) {
  std::vector<Hash> hashes;
  for (std::size_t i = 0; i < count; ++i) hashes.push_back(Hasher{}(std::to_string(i)));
  return hashes;
}

TEST(RedisTrouble, LostAnswersLeaveKeysInDoubtAndNoneLostOrToldTwice) {
  LiveRedis redis;
  CuttingProxy proxy(redis.port());
  const RedisSet::Wish wish = {.want = {.keys = 100'000, .rate = 0.0005}};
  RedisSet direct = RedisSet::open_or_make(redis.address("seen"), wish).value();
  RedisSet set = RedisSet::open(proxy.address()).value();
  constexpr std::size_t count = 20'000;
  // Every key comes twice, the second time close behind the first.
  std::vector<Hash> hashes;
  const auto distinct = hashes_of(count);
  for (std::size_t i = 0; i < count; ++i) {
    hashes.push_back(distinct[i]);
    if (i >= 10) hashes.push_back(distinct[i - 10]);
  }
  std::vector<RemoteAdd> answers(hashes.size());
  proxy.cut({0, 1, 40, 777, 20'000, 0, 5000, 123, 3});
  const auto counts = set.add_all(hashes, answers, KeyForm::text);
  ASSERT_TRUE(counts) << counts.error().sentence;
  EXPECT_EQ(proxy.cuts_left(), 0u);
  EXPECT_GT(counts->in_doubt, 0u);
  EXPECT_EQ(set.in_doubt(), counts->in_doubt);
  std::map<std::uint64_t, int> told;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    EXPECT_NE(answers[i], RemoteAdd::not_done);
    told[hashes[i].bits] += answers[i] == RemoteAdd::fresh || answers[i] == RemoteAdd::in_doubt;
  }
  std::size_t untold = 0;
  for (const auto& [bits, times] : told) {
    EXPECT_LE(times, 1);
    untold += times == 0;
  }
  // Only those that pass for others.
  EXPECT_LE(untold, count / 500);
  const std::unique_ptr<bool[]> there(new bool[count]);
  ASSERT_TRUE(direct.may_contain_all(distinct, {there.get(), count}, KeyForm::text));
  EXPECT_EQ(std::count(there.get(), there.get() + count, true), static_cast<long>(count));
  EXPECT_EQ(direct.add_all(distinct, {}, KeyForm::text).value().fresh, 0u);
}

TEST(RedisTrouble, ADoubtIsForgottenWithItsEpoch) {
  LiveRedis redis;
  CuttingProxy proxy(redis.port());
  const RedisSet::Wish wish = {.want = {.keys = 1000, .rate = 0.001}};
  RedisSet direct = RedisSet::open_or_make(redis.address("seen"), wish).value();
  RedisSet set = RedisSet::open(proxy.address()).value();
  proxy.cut({0});
  EXPECT_EQ(set.add("a").value(), RemoteAdd::in_doubt);
  EXPECT_EQ(set.add("a").value(), RemoteAdd::seen);
  ASSERT_TRUE(direct.clear());
  EXPECT_FALSE(set.may_contain("a").value());
  proxy.cut({0});
  EXPECT_EQ(set.add("a").value(), RemoteAdd::in_doubt);
}

TEST(RedisTrouble, AServerThatDiesIsAnErrorInTime) {
  LiveRedis redis;
  RedisAddress address = redis.address("seen");
  address.rules.timeout = 1s;
  const auto hashes = hashes_of(1000);
  auto start = Clock::now();
  {
    RedisSet set =
        RedisSet::open_or_make(address, {.want = {.keys = 10'000, .rate = 0.001}}).value();
    ASSERT_TRUE(set.add("before"));
    redis.kill();
    start = Clock::now();
    std::vector<RemoteAdd> answers(hashes.size(), RemoteAdd::fresh);
    const auto added = set.add_all(hashes, answers, KeyForm::text);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::io);
    for (const RemoteAdd answer : answers) EXPECT_EQ(answer, RemoteAdd::not_done);
    EXPECT_LT(Clock::now() - start, 6s);
    start = Clock::now();
    // At its end it has something to tell, and does not wait again.
  }
  EXPECT_LT(Clock::now() - start, address.rules.timeout);
  EXPECT_EQ(RedisSet::open(address).error().code, Code::io);
}

TEST(RedisTrouble, AServerThatFreezesIsAnErrorInTime) {
  LiveRedis redis;
  RedisAddress address = redis.address("seen");
  address.rules.timeout = 1s;
  RedisSet set = RedisSet::open_or_make(address, {.want = {.keys = 1000, .rate = 0.001}}).value();
  ASSERT_TRUE(set.add("a"));
  redis.freeze();
  auto start = Clock::now();
  EXPECT_EQ(set.add("b").error().code, Code::io);
  EXPECT_LT(Clock::now() - start, 6s);
  start = Clock::now();
  EXPECT_EQ(RedisSet::open(address).error().code, Code::io);
  EXPECT_LT(Clock::now() - start, 6s);
  redis.thaw();
  EXPECT_TRUE(set.may_contain("a").value());
  EXPECT_EQ(set.add("b").value(), RemoteAdd::fresh);
}

TEST(RedisTrouble, AServerWhoseAnswersAreLostForGoodLeavesKeysInDoubt) {
  LiveRedis redis;
  RedisAddress address;
  std::vector<RemoteAdd> answers(100);
  const auto hashes = hashes_of(answers.size());
  {
    CuttingProxy proxy(redis.port());
    address = proxy.address();
    address.rules.timeout = 1s;
    RedisSet set = RedisSet::open_or_make(address, {.want = {.keys = 1000, .rate = 0.001}}).value();
    ASSERT_TRUE(set.add("first"));
    proxy.cut(std::vector<std::size_t>(1000, 0));
    const auto added = set.add_all(hashes, answers, KeyForm::text);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::io);
  }
  // The adds were executed although their answers were lost: each was reported as in doubt.
  RedisSet set = RedisSet::open(redis.address("seen")).value();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    bool there = false;
    ASSERT_TRUE(set.may_contain_all({&hashes[i], 1}, {&there, 1}, KeyForm::text));
    EXPECT_TRUE(there);
    EXPECT_TRUE(answers[i] == RemoteAdd::in_doubt || answers[i] == RemoteAdd::seen);
  }
}

// -- servers that are not Redis -------------------------------------------------------------------

void expect_refused(const FakeServer& server, Code code) {
  const auto start = Clock::now();
  const auto opened = RedisSet::open(server.address(300ms));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, code) << opened.error().sentence;
  EXPECT_EQ(RedisSet::exists(server.address(300ms)).error().code, code);
  const auto made =
      RedisSet::open_or_make(server.address(300ms), {.want = {.keys = 9, .rate = 0.1}});
  EXPECT_EQ(made.error().code, code);
  EXPECT_LT(Clock::now() - start, 6s);
}

TEST(RedisNonsense, Garbage) {
  expect_refused(FakeServer([](int fd, const std::atomic<bool>&) {
                   send_all(fd, "SSH-2.0-OpenSSH_9.2p1 Debian\r\n");
                   char bytes[4096];
                   static_cast<void>(::recv(fd, bytes, sizeof bytes, 0));
                 }),
                 Code::not_ours);
}

TEST(RedisNonsense, Silence) {
  expect_refused(FakeServer([](int fd, const std::atomic<bool>& stop) {
                   char bytes[4096];
                   while (!stop && (!readable(fd) || ::recv(fd, bytes, sizeof bytes, 0) > 0)) {
                   }
                 }),
                 Code::io);
}

TEST(RedisNonsense, ClosesAtOnce) {
  expect_refused(FakeServer([](int, const std::atomic<bool>&) {}), Code::io);
}

// Answers each command that comes in one piece by what `reply` makes of it.
FakeServer::Serve replying(std::function<std::string(std::string_view)> reply) {
  return [reply = std::move(reply)](int fd, const std::atomic<bool>& stop) {
    char bytes[1 << 14];
    while (!stop) {
      if (!readable(fd)) continue;
      const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
      if (got <= 0) return;
      std::string answers;
      const std::string_view said(bytes, static_cast<std::size_t>(got));
      for (std::size_t at = said.find('*'); at != std::string_view::npos;) {
        const std::size_t next = said.find("\n*", at);
        answers += reply(said.substr(at, next == std::string_view::npos ? next : next - at));
        at = next == std::string_view::npos ? next : next + 1;
      }
      send_all(fd, answers);
    }
  };
}

TEST(RedisNonsense, SaysOkToEverything) {
  expect_refused(FakeServer(replying([](std::string_view) { return "+OK\r\n"; })), Code::not_ours);
}

std::string bulk(std::string_view text) {
  std::string reply = "$";
  reply += std::to_string(text.size());
  reply.append("\r\n").append(text).append("\r\n");
  return reply;
}

// An answer to INFO and HGETALL as of a server without the set, and 0 to all else.
TEST(RedisNonsense, NeverTakesASet) {
  const FakeServer server(replying([](std::string_view said) -> std::string {
    if (said.find("INFO") != std::string_view::npos) return bulk("maxmemory_policy:noeviction\r\n");
    if (said.find("HGETALL") != std::string_view::npos) return "*0\r\n";
    return ":0\r\n";
  }));
  const auto made = RedisSet::open_or_make(server.address(), {.want = {.keys = 9, .rate = 0.1}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::io) << made.error().sentence;
  const RedisLaw law = plan_redis_law({.keys = 9, .rate = 0.1}).value();
  const std::vector<std::byte> zeros(law.shape.blocks * 64);
  const auto put = RedisSet::upload(server.address(), law, zeros, 0, KeyForm::none);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::io) << put.error().sentence;
}

// A node of a cluster that sends everybody to itself.
TEST(RedisNonsense, SendsInCircles) {
  std::atomic<int> asked = 0;
  std::atomic<std::uint16_t> port = 0;
  const FakeServer server(replying([&](std::string_view said) -> std::string {
    const std::string here = std::to_string(port);
    if (said.find("INFO") != std::string_view::npos) return bulk("cluster_enabled:1\r\n");
    if (said.find("SLOTS") != std::string_view::npos)
      return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1").append(":") + here + "\r\n";
    ++asked;
    return "-MOVED 1 127.0.0.1:" + here + "\r\n";
  }));
  port = server.port();
  const auto start = Clock::now();
  const auto opened = RedisSet::open(server.address(400ms));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::io) << opened.error().sentence;
  EXPECT_NE(opened.error().sentence.find("MOVED"), std::string::npos) << opened.error().sentence;
  EXPECT_LT(Clock::now() - start, 2s);
  // Not as fast as it can.
  EXPECT_LE(asked, 40);
}

}  // namespace
}  // namespace bloomery::detail
