// Keys in the shards of an epoch, many at once: asking with GETRANGE, adding with BITFIELD.
//
//    asked for first?  --GETRANGE--> there: seen
//                                    absent --BITFIELD--> old bits: fresh, seen
//                                                         no answer: in doubt
//                                                         no seal: a stray shard, removed again
//
// What is remembered between calls only spares commands; of another epoch it is forgotten.
// Limits:  at most keys_at_once keys a call, whose commands are in memory together.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <bloomery/detail/remote/redis_epochs.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>
#include <bloomery/redis/remote_add.hpp>

namespace bloomery::inline v0::detail {

class RedisBulk {
 public:
  static constexpr std::size_t keys_at_once = 16384;

  Result<void> ask(RedisEpochs& epochs, std::span<const Hash> hashes, bool* answers);
  // After an Error the answers still hold.
  Result<void> add(RedisEpochs& epochs, std::span<const Hash> hashes, RemoteAdd* answers,
                   KeyForm form);
  // From the answers to add(): where many keys are repeats they are asked for first.
  void learn_repeats(std::span<const RemoteAdd> answers);

 private:
  // Of the keys that are left those that are not there, or were not asked for; others are seen.
  Result<std::vector<std::uint32_t>> absent_of(RedisEpochs& epochs, std::span<const Hash> hashes,
                                               std::span<const std::uint32_t> left,
                                               RemoteAdd* answers);
  // Must it be asked for before it is added?
  bool must_ask(Hash hash, const RedisLaw& law, std::uint32_t now) const;
  void settle(std::span<const Hash> hashes, std::span<const std::uint32_t> absent,
              std::span<const std::uint32_t> doubtful, RemoteAdd* answers);
  void follow(const RedisEpochs& epochs);

  std::uint64_t adoption_ = 0;             // of the epoch that the following is about
  std::vector<std::uint32_t> shard_seen_;  // when each was last known to be there; in seconds
  std::vector<std::uint64_t> doubted_;     // hashes that were told in doubt, sorted
  double repeats_ = 1;                     // the share of them among the last keys that were added
};

}  // namespace bloomery::inline v0::detail
