#include <bloomery/remote/redis_shards.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/remote/redis_bulk.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Nothing if another epoch has begun meanwhile.
Result<std::optional<RedisSet::Estimate>> estimate_epoch(RedisEpochs& epochs) {
  const RedisLaw& law = epochs.law();
  RedisNames& names = epochs.names();
  RedisRequests& requests = epochs.requests();
  constexpr std::uint64_t most_read = 256;
  const std::uint64_t shards = law.shards();
  const std::uint64_t step = (shards + most_read - 1) / most_read;
  double ones = 0;
  double passing = 0;
  double lines = 0;
  RedisSet::Estimate found;
  for (std::uint64_t first = 0; first < shards; first += 16 * step) {
    requests.clear();
    for (std::uint64_t i = 0; i < 16 && first + i * step < shards; ++i)
      requests.add(names.slot(first + i * step), Effect::writes, "GET",
                   names.shard(first + i * step));
    std::optional<std::uint64_t> missing;
    auto done = epochs.router().run(requests, [&](std::size_t i, RedisReply& reply) {
      const std::uint64_t shard = first + i * step;
      if (reply->type != REDIS_REPLY_STRING || reply->len != law.bytes_of(shard)) {
        missing = shard;
        return;
      }
      ++found.shards_read;
      for (std::uint64_t block = 0; block < law.blocks_of(shard); ++block) {
        std::uint64_t line[lanes_per_line];
        std::memcpy(line, reply->str + block * line_bytes, line_bytes);
        for (const std::uint64_t lane : line) ones += std::popcount(lane);
        passing += line_passing(line, law.shape.probes);
        ++lines;
      }
    });
    if (!done) return done.error();
    if (missing) {
      if (auto again = epochs.look_again(*missing); !again) return again.error();
      return std::optional<RedisSet::Estimate>();
    }
  }
  found.fill = ones / (lines * line_bits);
  found.rate = passing / lines;
  found.keys = BlockedBloom::keys_at_fill(law.shape, found.fill);
  return std::optional(found);
}

Result<std::optional<std::vector<std::byte>>> download_epoch(RedisEpochs& epochs) {
  // The shards that the law names must exist before memory for them is allocated.
  if (auto whole = verify_shards(epochs); !whole) return whole.error();
  const RedisLaw& law = epochs.law();
  RedisNames& names = epochs.names();
  RedisRequests& requests = epochs.requests();
  std::vector<std::byte> bytes(law.shape.blocks * line_bytes);
  for (std::uint64_t first = 0; first < law.shards(); first += 16) {
    requests.clear();
    const std::uint64_t end = std::min(first + 16, law.shards());
    for (std::uint64_t shard = first; shard < end; ++shard)
      requests.add(names.slot(shard), Effect::writes, "GET", names.shard(shard));
    std::optional<std::uint64_t> missing;
    auto done = epochs.router().run(requests, [&](std::size_t i, RedisReply& reply) {
      const std::uint64_t shard = first + i;
      if (reply->type != REDIS_REPLY_STRING || reply->len != law.bytes_of(shard))
        missing = shard;
      else
        std::memcpy(bytes.data() + shard * law.shard_blocks * line_bytes, reply->str,
                    reply->len - 1);
    });
    if (!done) return done.error();
    if (!missing) continue;
    if (auto again = epochs.look_again(*missing); !again) return again.error();
    return std::optional<std::vector<std::byte>>();
  }
  return std::optional(std::move(bytes));
}

// Once more when another epoch has begun.
template <class Read>
auto of_one_epoch(RedisEpochs& epochs, Read read)
    -> Result<typename std::remove_cvref_t<decltype(*read(epochs))>::value_type> {
  for (int change = 0; change < most_epoch_changes; ++change) {
    auto found = read(epochs);
    if (!found) return found.error();
    if (*found) return std::move(**found);
  }
  return Error{Code::io, epochs.address().shown() + " is cleared again and again while it is read"};
}

}  // namespace

Result<RedisSet::Estimate> estimate_shards(RedisEpochs& epochs) {
  return of_one_epoch(epochs, estimate_epoch);
}

Result<std::vector<std::byte>> download_shards(RedisEpochs& epochs) {
  return of_one_epoch(epochs, download_epoch);
}

Result<void> verify_shards(RedisEpochs& epochs) {
  const RedisLaw& law = epochs.law();
  RedisNames& names = epochs.names();
  RedisRequests& requests = epochs.requests();
  for (std::uint64_t first = 0; first < law.shards(); first += RedisBulk::keys_at_once) {
    requests.clear();
    const std::uint64_t end =
        std::min<std::uint64_t>(first + RedisBulk::keys_at_once, law.shards());
    for (std::uint64_t shard = first; shard < end; ++shard)
      requests.add(names.slot(shard), Effect::writes, "GETRANGE", names.shard(shard),
                   law.bytes_of(shard) - 1, law.bytes_of(shard));
    std::optional<std::uint64_t> missing;
    auto done = epochs.router().run(requests, [&](std::size_t i, RedisReply& reply) {
      if (!is_sealed(*reply) && !missing) missing = first + i;
    });
    if (!done) return done;
    if (missing) return epochs.look_again(*missing);
  }
  return {};
}

}  // namespace bloomery::inline v0::detail
