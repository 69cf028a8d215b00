#include <bloomery/detail/remote/redis_layout.hpp>

#include <algorithm>
#include <charconv>

#include <bloomery/redis/slots.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t least_shard_blocks = 63;
// Small sets are cut so that they, too, spread over a cluster.
constexpr std::uint64_t wanted_shards = 64;

}  // namespace

Result<RedisLaw> plan_redis_law(const Want& want) {
  const auto shape = BlockedBloom::plan_one_line(want);
  if (!shape) return shape.error();
  return redis_law_of(*shape, want.keys, want.rate);
}

RedisLaw redis_law_of(const BlockedBloom::Shape& shape, std::uint64_t capacity, double rate) {
  RedisLaw law;
  law.shape = shape;
  law.shard_blocks =
      std::clamp(shape.blocks / wanted_shards, least_shard_blocks, most_shard_blocks);
  law.capacity = capacity;
  law.rate = rate;
  return law;
}

unsigned RedisNames::slot(std::uint64_t shard) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned>(static_cast<Wide>(shard) * cluster_slots / shards_);
}

std::string_view RedisNames::shard(std::uint64_t shard) {
  char digits[24];
  last_ = prefix_;
  last_ += tag_of_slot(slot(shard));
  last_ += "}:";
  last_.append(digits, std::to_chars(digits, digits + sizeof digits, shard).ptr);
  return last_;
}

std::string redis_meta_key(std::string_view name) { return "{" + std::string(name) + "}:meta"; }

}  // namespace bloomery::inline v0::detail
