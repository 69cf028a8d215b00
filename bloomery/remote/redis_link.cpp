#include <bloomery/detail/remote/redis_link.hpp>

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <bloomery/redis/redis_requests.hpp>

namespace bloomery::inline v0::detail {
namespace {

// If several nodes are gone, they are tried one after the other.
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

Error RedisLink::failed(const std::string& how) const {
  return {Code::io, "the Redis server " + to_string(host_) + " " + how};
}

Result<RedisLink> RedisLink::connect(const RedisHost& host, const RedisLogin& login,
                                     std::chrono::milliseconds timeout, bool reads_replica) {
  std::unique_ptr<redisContext, FreeContext> context(redisConnectWithTimeout(
      host.name.c_str(), host.port, as_timeval(std::min(timeout, longest_connecting))));
  if (!context)
    return Error{Code::no_memory, "there is not enough memory for a connection to Redis"};
  if (context->err != 0)
    return Error{Code::io,
                 "the Redis server " + to_string(host) + " cannot be reached: " + context->errstr};
  RedisLink link(host, std::move(context));
  link.timeout_ = timeout;
  if (redisEnableKeepAlive(link.context_.get()) != REDIS_OK)
    return link.failed(std::string("cannot be used: ") + link.context_->errstr);
  if (auto in = link.log_in(login, reads_replica); !in) return in.error();
  return link;
}

void RedisLink::queue(std::string_view commands) { unsent_ += commands; }

Result<void> RedisLink::wait_for(short events, Clock::time_point deadline, const char* late) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return failed(late);
    pollfd one{context_->fd, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<long long>(left, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed(std::string("is lost: ") + std::strerror(errno));
  }
}

// Not by hiredis, whose write() to a connection that is closed ends the program with SIGPIPE.
Result<void> RedisLink::flush() {
  if (unsent_.empty()) return {};
  const auto deadline = Clock::now() + timeout_;
  for (std::string_view left = unsent_; !left.empty();) {
    const ssize_t sent =
        ::send(context_->fd, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLOUT, deadline, "does not accept data in time"); !ready)
        return ready;
    } else if (errno != EINTR) {
      return failed("closed the connection");
    }
  }
  unsent_.clear();
  return {};
}

Result<RedisReply> RedisLink::receive() {
  if (auto flushed = flush(); !flushed) return flushed.error();
  const auto deadline = Clock::now() + timeout_;
  char bytes[16 << 10];
  while (true) {
    const auto whole = inbox_.next();
    if (!whole)
      return Error{
          whole.error().code,
          failed("does not answer as a Redis server would: ").sentence + whole.error().sentence};
    if (*whole) return parse(**whole);
    const ssize_t got = ::recv(context_->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      inbox_.append({bytes, static_cast<std::size_t>(got)});
      // A server that sends faster than we read is never waited for.
      if (Clock::now() >= deadline) return failed("does not answer in time");
    } else if (got == 0) {
      return failed("closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLIN, deadline, "does not answer in time"); !ready)
        return ready.error();
    } else if (errno != EINTR) {
      return failed(std::string("is lost: ") + std::strerror(errno));
    }
  }
}

Result<RedisReply> RedisLink::parse(std::string_view whole) const {
  void* reply = nullptr;
  redisReader* const reader = context_->reader;
  if (redisReaderFeed(reader, whole.data(), whole.size()) != REDIS_OK ||
      redisReaderGetReply(reader, &reply) != REDIS_OK || reply == nullptr)
    return Error{Code::not_ours,
                 failed("does not answer as a Redis server would: ").sentence + reader->errstr};
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

}  // namespace bloomery::inline v0::detail
