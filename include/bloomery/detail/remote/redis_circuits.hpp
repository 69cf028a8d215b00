// A circuit breaker for each server: one that did not answer is not tried again for a while.
//
//    closed --a run gives up--> open --after a rest--> one trial, short --answered--> closed
//                                ^                          |
//                                +---------- failed --------+
//
// While a circuit is open, commands for that server fail at once instead of waiting for the timeout
// each. The trial is one try with a short deadline; while it runs, others go on failing at once. A
// server that refuses connections needs no rest: trying it costs almost nothing.
// Threads: any number; the handles of a pool share one.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include <bloomery/detail/remote/redis_link.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

class RedisCircuits {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Pass {
    normal,
    trial,  // one try with a short deadline
  };

  // Cheap enough to call before each command.
  bool all_closed() const { return open_.load(std::memory_order_relaxed) == 0; }
  bool is_closed(const RedisHost& host) const;
  // May a command be sent to the server? A trial must end with answered() or failed(); if it has
  // not ended after `trial`, another may begin.
  Result<Pass> enter(const RedisHost& host, std::chrono::milliseconds trial);
  void answered(const RedisHost& host);
  void failed(const RedisHost& host, const Error& why, std::chrono::milliseconds rest);

 private:
  struct Open {
    Clock::time_point rests_until = {};
    std::string why = {};
  };

  mutable std::mutex mutex_;
  std::map<RedisHost, Open> circuits_;  // those that are open
  std::atomic<std::size_t> open_ = 0;
};

}  // namespace bloomery::inline v0::detail
