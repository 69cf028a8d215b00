// A set on Redis servers for programs with threads: a RedisSet for each thread in a call.
//
//    thread --borrows--> RedisSet --gives back--> idle
//                 none idle: opens another, up to Options::connections; then waits for one
//
// Prefer it to RedisSet in a program with threads, and as the set of a Guard, which then takes no
// lock; one thread alone is served better by a RedisSet.
//
// Example:
//    const auto address = parse_redis_url("redis://host/0/seen");
//    if (!address) return address.error();
//    auto seen = RedisPool::open_or_make(*address, {.want = {.keys = 10'000'000, .rate = 0.01}});
//    if (!seen) return seen.error();
//    std::vector<std::jthread> crew;
//    for (const std::string& page : urls)
//      crew.emplace_back([&seen, &page] {
//        const auto added = seen->add(page);       // a Result<RemoteAdd>
//        if (added && *added != RemoteAdd::seen) crawl(page);
//      });
//
// A server that does not answer costs each thread at most the deadline, once. After that, calls
// fail immediately, except for one that tries the server from time to time (redis_circuits.hpp).
//
// If the set is wrong: as RedisSet.
// Errors:  every verb returns a Result; Code::io: the server did not answer in time.
// Limits:  the deadline is that of one command; a call that adds takes two or three of them.
// Threads: any number, all verbs (docs/library.md "What may run beside what").
// See:     docs/scale.md "Servers with threads"; tests/remote/redis_pool_test.cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/error.hpp>
#include <bloomery/redis/redis_address.hpp>
#include <bloomery/redis/redis_set.hpp>

namespace bloomery::inline v0 {

class RedisPool {
 public:
  static constexpr bool safe_for_threads = true;  // Guard takes no lock

  struct Options {
    std::size_t connections = 16;  // handles at most; each has one connection to each server
    // For each command, unless the timeout of the address is shorter.
    std::chrono::milliseconds deadline{1000};
  };

  // As RedisSet::open and open_or_make.
  static Result<RedisPool> open(const RedisAddress& address, const Options& options,
                                const SecretKey* key = nullptr);
  static Result<RedisPool> open(const RedisAddress& address) { return open(address, Options{}); }
  static Result<RedisPool> open_or_make(const RedisAddress& address, const RedisSet::Wish& wish,
                                        const Options& options);
  static Result<RedisPool> open_or_make(const RedisAddress& address, const RedisSet::Wish& wish) {
    return open_or_make(address, wish, Options{});
  }

  RedisPool(RedisPool&&) noexcept;
  RedisPool& operator=(RedisPool&&) noexcept;
  ~RedisPool();

  template <Hashable T>
  Result<RemoteAdd> add(const T& key) {
    auto borrowed = borrow();
    if (!borrowed) return borrowed.error();
    return borrowed->checked(borrowed->set().add(key));
  }
  template <Hashable T>
  Result<bool> may_contain(const T& key) {
    auto borrowed = borrow();
    if (!borrowed) return borrowed.error();
    return borrowed->checked(borrowed->set().may_contain(key));
  }
  Result<RemoteCounts> add_all(std::span<const std::string_view> keys,
                               std::span<RemoteAdd> answers = {});
  Result<void> may_contain_all(std::span<const std::string_view> keys, std::span<bool> answers);

  // Of the set as it was when the pool was opened.
  const detail::RedisLaw& law() const;
  // Handles that were opened and are still there, idle or in use.
  std::size_t handles() const;

 private:
  struct State;
  // Gives the handle back at its end; one whose server was lost is closed instead.
  class Borrowed {
   public:
    Borrowed(State& state, std::unique_ptr<RedisSet> set);
    Borrowed(Borrowed&& other) noexcept;
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed();
    RedisSet& set() { return *set_; }
    template <class T>
    Result<T> checked(Result<T> result) {
      if (!result) is_lost_ = result.error().code == Code::io;
      return result;
    }
    Result<void> checked(Result<void> result);

   private:
    State* state_;
    std::unique_ptr<RedisSet> set_;
    bool is_lost_ = false;
  };

  explicit RedisPool(std::unique_ptr<State> state);
  static Result<RedisPool> of(Result<RedisSet> first, const RedisAddress& address,
                              const Options& options, const SecretKey* key);
  Result<Borrowed> borrow();

  std::unique_ptr<State> state_;
};

}  // namespace bloomery::inline v0
