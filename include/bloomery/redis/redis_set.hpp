// A set on a Redis server or Redis Cluster, shared by any number of clients; needs no module.
//
// Prefer it where several machines fill one set, or where a set must outlive its programs; a local
// Set answers a thousand times as fast. For programs with threads: RedisPool.
//
// Example:
//    const auto address = parse_redis_url("redis://host/0/seen?timeout=2s");
//    if (!address) return address.error();
//    auto seen = RedisSet::open_or_make(*address, {.want = {.keys = 10'000'000, .rate = 0.01}});
//    if (!seen) return seen.error();               // names the server, never the password
//    const auto added = seen->add(url);            // one round trip
//    if (!added) return added.error();
//    if (*added != RemoteAdd::seen) crawl(url);    // fresh for exactly one client, or in_doubt
//    const auto counts = seen->add_all(lines);     // in pipelines, to all nodes at once
//    if (counts && counts->in_doubt > 0) crawl("some answers were lost");
//
// Asking is one GETRANGE of a key's block; adding is one BITFIELD, which sets its bits and tells
// the old ones in one step: of all clients that add a key at the same time exactly one gets
// `fresh`. A key is asked for before it is added where many keys are repeats, since asking is cheap
// and is not replicated, and where its shard was not seen for a second. In bulk, commands go in
// pipelines to all nodes at once. How it lies on the server: redis_layout.hpp.
//
// If the set is wrong: false positives at the rate that was asked for, more when it is overfull. No
//          false negatives, except: a server that crashed lost what its replicas did not have (see
//          `wait`); replicas that are read (`read=replicas`) lag behind. What cannot be known is
//          reported: a key whose answer was lost with the connection is in_doubt, a shard that is
//          missing is an Error.
// Errors:  every verb returns a Result; nothing is thrown but std::bad_alloc.
// Limits:  does not grow: plan it for all keys that will come. All clients must give the same form
//          of keys: text, integers or hashes; the first to add decides.
// Threads: one at a time; for several use a RedisPool, which has a RedisSet for each
//          (docs/library.md "What may run beside what").
// See:     docs/scale.md; tests/remote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/detail/remote/redis_bulk.hpp>
#include <bloomery/detail/remote/redis_epochs.hpp>
#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>
#include <bloomery/redis/redis_address.hpp>
#include <bloomery/redis/redis_requests.hpp>
#include <bloomery/redis/redis_router.hpp>
#include <bloomery/redis/remote_add.hpp>

namespace bloomery::inline v0 {

struct RemoteCounts {
  std::uint64_t fresh = 0;
  std::uint64_t in_doubt = 0;
};

class RedisSet {
 public:
  // What to make. All of it is stored with the set, for those who open it later.
  struct Wish {
    Want want = {};
    // Without one: hardened, with a fresh secret key that is stored with the set. Whoever chooses
    // the keys that are added, but cannot read the server, then cannot make them collide. Give
    // Hasher(seed) for a set whose bits must be the same elsewhere.
    std::optional<Hasher> hasher = {};
    bool key_is_elsewhere = false;  // do not store the secret key of a hardened hasher
    bool strip_cr = false;
    std::string normalisation = {};
    std::string made_from = {};  // as in KeyRules
  };
  struct Estimate {
    double keys = 0;  // from the bits
    double rate = 0;  // false-positive rate now, from the bits
    double fill = 0;
    std::uint64_t shards_read = 0;  // all, or some hundred spread evenly
  };

  // The set of that name. A missing set is an Error of Code::io: see exists(). The key is for
  // hardened sets that do not store it.
  static Result<RedisSet> open(const RedisAddress& address, const SecretKey* key = nullptr);
  static Result<bool> exists(const RedisAddress& address);
  // Any number of clients may call this at once: one makes the set, the others open it. A set that
  // exists already may differ from the wish: check law().
  static Result<RedisSet> open_or_make(const RedisAddress& address, const Wish& wish);
  // A set with these bytes, those of a BlockedBloom of this shape; a set of that name is replaced
  // in one step, also for clients that use it.
  static Result<RedisSet> upload(const RedisAddress& address, const detail::RedisLaw& law,
                                 std::span<const std::byte> payload, std::uint64_t adds,
                                 KeyForm form, Overwrite overwrite = Overwrite::replace);

  RedisSet(RedisSet&&) noexcept = default;
  RedisSet& operator=(RedisSet&&) noexcept = default;
  ~RedisSet();

  template <Hashable T>
  Result<RemoteAdd> add(const T& key) {
    const Hash hash = law().hasher(key);
    RemoteAdd answer{};
    const auto added = add_all({&hash, 1}, {&answer, 1}, detail::hashed_form<T>);
    if (!added) return added.error();
    return answer;
  }
  template <Hashable T>
  Result<bool> may_contain(const T& key) {
    const Hash hash = law().hasher(key);
    bool answer = false;
    const auto asked = may_contain_all({&hash, 1}, {&answer, 1}, detail::hashed_form<T>);
    if (!asked) return asked.error();
    return answer;
  }

  // One answer for each key, or `answers` is empty. After an Error the answers still hold: what was
  // added before it, what may have been, and what was not.
  Result<RemoteCounts> add_all(std::span<const std::string_view> keys,
                               std::span<RemoteAdd> answers = {});
  Result<RemoteCounts> add_all(std::span<const Hash> hashes, std::span<RemoteAdd> answers = {},
                               KeyForm form = KeyForm::hash);
  Result<void> may_contain_all(std::span<const std::string_view> keys, std::span<bool> answers);
  Result<void> may_contain_all(std::span<const Hash> hashes, std::span<bool> answers,
                               KeyForm form = KeyForm::hash);

  Result<Estimate> estimate();
  // Forgets all keys, for all clients. An add at the same time counts as before or after it.
  Result<void> clear();
  // The same, with another size or rate.
  Result<void> clear(const Want& want);
  // Deletes the set from the server.
  Result<void> drop();
  // All bytes, as those of a local set of the same shape.
  Result<std::vector<std::byte>> download();
  // Is every shard there, whole and sealed? The Error names the first that is not.
  Result<void> verify();
  // Tells the server how many keys were new. Called automatically from time to time and at the end.
  Result<void> tell_adds();

  const detail::RedisLaw& law() const { return epochs_.law(); }
  const RedisAddress& address() const { return epochs_.address(); }
  KeyForm form() const { return epochs_.form(); }
  std::uint64_t epoch() const { return epochs_.epoch(); }
  // What the names of its shards begin with.
  std::string stem() const { return epochs_.stem(); }
  std::uint64_t adds() const { return epochs_.adds(); }  // by all, as last told
  std::uint64_t in_doubt() const { return in_doubt_; }   // by this handle
  double expected_rate_now() const {
    return detail::BlockedBloom::expected_rate(law().shape, adds());
  }
  const RedisRouter& router() const { return epochs_.router(); }
  // Shares with other handles which servers do not answer.
  void share(std::shared_ptr<detail::RedisCircuits> circuits) {
    epochs_.router().share(std::move(circuits));
  }

 private:
  explicit RedisSet(detail::RedisEpochs epochs) : epochs_(std::move(epochs)) {}
  Result<void> wait_for_replicas();

  detail::RedisEpochs epochs_;  // which epoch this handle uses, and the way to its servers
  detail::RedisBulk bulk_;      // keys in its shards
  std::uint64_t in_doubt_ = 0;
  std::vector<Hash> hashes_;
};

}  // namespace bloomery::inline v0
