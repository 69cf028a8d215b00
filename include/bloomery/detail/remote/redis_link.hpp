// One connection to one Redis server, logged in.
//
//    queue(bytes) ... --> flush() --> receive() once for each command, in order
//
// Writing to a closed connection raises no SIGPIPE.
//
// Every command has the same time for its answer, from when it is waited for: bytes that trickle in
// do not extend it. Replies have a maximum length (redis_inbox.hpp).
//
// Code::io: the server is gone, or has not answered in time; another try may help.
// Code::not_ours: what answers is not a Redis server. Code::mismatch: it does not let us in.
// Limits:  after an Error the link is dead: answers and commands no longer belong together.
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <bloomery/detail/remote/redis_inbox.hpp>
#include <bloomery/error.hpp>
#include <bloomery/redis/redis_address.hpp>

struct redisContext;
struct redisReply;

namespace bloomery::inline v0::detail {

struct FreeRedisReply {
  void operator()(redisReply* reply) const;
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

struct RedisHost {
  std::string name;
  std::uint16_t port = 0;
  friend auto operator<=>(const RedisHost&, const RedisHost&) = default;
};
std::string to_string(const RedisHost& host);

class RedisLink {
 public:
  // `reads_replica`: the server is a replica of a cluster, and is asked to answer reads.
  static Result<RedisLink> connect(const RedisHost& host, const RedisLogin& login,
                                   std::chrono::milliseconds timeout, bool reads_replica);

  void queue(std::string_view commands);
  Result<void> flush();
  Result<RedisReply> receive();
  // For each command from now on.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

 private:
  using Clock = std::chrono::steady_clock;
  struct FreeContext {
    void operator()(redisContext* context) const;
  };

  RedisLink(RedisHost host, std::unique_ptr<redisContext, FreeContext> context);
  Error failed(const std::string& how) const;
  // Until the socket is ready for `events` (poll.h).
  Result<void> wait_for(short events, Clock::time_point deadline, const char* late) const;
  Result<RedisReply> parse(std::string_view whole) const;
  Result<void> log_in(const RedisLogin& login, bool reads_replica);
  // One command of the login; an answer that is an error is the Error.
  Result<void> expect_ok(std::string_view command, const char* what);

  RedisHost host_;
  std::string unsent_;
  RedisInbox inbox_;
  std::chrono::milliseconds timeout_{0};
  std::unique_ptr<redisContext, FreeContext> context_;
};

}  // namespace bloomery::inline v0::detail
