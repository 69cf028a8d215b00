// The queue of a crawler's frontier, shared by its workers, on a Redis server or cluster.
//
//    {NAME}:todo        URLs to be crawled     {NAME}:working:W   in progress at worker W
//    {NAME}:found:W     journal of W           {NAME}:lease:W     W lives; whose process it is
//    {NAME}:frontier    a token of this crawl; how long each list is that is not empty
//
// All lie in one slot. Each step is one idempotent script: it may be sent again when its answer was
// lost. Redis does not tell a deleted list from an empty one, and a crawl with empty lists would
// look complete. So each script checks the token, and the stored lengths of the lists it works on;
// look_at_others, which every worker calls before it ends, checks the lengths of all lists.
// Limits:  a Failure is thrown when the server does not answer, or not as it should.
// Threads: one; give each thread a Queue of its own.
// See:     crawler_frontier.cpp; docs/jobs.md "A crawler frontier".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <hiredis/hiredis.h>

#include <bloomery/bloomery.hpp>
#include <bloomery/redis/redis_router.hpp>
#include <bloomery/redis/slots.hpp>

namespace examples {

using bloomery::Code;
using bloomery::Failure;
using Texts = std::vector<std::string>;

// What a worker has in memory, and may have to repeat.
inline constexpr std::size_t pages_in_hand = 64;

// Who holds a worker's name. Whoever takes it over has another token.
struct Lease {
  std::string worker;
  std::string token;
};

struct FrontierLost : Failure {
  FrontierLost(const std::string& name, const std::string& why)
      : Failure({Code::damaged, "the frontier " + name +
                                    " was lost, and the crawl is not complete: " + why +
                                    ". Start it under another name"}) {}
};

struct LeaseLost : Failure {
  explicit LeaseLost(const Lease& lease)
      : Failure({Code::exists, "another process is the worker " + lease.worker +
                                   " now: the name was given twice, or --lease is shorter than "
                                   "its pages took"}) {}
};

// The lists. Every step checks that the frontier is whole and the lease ours, renews the lease, and
// may be sent twice.
class Queue {
 public:
  Queue(bloomery::RedisAddress address, std::uint64_t lease_ms)
      : address_(std::move(address)),
        prefix_("{" + address_.name + "}:"),
        lease_ms_(lease_ms),
        router_(bloomery::RedisRouter::connect(address_).value()) {}

  // Has anybody begun it, and does its set say so too?
  struct Begun {
    bool here = false;
    bool in_set = false;
  };
  Begun look() {
    const std::string step = R"(
      local there = redis.call('HMGET', KEYS[1], 'token', 'in set')
      return {there[1] or '', there[2] or ''}
    )";
    const Texts seen = texts_of(*send(step, {prefix_ + "frontier"}, {}));
    token_ = seen.at(0);
    return {!token_.empty(), !seen.at(1).empty()};
  }
  // One of all who do so at once begins it, and the others join.
  Begun begin(const std::string& token) {
    send("return redis.call('HSETNX', KEYS[1], 'token', ARGV[1])", {prefix_ + "frontier"}, {token});
    return look();
  }
  void note_in_set() {
    send(
        "return redis.call('HGET', KEYS[1], 'token') == ARGV[1] and "
        "redis.call('HSET', KEYS[1], 'in set', 'yes')",
        {prefix_ + "frontier"}, {token_});
  }
  const std::string& name() const { return address_.name; }

