// How a set lies on Redis servers: one blocked Bloom filter, cut into many small strings.
//
//    hash --mulhi--> block of 64 bytes --/ shard_blocks--> shard (a Redis string), offset in it
//
//    {name}:meta          a hash:  format    "bloomery 1"
//                                  born      a random word: a set of that name that was there
//                                            before had another, and its strings are not ours
//                                  law:N     the numbers that fix epoch N, written once (HSETNX)
//                                  ready:N   its shards are all there
//                                  adds:N    keys that were new, told by everybody who adds
//                                  form:N    what its keys are (text, u64, hash)
//    name.born.gN:{tag}:i a string: shard i of epoch N, its blocks and then one byte, the seal
//
// The highest epoch that is ready is the set. Clearing and replacing make a new epoch beside the
// old one and then drop that: whoever still writes to it finds its shard missing, and looks again.
// A shard that is missing would say no to its members: the seal, which is there from the beginning,
// makes every add notice, and every ask gets fewer bytes than it wants.
//
// Bytes are those of the local kind (blocked_bloom.hpp, one line a key): bit b of a byte is
// Redis' bit 7 - b. Tags choose slots so that shard i of S lies in slot i * 16384 / S.
// Limits:  one line a key at any rate, so below 1e-4 it takes more bits than the local kind.
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

// One byte behind the blocks of each shard.
inline constexpr std::uint8_t redis_seal = 0xb1;

// 1023 blocks and the seal fit the 64 KiB class of the allocator; one block more would take 80.
inline constexpr std::uint64_t most_shard_blocks = 1023;

// Who makes the shards of an epoch, and how others may help.
enum class RedisMaking : std::uint8_t {
  reserve,  // empty shards: anybody may make them, any number of times
  upload,   // filled ones: only who has the bytes
};

// All that fixes an epoch.
struct RedisLaw {
  BlockedBloom::Shape shape = {};
  std::uint64_t shard_blocks = 0;
  std::uint64_t capacity = 0;
  double rate = 0;
  Hasher hasher{};
  bool key_is_elsewhere = false;  // a secret key that is not stored with the set
  bool strip_cr = false;
  std::string normalisation = {};
  std::string made_from = {};  // as in KeyRules
  RedisMaking making = RedisMaking::reserve;
  std::uint64_t expires_at = 0;  // Unix time in ms; 0: never

  std::uint64_t shards() const { return (shape.blocks + shard_blocks - 1) / shard_blocks; }
  std::uint64_t blocks_of(std::uint64_t shard) const {
    const std::uint64_t before = shard * shard_blocks;
    return shape.blocks - before < shard_blocks ? shape.blocks - before : shard_blocks;
  }
  std::uint64_t bytes_of(std::uint64_t shard) const { return blocks_of(shard) * line_bytes + 1; }
};

// For these keys at this rate, in one line a key.
Result<RedisLaw> plan_redis_law(const Want& want);
// The same for a shape that is there already.
RedisLaw redis_law_of(const BlockedBloom::Shape& shape, std::uint64_t capacity, double rate);

// "blocked blocks=163840 probes=6 ..."; what was written is read back to the same law.
std::string encode_law(const RedisLaw& law);
// Of bytes from outside: the Error says what is wrong with them. A hardened set whose key is
// elsewhere needs it here.
Result<RedisLaw> decode_law(std::string_view text, const SecretKey* key);
// Only where the shards are, which no secret key is needed for; the hasher is left out.
Result<RedisLaw> decode_places(std::string_view text);

// Names of the Redis keys of one epoch.
class RedisNames {
 public:
  // `stem` is the name of the set and when it was born: "seen.0a1b2c3d".
  RedisNames(const std::string& stem, std::uint64_t epoch, std::uint64_t shards)
      : prefix_(stem + ".g" + std::to_string(epoch) + ":{"), shards_(shards) {}

  unsigned slot(std::uint64_t shard) const;
  // Valid until the next call.
  std::string_view shard(std::uint64_t shard);

 private:
  std::string prefix_;
  std::uint64_t shards_;
  std::string last_;
};
std::string redis_meta_key(std::string_view name);

}  // namespace bloomery::inline v0::detail
