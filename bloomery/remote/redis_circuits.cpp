#include <bloomery/detail/remote/redis_circuits.hpp>

#include <algorithm>

namespace bloomery::inline v0::detail {

using std::chrono::milliseconds;

bool RedisCircuits::is_closed(const RedisHost& host) const {
  if (all_closed()) return true;
  const std::lock_guard lock(mutex_);
  return !circuits_.contains(host);
}

Result<RedisCircuits::Pass> RedisCircuits::enter(const RedisHost& host, milliseconds trial) {
  if (all_closed()) return Pass::normal;
  const std::lock_guard lock(mutex_);
  const auto found = circuits_.find(host);
  if (found == circuits_.end()) return Pass::normal;
  const auto now = Clock::now();
  Open& open = found->second;
  if (now < open.rests_until) {
    const auto left = std::chrono::ceil<milliseconds>(open.rests_until - now);
    return Error{Code::io, "the Redis server " + to_string(host) + " is not tried for another " +
                               std::to_string(left.count()) +
                               " ms, since it did not answer before: " + open.why};
  }
  open.rests_until = now + trial;
  return Pass::trial;
}

void RedisCircuits::answered(const RedisHost& host) {
  if (all_closed()) return;
  const std::lock_guard lock(mutex_);
  open_ -= circuits_.erase(host);
}

void RedisCircuits::failed(const RedisHost& host, const Error& why, milliseconds rest) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = circuits_.try_emplace(host);
  open_ += is_new;
  at->second = {Clock::now() + rest, why.sentence};
}

}  // namespace bloomery::inline v0::detail