  // Pages that were in progress under this name. `by_force`: also from a process that still lives.
  std::uint64_t claim(const Lease& lease, bool by_force) {
    const std::string seize = "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])";
    const Texts in_hand = run(lease, {.step = "return {tostring(redis.call('LLEN', KEYS[2]))}",
                                      .before = by_force ? seize : ""});
    return std::stoull(in_hand.at(0));
  }
  void give_back(const Lease& lease) {
    run(lease, {"while redis.call('LMOVE', KEYS[2], KEYS[4], 'RIGHT', 'LEFT') do end return {}"});
  }
  // Politeness has its place here: one list of URLs for each of some hundred parts of the hosts, a
  // worker that takes from lists nobody else takes from now, and a time before which it does not.
  Texts take(const Lease& lease) {
    const std::string step = R"(
      if redis.call('LLEN', KEYS[2]) == 0 then
        for i = 1, ARGV[5] do
          if not redis.call('LMOVE', KEYS[4], KEYS[2], 'LEFT', 'RIGHT') then break end
        end
      end
      return redis.call('LRANGE', KEYS[2], 0, -1)
    )";
    return run(lease, {step}, {std::to_string(pages_in_hand)});
  }
  void done(const Lease& lease) { run(lease, {"redis.call('DEL', KEYS[2]) return {}"}); }

  void journal(const Lease& lease, const Texts& links) {
    run(lease, {"redis.call('DEL', KEYS[3])" + push("KEYS[3]") + "return {}"}, links);
  }
  Texts journal_of(const Lease& lease) {
    return run(lease, {"return redis.call('LRANGE', KEYS[3], 0, -1)"});
  }
  // Without a journal this is done already: by us, or by who took us for dead.
  void publish(const Lease& lease, const Texts& links) {
    run(lease, {"if redis.call('DEL', KEYS[3]) == 1 then" + push("KEYS[4]") + "end return {}"},
        links);
  }

  struct Others {
    std::string dead;  // has pages in progress, and no lease
    bool busy = false;
    bool todo = false;
  };
  // Names of keys are made here, which a cluster allows as long as they lie in the slot of KEYS.
  Others look_at_others(const Lease& lease) {
    const std::string step = R"(
      local dead, busy = '', ''
      local lists = redis.call('HGETALL', KEYS[5])
      for i = 1, #lists, 2 do
        local worker = string.match(lists[i], '^%a+:(.*)$')
        if worker then
          if redis.call('LLEN', ARGV[5] .. lists[i]) < tonumber(lists[i + 1]) then return 2 end
          local lives = redis.call('EXISTS', ARGV[5] .. 'lease:' .. worker) == 1
          if lives then busy = 'busy' else dead = worker end
        end
      end
      return {dead, busy, redis.call('LLEN', KEYS[4]) > 0 and 'todo' or ''}
    )";
    const Texts seen = run(lease, {step}, {prefix_});
    return {seen.at(0), !seen.at(1).empty(), !seen.at(2).empty()};
  }
  void leave(const Lease& lease) { run(lease, {"redis.call('DEL', KEYS[1]) return {}"}); }

 private:
  struct Script {
    std::string step;
    std::string before = {};  // the check of the lease
  };

  // A thousand at a time: Lua hands on no more than some thousand values.
  static std::string push(const std::string& list) {
    return " for i = 5, #ARGV, 1000 do redis.call('RPUSH', " + list +
           ", unpack(ARGV, i, math.min(i + 999, #ARGV))) end ";
  }

  // A lease that ended and that nobody has taken is ours still. Lists may be longer than is known:
  // somebody may have added to them by hand.
  Texts run(const Lease& lease, const Script& parts, const Texts& values = {}) {
    const std::string script = R"(
      local lists = {todo = KEYS[4], ['working:' .. ARGV[3]] = KEYS[2],
                     ['found:' .. ARGV[3]] = KEYS[3]}
      if redis.call('HGET', KEYS[5], 'token') ~= ARGV[4] then return 1 end
      for name, list in pairs(lists) do
        local length = tonumber(redis.call('HGET', KEYS[5], name) or 0)
        if redis.call('LLEN', list) < length then return 2 end
      end
    )" + parts.before + R"(
      local holder = redis.call('GET', KEYS[1])
      if holder and holder ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
      local function step() )" +
                               parts.step + R"( end
      local answer = step()
      for name, list in pairs(lists) do
        local length = redis.call('LLEN', list)
        if length > 0 then redis.call('HSET', KEYS[5], name, length) end
        if length == 0 then redis.call('HDEL', KEYS[5], name) end
      end
      return answer
    )";
    const Texts names = {prefix_ + "lease:" + lease.worker, prefix_ + "working:" + lease.worker,
                         prefix_ + "found:" + lease.worker, prefix_ + "todo", prefix_ + "frontier"};
    Texts words = {lease.token, std::to_string(lease_ms_), lease.worker, token_};
    words.insert(words.end(), values.begin(), values.end());
    const bloomery::RedisReply reply = send(script, names, words);
    if (reply->type != REDIS_REPLY_INTEGER) return texts_of(*reply);
    if (reply->integer == 0) throw LeaseLost(lease);
    throw FrontierLost(name(), reply->integer == 1
                                   ? "its queue was deleted, or restarted by another program"
                                   : "pages were deleted from its lists");
  }
  bloomery::RedisReply send(const std::string& script, const Texts& names, const Texts& values) {
    bloomery::RedisRequests one;
    one.begin(bloomery::slot_of(prefix_), bloomery::Effect::writes,
              3 + names.size() + values.size());
    one.word("EVAL");
    one.word(script);
    one.word(names.size());
    for (const std::string& name : names) one.word(name);
    for (const std::string& value : values) one.word(value);
    one.end();
    bloomery::RedisReply reply = std::move(router_.call(one).value());
    if (const unsigned replicas = address_.rules.wait_replicas; replicas > 0)
      router_.wait_for_replicas(replicas).value();
    return reply;
  }
  static Texts texts_of(const redisReply& reply) {
    if (reply.type != REDIS_REPLY_ARRAY)
      throw Failure({Code::not_ours, "the Redis server does not answer EVAL as Redis does"});
    Texts texts;
    for (std::size_t i = 0; i < reply.elements; ++i)
      texts.emplace_back(reply.element[i]->str, reply.element[i]->len);
    return texts;
  }

  bloomery::RedisAddress address_;
  std::string prefix_;
  std::string token_;  // of the frontier
  std::uint64_t lease_ms_;
  bloomery::RedisRouter router_;
};

}  // namespace examples
