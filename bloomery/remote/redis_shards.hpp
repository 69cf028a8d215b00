// Whole shards of a set on Redis servers: read to look at their bits, to copy them, to check them.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <vector>

#include <bloomery/detail/remote/redis_epochs.hpp>
#include <bloomery/error.hpp>
#include <bloomery/redis/redis_set.hpp>

namespace bloomery::inline v0::detail {

// More changes of epoch than this during one call are a mistake of some client.
inline constexpr int most_epoch_changes = 5;

// The last byte of a shard, asked for by GETRANGE.
inline bool is_sealed(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING && reply.len == 1 &&
         static_cast<std::uint8_t>(reply.str[0]) == redis_seal;
}

Result<RedisSet::Estimate> estimate_shards(RedisEpochs& epochs);
// All bytes, as those of a local set of the same shape.
Result<std::vector<std::byte>> download_shards(RedisEpochs& epochs);
// Is every shard there, whole and sealed? The Error names the first that is not.
Result<void> verify_shards(RedisEpochs& epochs);

}  // namespace bloomery::inline v0::detail
