#include <bloomery/redis/redis_pool.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <bloomery/detail/remote/redis_circuits.hpp>

namespace bloomery::inline v0 {

using namespace detail;
namespace {

RedisAddress in_time(RedisAddress address, const RedisPool::Options& options) {
  address.rules.timeout = std::min(address.rules.timeout, options.deadline);
  return address;
}

}  // namespace

struct RedisPool::State {
  State(const RedisAddress& at, const Options& asked, const SecretKey* secret, RedisLaw known)
      : address(at), options(asked), law(std::move(known)) {
    if (secret != nullptr) key = *secret;
    idle.reserve(options.connections);  // so that handles are given back without allocating
  }

  RedisAddress address;
  Options options;
  std::optional<SecretKey> key;
  RedisLaw law;
  std::shared_ptr<RedisCircuits> circuits = std::make_shared<RedisCircuits>();

  mutable std::mutex mutex;
  std::condition_variable given_back;
  std::vector<std::unique_ptr<RedisSet>> idle;
  std::size_t handles = 0;  // idle, in use, or being opened

  RedisHost host() const { return {address.host, address.port}; }

  // One handle less; somebody who waits may open another.
  void forget() {
    const std::lock_guard lock(mutex);
    --handles;
    given_back.notify_one();
  }

  // Its place was taken before.
  Result<std::unique_ptr<RedisSet>> open_another() {
    const auto pass = circuits->enter(host(), address.rules.timeout);
    if (!pass) return pass.error();
    auto opened = RedisSet::open(address, key ? &*key : nullptr);
    if (!opened) {
      if (opened.error().code == Code::io)
        circuits->failed(host(), opened.error(), address.rules.timeout / 2);
      return opened.error();
    }
    circuits->answered(host());
    opened->share(circuits);
    return std::make_unique<RedisSet>(std::move(*opened));
  }
};

RedisPool::Borrowed::Borrowed(State& state, std::unique_ptr<RedisSet> set)
    : state_(&state), set_(std::move(set)) {}
RedisPool::Borrowed::Borrowed(Borrowed&& other) noexcept
    : state_(other.state_), set_(std::move(other.set_)), is_lost_(other.is_lost_) {}

RedisPool::Borrowed::~Borrowed() {
  if (!set_) return;
  if (is_lost_) {
    set_.reset();
    state_->forget();
    return;
  }
  const std::lock_guard lock(state_->mutex);
  state_->idle.push_back(std::move(set_));
  state_->given_back.notify_one();
}

Result<void> RedisPool::Borrowed::checked(Result<void> result) {
  if (!result) {
    is_lost_ = result.error().code == Code::io;
    return result.error();
  }
  return {};
}

RedisPool::RedisPool(std::unique_ptr<State> state) : state_(std::move(state)) {}
RedisPool::RedisPool(RedisPool&&) noexcept = default;
RedisPool& RedisPool::operator=(RedisPool&&) noexcept = default;
RedisPool::~RedisPool() = default;

Result<RedisPool> RedisPool::of(Result<RedisSet> first, const RedisAddress& address,
                                const Options& options, const SecretKey* key) {
  if (options.connections == 0)
    return Error{Code::impossible, "a pool of 0 connections answers nothing; give at least 1"};
  if (!first) return first.error();
  auto state = std::make_unique<State>(address, options, key, first->law());
  first->share(state->circuits);
  state->idle.push_back(std::make_unique<RedisSet>(std::move(*first)));
  state->handles = 1;
  return RedisPool(std::move(state));
}

Result<RedisPool> RedisPool::open(const RedisAddress& address, const Options& options,
                                  const SecretKey* key) {
  const RedisAddress hasty = in_time(address, options);
  return of(RedisSet::open(hasty, key), hasty, options, key);
}

Result<RedisPool> RedisPool::open_or_make(const RedisAddress& address, const RedisSet::Wish& wish,
                                          const Options& options) {
  const RedisAddress hasty = in_time(address, options);
  auto first = RedisSet::open_or_make(hasty, wish);
  std::optional<SecretKey> key;
  if (first && wish.key_is_elsewhere) key = first->law().hasher.key();
  return of(std::move(first), hasty, options, key ? &*key : nullptr);
}

Result<RedisPool::Borrowed> RedisPool::borrow() {
  if (!state_) throw std::logic_error("the pool was moved from; only assign to it or destroy it");
  std::unique_lock lock(state_->mutex);
  const auto ready = [&] {
    return !state_->idle.empty() || state_->handles < state_->options.connections;
  };
  if (!state_->given_back.wait_for(lock, state_->address.rules.timeout, ready))
    return Error{Code::io, "all " + std::to_string(state_->options.connections) +
                               " connections of the pool are in use; give it more "
                               "(RedisPool::Options::connections)"};
  if (!state_->idle.empty()) {
    auto set = std::move(state_->idle.back());
    state_->idle.pop_back();
    return Borrowed(*state_, std::move(set));
  }
  ++state_->handles;
  lock.unlock();
  auto opened = state_->open_another();
  if (!opened) {
    state_->forget();
    return opened.error();
  }
  return Borrowed(*state_, std::move(*opened));
}

Result<RemoteCounts> RedisPool::add_all(std::span<const std::string_view> keys,
                                        std::span<RemoteAdd> answers) {
  auto borrowed = borrow();
  if (!borrowed) return borrowed.error();
  return borrowed->checked(borrowed->set().add_all(keys, answers));
}

Result<void> RedisPool::may_contain_all(std::span<const std::string_view> keys,
                                        std::span<bool> answers) {
  auto borrowed = borrow();
  if (!borrowed) return borrowed.error();
  return borrowed->checked(borrowed->set().may_contain_all(keys, answers));
}

const RedisLaw& RedisPool::law() const { return state_->law; }

std::size_t RedisPool::handles() const {
  const std::lock_guard lock(state_->mutex);
  return state_->handles;
}

}  // namespace bloomery::inline v0
