// Stands in front of a cache and a database and answers for keys that no row has.
//
//    get(key) --> set --surely absent--> "no such row", at once
//                  | maybe
//                  v
//                cache --there--> the row
//                  | not there, or the cache failed
//                  v
//               database --found--> the row, also put into the cache
//                          denied--> "no such row": the set was wrong
//
// Prefer it where keys that do not exist come often (an attack, a broken client): they always miss
// the cache, and each is a query. Where nearly every key has a row it saves nothing.
//
// Example:
//    struct Cache {                                // yours: Redis, memcached, a map
//      Result<Cached<std::string>> get(int) { return Cached<std::string>{}; }
//      Result<void> put(int, const std::string&) { return {}; }
//    };
//    Guard guard(Set<BlockedBloom>({.keys = 1'000'000, .rate = 0.01}));
//    Cache cache;
//    const auto database = [](int) -> Result<std::optional<std::string>> { return {"a row"}; };
//    if (auto noted = guard.insert(42); !noted) return noted;  // before the row is written
//    const auto row = guard.get(42, cache, database);
//    if (row && *row) crawl(**row);                // 43 would not reach the database
//
// If the set is wrong: a key that no row has costs a query, at the rate of the set. A row whose key
//          was not added to the set is HIDDEN: so every writer must call insert() before the row
//          can be seen. GuardOptions::audit_every samples for hidden rows.
// Errors:  get and insert return a Result, also if the set throws. A set or cache that fails is
//          counted and bypassed; only a database that fails is an Error of get.
// Limits:  a deleted row stays in the set and costs a query like a false positive; rebuild the set
//          from time to time. A get that runs during the insert of its row may cache the row as
//          absent: that is believed until the entry expires. Several threads that miss the same key
//          each ask the database.
// Threads: any number may call everything at once. Kinds with shared adds are used without a lock,
//          and so is what declares `static constexpr bool safe_for_threads = true` (RedisPool).
//          Anything else is locked while it is used, also a set that is a round trip away
//          (RedisSet); no lock is held for cache or database. docs/library.md has the table.
// See:     docs/jobs.md; guard_test; examples/cache_guard.cpp.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <bloomery/error.hpp>
#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

// What a cache knows of a key: nothing, a value, or that no row has it.
template <class Value>
struct Cached {
  bool known = false;
  std::optional<Value> value = {};
};

struct GuardOptions {
  // Of the keys that are surely absent, every audit_every-th is looked up in the database anyway;
  // 0: never. A row found in this way is returned, and counted as hidden.
  std::uint64_t audit_every = 0;
};

// asked = absent + cache_hits + cache_absent + queries
// queries = found + denied + database_failures
struct GuardCounts {
  std::uint64_t asked = 0;
  std::uint64_t absent = 0;        // answered at once
  std::uint64_t cache_hits = 0;    // rows
  std::uint64_t cache_absent = 0;  // keys the cache knew to have no row
  std::uint64_t queries = 0;       // to the database; audits are not among them
  std::uint64_t found = 0;
  std::uint64_t denied = 0;          // by the database: a false positive of the set
  std::uint64_t set_failures = 0;    // the set could not answer, which counts as maybe
  std::uint64_t cache_failures = 0;  // to read, write or forget; the database answered instead
  std::uint64_t database_failures = 0;
  std::uint64_t audits = 0;
  std::uint64_t hidden = 0;  // rows that an audit found: a writer does not call insert()

  // The false-positive rate over all absent keys that were asked; a repeated key counts again.
  double measured_rate() const {
    const std::uint64_t passed = denied + cache_absent;
    const std::uint64_t strangers = absent + passed;
    return strangers == 0 ? 0 : static_cast<double>(passed) / static_cast<double>(strangers);
  }
};

namespace detail {

// Of a Set: may threads add while others ask, and does it forget keys?
template <class S>
inline constexpr bool adds_shared = false;
template <class K>
inline constexpr bool adds_shared<Set<K>> = SharedAddable<K>;
template <class S>
inline constexpr bool forgets_keys = false;
template <class K>
inline constexpr bool forgets_keys<Set<K>> = Forgetting<K>;
template <class S>
inline constexpr bool is_set = false;
template <class K>
inline constexpr bool is_set<Set<K>> = true;

// Has it declared that threads may call it at once?
template <class S>
concept SafeForThreads = requires {
  requires S::safe_for_threads;
};

// A cache that also keeps keys without a row.
template <class Cache, class Key>
concept KeepsAbsent = requires(Cache& cache, const Key& key) {
  { cache.put_absent(key) } -> std::same_as<Result<void>>;
  { cache.forget(key) } -> std::same_as<Result<void>>;
};

}  // namespace detail

// S is a Set of any kind that does not forget, or whatever has may_contain(key), which gives a bool
// or a Result<bool>, and add(key), which gives a bool or a Result.
// Cache and database are arguments of each call, since threads rarely share connections:
//
//    cache.get(key)          Result<Cached<Value>>
//    cache.put(key, value)   Result<void>
//    cache.put_absent(key)   Result<void>   optional: keeps for a short while that no row has this
//    cache.forget(key)       Result<void>   key, against false positives that come again and again
//    database(key)           Result<std::optional<Value>>
template <class S>
class Guard {
  template <class Database, class Key>
  using Answer = std::invoke_result_t<Database&, const Key&>;  // Result<std::optional<Value>>
  static_assert(!detail::forgets_keys<S>, "a set that forgets keys would hide their rows");

