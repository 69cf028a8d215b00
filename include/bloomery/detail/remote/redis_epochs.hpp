// The epochs of a set on Redis servers: how it is made, found, replaced and dropped.
//
//    epoch 1   claim -> shards -> ready                          open, open_or_make
//    epoch 2             claim -> shards -> ready -> drop 1      replace
//    a client that misses a shard of epoch 1                     look_again -> adopts epoch 2
//
// Everything about the meta hash is here (redis_layout.hpp); the keys in the shards are not
// (redis_bulk.hpp).
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/error.hpp>
#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>
#include <bloomery/redis/redis_address.hpp>
#include <bloomery/redis/redis_requests.hpp>
#include <bloomery/redis/redis_router.hpp>

namespace bloomery::inline v0::detail {

class RedisEpochs {
 public:
  static Result<RedisEpochs> connect(const RedisAddress& address);

  Result<bool> exists();
  // Goes to the epoch that is ready. The key is for hardened sets that do not store it.
  Result<void> open(const SecretKey* key);
  // Any number of clients may call this at once: one makes the set, the others open it.
  Result<void> open_or_make(const RedisLaw& law);
  // With the end that the address asks for (ttl=).
  RedisLaw timed(RedisLaw law) const;
  // Another epoch takes the place of the current one; the bytes are empty, or those of all blocks.
  Result<void> replace(RedisLaw law, std::span<const std::byte> payload, std::uint64_t adds,
                       KeyForm form, Overwrite overwrite);
  // Deletes the set from the server.
  Result<void> drop();

  // A shard was missing: is there a new epoch to go on with? Else the Error.
  Result<void> look_again(std::uint64_t shard);
  // The first client to add decides what keys the epoch has. The Error says that they differ.
  Result<void> note_form(KeyForm form);
  Result<void> expect_form(KeyForm form) const;
  // Counts keys that were new in this epoch, and tells the server.
  void count(std::uint64_t fresh) { untold_.keys += fresh; }
  std::uint64_t untold() const { return untold_.keys; }
  Result<void> tell_adds();

  const RedisAddress& address() const { return address_; }
  const RedisLaw& law() const { return law_; }
  std::uint64_t epoch() const { return epoch_; }
  KeyForm form() const { return form_; }
  std::uint64_t adds() const { return adds_ + untold_.keys; }  // by all, as last told
  // What the names of its shards begin with.
  std::string stem() const { return address_.name + "." + born_; }
  RedisNames& names() { return names_; }
  // Changes whenever this goes to another epoch.
  std::uint64_t adoptions() const { return adoptions_; }
  RedisRouter& router() { return router_; }
  const RedisRouter& router() const { return router_; }
  RedisRequests& requests() { return requests_; }  // of the call that is under way

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

  RedisEpochs(RedisAddress address, RedisRouter router);

  Result<Meta> read_meta();
  Result<void> adopt(const Meta& meta, std::uint64_t epoch, const SecretKey* key);
  Result<void> expect_no_eviction(bool expires);
  Result<void> expect_room(const RedisLaw& law);
  Result<bool> claim(std::uint64_t epoch, const RedisLaw& law);
  Result<void> finish_making(const RedisLaw& wanted, bool ours);
  Result<void> make_shards(const RedisLaw& law, std::uint64_t epoch,
                           std::span<const std::byte> payload);
  Result<void> publish(const RedisLaw& law, std::uint64_t epoch, std::uint64_t adds, KeyForm form);
  Result<std::uint64_t> claim_next(const RedisLaw& law, Overwrite overwrite);
  Result<void> sweep(const Meta& meta, std::uint64_t below);
  Result<void> drop_shards(const RedisLaw& law, std::uint64_t epoch);
  Result<void> drop_epoch(const RedisLaw& law, std::uint64_t epoch);
  // Deletes a field that was written for an epoch after it was dropped.
  Result<void> take_back(const char* field, std::uint64_t epoch);
  Error named(const Error& error) const;
  Result<void> run();

  RedisAddress address_;
  RedisRouter router_;
  RedisRequests requests_;
  RedisLaw law_;
  std::unique_ptr<SecretKey> key_;
  std::uint64_t epoch_ = 0;
  std::uint64_t adoptions_ = 0;
  std::string born_;  // of the meta hash: another one is another set of the same name
  RedisNames names_{"", 0, 1};
  std::string meta_key_;
  unsigned meta_slot_ = 0;
  KeyForm form_ = KeyForm::none;
  std::uint64_t adds_ = 0;
  Untold untold_;
};

}  // namespace bloomery::inline v0::detail
