#include <bloomery/remote/redis_link.hpp>

#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <bloomery/remote/redis_requests.hpp>

namespace bloomery {
namespace {

// Of several nodes that are gone, one after the other is tried.
constexpr auto longest_connecting = std::chrono::milliseconds(2000);

timeval as_timeval(std::chrono::milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

}  // namespace

void FreeRedisReply::operator()(redisReply* reply) const { freeReplyObject(reply); }
void RedisLink::FreeContext::operator()(redisContext* context) const { redisFree(context); }

std::string to_string(const RedisHost& host) { return host.name + ":" + std::to_string(host.port); }

RedisLink::RedisLink(RedisHost host, std::unique_ptr<redisContext, FreeContext> context)
    : host_(std::move(host)), context_(std::move(context)) {}

Error RedisLink::failed() const {
  const std::string who = "the Redis server " + to_string(host_);
  switch (context_->err) {
    case REDIS_ERR_PROTOCOL:
      return {Code::not_ours,
              who + " does not answer as a Redis server would: " + context_->errstr};
    case REDIS_ERR_EOF: return {Code::io, who + " closed the connection"};
    case REDIS_ERR_IO:
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT)
        return {Code::io, who + " does not answer in time"};
      return {Code::io, who + ": " + context_->errstr};
    default: return {Code::io, who + ": " + context_->errstr};
  }
}

Result<RedisLink> RedisLink::connect(const RedisHost& host, const RedisLogin& login,
                                     std::chrono::milliseconds timeout, bool reads_replica) {
  std::unique_ptr<redisContext, FreeContext> context(redisConnectWithTimeout(
      host.name.c_str(), host.port, as_timeval(std::min(timeout, longest_connecting))));
  if (!context) return Error{Code::no_memory, "there is no memory for a connection to Redis"};
  if (context->err != 0)
    return Error{Code::io,
                 "the Redis server " + to_string(host) + " can not be reached: " + context->errstr};
  RedisLink link(host, std::move(context));
  if (redisSetTimeout(link.context_.get(), as_timeval(timeout)) != REDIS_OK ||
      redisEnableKeepAlive(link.context_.get()) != REDIS_OK)
    return link.failed();
  if (auto in = link.log_in(login, reads_replica); !in) return in.error();
  return link;
}

void RedisLink::queue(std::string_view commands) { unsent_ += commands; }

// Not by hiredis, whose write() to a connection that is closed ends the program with SIGPIPE.
Result<void> RedisLink::flush() {
  for (std::string_view left = unsent_; !left.empty();) {
    const ssize_t sent = ::send(context_->fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      left.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno != EINTR)
      return Error{Code::io,
                   "the Redis server " + to_string(host_) +
                       (errno == EAGAIN || errno == EWOULDBLOCK ? " takes nothing in time"
                                                                : " closed the connection")};
  }
  unsent_.clear();
  return {};
}

Result<RedisReply> RedisLink::receive() {
  if (auto flushed = flush(); !flushed) return flushed.error();
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) return failed();
  return RedisReply(static_cast<redisReply*>(reply));
}

Result<void> RedisLink::expect_ok(std::string_view command, const char* what) {
  queue(command);
  const auto reply = receive();
  if (!reply) return reply.error();
  if ((*reply)->type != REDIS_REPLY_ERROR) return {};
  return Error{Code::mismatch,
               "the Redis server " + to_string(host_) + " " + what + ": " + (*reply)->str};
}

Result<void> RedisLink::log_in(const RedisLogin& login, bool reads_replica) {
  const auto say = [&](const char* what, const auto&... words) {
    RedisRequests one;
    one.add(0, Effect::reads, words...);
    return expect_ok(one.bytes(0), what);
  };
  if (!login.user.empty() || !login.password.empty()) {
    auto in = login.user.empty()
                  ? say("refuses the password", "AUTH", login.password)
                  : say("refuses the user or password", "AUTH", login.user, login.password);
    if (!in) return in;
  }
  if (login.database != 0)
    if (auto in = say("has no such database", "SELECT", login.database); !in) return in;
  if (reads_replica) return say("does not let its replica be read", "READONLY");
  return {};
}

}  // namespace bloomery