 public:
  explicit Guard(S set, const GuardOptions& options = {})
      : set_(std::move(set)), options_(options) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // The row of this key, or nullopt. Only a database that fails is an Error; a cache that fails is
  // counted and bypassed.
  template <class Key, class Cache, class Database>
  Answer<Database, Key> get(const Key& key, Cache& cache, Database&& database) {
    if (!may_have(key)) return answer_absent(key, database);
    auto cached = cache.get(key);
    if (!cached) {
      count(cache_failures_);
    } else if (cached->known) {
      count(cached->value ? cache_hits_ : cache_absent_);
      return std::move(cached->value);
    }
    auto row = database(key);
    if (!row) {
      count(database_failures_);
      return row;
    }
    count(*row ? found_ : denied_);
    // A cache that could not be read is not written to: that would fail again, and cost time.
    if (cached) fill(key, cache, *row);
    return row;
  }

  // Before the row can be seen by anybody. On an Error the row must not be written: it would be
  // hidden. If the row is not written after all, its key costs a query like a false positive.
  template <class Key>
  Result<void> insert(const Key& key) {
    try {
      if constexpr (!detail::is_set<S>) {
        const auto lock = locked_alone();
        return added(set_.add(key));
      } else if constexpr (detail::adds_shared<S>) {
        set_.add_shared(key);
        return {};
      } else {
        const std::unique_lock lock(mutex_);
        set_.add(key);
        return {};
      }
    } catch (const Failure& failure) {
      return Error{failure.code, failure.what()};
    } catch (const std::out_of_range& refused) {
      return Error{Code::out_of_range, refused.what()};
    }
  }
  // The same around write(), which gives a Result<void> and makes the row visible; then what the
  // cache knew of the key is forgotten.
  template <class Key, class Cache, class Write>
  requires std::same_as<std::invoke_result_t<Write&>, Result<void>> Result<void> insert(
      const Key& key, Cache& cache, Write&& write) {
    if (auto told = insert(key); !told) return told.error();
    if (auto written = write(); !written) return written.error();
    if constexpr (detail::KeepsAbsent<Cache, Key>)
      if (auto forgotten = cache.forget(key); !forgotten) count(cache_failures_);
    return {};
  }

  GuardCounts counts() const {
    GuardCounts now{.absent = read(absent_),
                    .cache_hits = read(cache_hits_),
                    .cache_absent = read(cache_absent_),
                    .found = read(found_),
                    .denied = read(denied_),
                    .set_failures = read(set_failures_),
                    .cache_failures = read(cache_failures_),
                    .database_failures = read(database_failures_),
                    .audits = read(audits_),
                    .hidden = read(hidden_)};
    now.queries = now.found + now.denied + now.database_failures;
    now.asked = now.absent + now.cache_hits + now.cache_absent + now.queries;
    return now;
  }

  // More keys than the set was planned for: no row is hidden, but the false-positive rate is above
  // the one asked for. Build a larger set.
  bool overfull() const {
    if constexpr (detail::adds_shared<S>) {
      return set_.overfull();
    } else if constexpr (requires { set_.overfull(); }) {
      const auto lock = locked_alone();
      return set_.overfull();
    } else {
      return false;
    }
  }

  // For saving and the like, while nobody inserts.
  const S& set() const { return set_; }

 private:
  using Count = std::atomic<std::uint64_t>;
  static void count(Count& counter) { counter.fetch_add(1, std::memory_order_relaxed); }
  static std::uint64_t read(const Count& counter) {
    return counter.load(std::memory_order_relaxed);
  }

  template <class Key>
  bool may_have(const Key& key) {
    if constexpr (!detail::is_set<S>) {
      const auto lock = locked_alone();
      return believed(set_.may_contain(key));
    } else if constexpr (detail::adds_shared<S>) {
      return set_.may_contain_shared(key);
    } else {
      const std::shared_lock lock(mutex_);
      return set_.may_contain(key);
    }
  }
  // For a set of another library it is unknown whether two threads may ask it at once.
  std::unique_lock<std::shared_mutex> locked_alone() const {
    if constexpr (detail::SafeForThreads<S>)
      return {};
    else
      return std::unique_lock(mutex_);
  }

  bool believed(bool maybe) { return maybe; }
  // A set that cannot answer counts as maybe: no row may be hidden.
  bool believed(const Result<bool>& maybe) {
    if (maybe) return *maybe;
    count(set_failures_);
    return true;
  }

  static Result<void> added(bool) { return {}; }
  template <class T>
  static Result<void> added(const Result<T>& result) {
    if (!result) return result.error();
    return {};
  }

  template <class Key, class Database>
  Answer<Database, Key> answer_absent(const Key& key, Database& database) {
    using Row = std::remove_cvref_t<decltype(*std::declval<Answer<Database, Key>&>())>;
    const std::uint64_t before = absent_.fetch_add(1, std::memory_order_relaxed);
    if (options_.audit_every == 0 || before % options_.audit_every != 0) return Row{};
    count(audits_);
    auto row = database(key);
    if (!row) return Row{};  // the set has answered; an audit that fails does not change that
    if (*row) count(hidden_);
    return row;
  }

  template <class Key, class Cache, class Row>
  void fill(const Key& key, Cache& cache, const Row& row) {
    if (row) {
      if (auto put = cache.put(key, *row); !put) count(cache_failures_);
    } else if constexpr (detail::KeepsAbsent<Cache, Key>) {
      if (auto put = cache.put_absent(key); !put) count(cache_failures_);
    }
  }

  S set_;
  GuardOptions options_;
  mutable std::shared_mutex mutex_;  // of set_, where its kind needs one
  Count absent_ = 0;
  Count cache_hits_ = 0;
  Count cache_absent_ = 0;
  Count found_ = 0;
  Count denied_ = 0;
  Count set_failures_ = 0;
  Count cache_failures_ = 0;
  Count database_failures_ = 0;
  Count audits_ = 0;
  Count hidden_ = 0;
};

}  // namespace bloomery::inline v0
