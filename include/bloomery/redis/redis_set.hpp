// A set on a Redis server or Redis Cluster, shared by any number of clients; needs no module.
//
//    auto seen = RedisSet::open_or_make(*parse_redis_url("redis://host/0/seen"),
//                                       {.want = {.keys = 10'000'000, .rate = 0.01}});
//    if (seen->add(url).value() != RemoteAdd::seen) crawl(url);
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
// Limits:  does not grow: plan it for all keys that will come. All clients must give the same form
//          of keys: text, integers or hashes; the first to add decides.
// Threads: one at a time; for several use a RedisPool, which has a RedisSet for each.
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

#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>
#include <bloomery/redis/redis_address.hpp>
#include <bloomery/redis/redis_requests.hpp>
#include <bloomery/redis/redis_router.hpp>

namespace bloomery::inline v0 {

enum class RemoteAdd : std::uint8_t {
  seen,      // was there, or is a false positive
  fresh,     // surely new, and now there; no other client gets this for the same key
  in_doubt,  // there now, but the answer that said whether it was new is lost
  not_done,  // only beside an Error: surely not added by this call
};

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
    // Hasher(seed) for a set whose bits shall be the same elsewhere.
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
    const Hash hash = law_.hasher(key);
    RemoteAdd answer{};
    const auto added = add_all({&hash, 1}, {&answer, 1}, detail::hashed_form<T>);
    if (!added) return added.error();
    return answer;
  }
  template <Hashable T>
  Result<bool> may_contain(const T& key) {
    const Hash hash = law_.hasher(key);
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

  const detail::RedisLaw& law() const { return law_; }
  const RedisAddress& address() const { return address_; }
  KeyForm form() const { return form_; }
  std::uint64_t epoch() const { return epoch_; }
  // What the names of its shards begin with.
  std::string stem() const { return address_.name + "." + born_; }
  std::uint64_t adds() const { return adds_ + untold_.keys; }  // by all, as last told
  std::uint64_t in_doubt() const { return in_doubt_; }         // by this handle
  double expected_rate_now() const {
    return detail::BlockedBloom::expected_rate(law_.shape, adds());
  }
  const RedisRouter& router() const { return router_; }
  // Shares with other handles which servers do not answer.
  void share(std::shared_ptr<detail::RedisCircuits> circuits) {
    router_.share(std::move(circuits));
  }

 private:
  // A count that goes along when the set is moved.
  struct Untold {
    std::uint64_t keys = 0;
    Untold() = default;
    Untold(Untold&& other) noexcept : keys(std::exchange(other.keys, 0)) {}
    Untold& operator=(Untold&& other) noexcept {
      keys = std::exchange(other.keys, 0);
      return *this;
    }
  };
  // What the meta hash says.
  struct Meta {
    bool there = false;
    std::uint64_t newest = 0;   // epoch that has a law
    std::uint64_t current = 0;  // epoch that is ready; 0: none
    std::vector<std::uint64_t> epochs = {};
    std::vector<std::pair<std::string, std::string>> fields = {};
    std::string_view field(std::string_view name, std::uint64_t epoch) const;
  };

  RedisSet(RedisAddress address, RedisRouter router);

  static Result<RedisSet> connect(const RedisAddress& address);
  Result<Meta> read_meta();
  Result<void> adopt(const Meta& meta, std::uint64_t epoch, const SecretKey* key);
  Result<void> expect_no_eviction(bool expires);
  Result<bool> claim(std::uint64_t epoch, const detail::RedisLaw& law);
  Result<void> make_shards(const detail::RedisLaw& law, std::uint64_t epoch,
                           std::span<const std::byte> payload);
  Result<void> publish(const detail::RedisLaw& law, std::uint64_t epoch, std::uint64_t adds,
                       KeyForm form);
  Result<void> sweep(const Meta& meta, std::uint64_t below);
  Result<void> replace(detail::RedisLaw law, std::span<const std::byte> payload, std::uint64_t adds,
                       KeyForm form, Overwrite overwrite);
  Result<void> expect_room(const detail::RedisLaw& law);
  Result<void> drop_shards(const detail::RedisLaw& law, std::uint64_t epoch);
  Result<void> drop_epoch(const detail::RedisLaw& law, std::uint64_t epoch);
  // A shard was missing: is there a new epoch to go on with? Else the Error.
  Result<void> look_again(std::uint64_t shard);
  Result<void> note_form(KeyForm form);
  Result<void> expect_form(KeyForm form) const;
  // Deletes a field that was written for an epoch after it was dropped.
  Result<void> take_back(const char* field, std::uint64_t epoch);

  Result<void> ask(std::span<const Hash> hashes, bool* answers);
  Result<void> add_some(std::span<const Hash> hashes, RemoteAdd* answers, KeyForm form);
  Result<void> mark(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
                    RemoteAdd* answers, std::vector<std::uint32_t>& strays);
  // Nothing if another epoch has begun meanwhile.
  Result<std::optional<Estimate>> estimate_epoch();
  Result<std::optional<std::vector<std::byte>>> download_epoch();
  Error changes_too_often() const;
  // Keys that must be asked for before they are added.
  bool must_ask(Hash hash, std::uint32_t now) const;
  void settle(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
              std::span<const std::uint32_t> doubtful, RemoteAdd* answers);
  Result<void> remove_strays(std::span<const Hash> hashes, std::span<const std::uint32_t> strays);
  void request_block(Hash hash, Effect effect);
  void request_bits(Hash hash);
  Error named(const Error& error) const;
  Result<void> run(const RedisRouter::Take& take);
  Result<detail::RedisReply> call();

  RedisAddress address_;
  RedisRouter router_;
  detail::RedisLaw law_;
  std::unique_ptr<SecretKey> key_;
  std::uint64_t epoch_ = 0;
  std::string born_;  // of the meta hash: another one is another set of the same name
  detail::RedisNames names_{"", 0, 1};
  std::string meta_key_;
  unsigned meta_slot_ = 0;
  KeyForm form_ = KeyForm::none;
  std::uint64_t adds_ = 0;
  Untold untold_;
  std::uint64_t in_doubt_ = 0;
  bool lost_ = false;                      // the server gave no answer when it was last spoken to
  double repeats_ = 1;                     // the share of them among the last keys that were added
  std::vector<std::uint32_t> shard_seen_;  // when each was last known to be there; in seconds
  std::vector<std::uint64_t> doubted_;     // hashes that were told in doubt, sorted
  RedisRequests requests_;
  std::vector<Hash> hashes_;
};

}  // namespace bloomery::inline v0
