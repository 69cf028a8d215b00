#include "cluster_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include <bloomery/detail/bits/block.hpp>
#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/detail/sets/plan.hpp>

namespace bloomery::cli {
namespace {

std::uint64_t digits(std::uint64_t number) { return std::to_string(number).size(); }

// RESP: a word of n bytes is "$n\r\n", its bytes, "\r\n"; a command or a list of n is "*n\r\n" and
// then its words.
std::uint64_t word_bytes(std::uint64_t length) { return 1 + digits(length) + 2 + length + 2; }
std::uint64_t list_bytes(std::uint64_t words) { return 1 + digits(words) + 2; }

// Names and offsets are as long as those at the end, which nearly all are.
Traffic getrange_traffic(std::uint64_t shard_bytes, std::uint64_t name_bytes) {
  Traffic traffic;
  traffic.sent = list_bytes(4) + word_bytes(8) + word_bytes(name_bytes) +
                 2 * word_bytes(digits(shard_bytes - 2));
  traffic.received = word_bytes(line_bytes);
  return traffic;
}

Traffic bitfield_traffic(std::uint64_t shard_bytes, std::uint64_t name_bytes, unsigned probes) {
  const std::uint64_t one_bit =
      word_bytes(3) + word_bytes(2) + word_bytes(digits(shard_bytes * 8 - 9)) + word_bytes(1);
  const std::uint64_t seal =
      word_bytes(3) + word_bytes(2) + word_bytes(digits((shard_bytes - 1) * 8));
  Traffic traffic;
  traffic.sent =
      list_bytes(5 + 4 * probes) + word_bytes(8) + word_bytes(name_bytes) + probes * one_bit + seal;
  traffic.received = list_bytes(probes + 1) + probes * 4 + 6;  // ":0\r\n" each, and ":177\r\n"
  return traffic;
}

// What Redis's allocator (jemalloc) gives for a string of so many bytes with its header: four sizes
// to each doubling.
std::uint64_t allocated(std::uint64_t bytes) {
  const std::uint64_t held = bytes + 6;  // a header of five bytes, and a zero
  const std::uint64_t step = std::max<std::uint64_t>(16, std::bit_ceil(held) / 8);
  return (held + step - 1) / step * step;
}

// Shards in the slots below this one: those with i * slots / shards < slot.
std::uint64_t shards_below(std::uint64_t slot, std::uint64_t shards) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{slot} * shards + cluster_slots - 1) / cluster_slots);
}

// As redis-cli --cluster create deals slots out: each master a range, all as long as each other.
void deal_out(ClusterPlan& plan) {
  const std::uint64_t masters = plan.want.masters;
  plan.most_node_shards = 0;
  plan.least_node_shards = plan.shards;
  for (std::uint64_t node = 0; node < masters; ++node) {
    const std::uint64_t has = shards_below((node + 1) * cluster_slots / masters, plan.shards) -
                              shards_below(node * cluster_slots / masters, plan.shards);
    plan.most_node_shards = std::max(plan.most_node_shards, has);
    plan.least_node_shards = std::min(plan.least_node_shards, has);
  }
}

Result<void> find_masters(ClusterPlan& plan) {
  ClusterWant& want = plan.want;
  const std::uint64_t asked = want.masters;
  want.masters = asked == 0 ? least_masters : 1;
  if (want.node_bytes != 0)
    want.masters = std::max(want.masters, (plan.memory() - 1) / want.node_bytes + 1);
  for (; want.masters <= cluster_slots; ++want.masters) {
    deal_out(plan);
    if (want.node_bytes == 0 || plan.most_node_memory() <= want.node_bytes) break;
  }
  if (want.masters > cluster_slots)
    return Error{Code::impossible,
                 fmt::format("a cluster has {} slots, so at most as many masters, and the set does "
                             "not fit them; give each more --memory",
                             cluster_slots)};
  if (asked == 0) return {};
  if (asked < want.masters)
    return Error{Code::impossible, fmt::format("{} masters are too few for that --memory of each; "
                                               "it takes {}",
                                               asked, want.masters)};
  want.masters = asked;
  deal_out(plan);
  return {};
}

}  // namespace

Result<ClusterPlan> plan_cluster(const ClusterWant& want) {
  if (auto sound = check_keys_and_rate({.keys = want.keys, .rate = want.rate}); !sound)
    return sound.error();
  ClusterPlan plan;
  plan.want = want;
  const auto law = plan_redis_law({.keys = want.keys, .rate = want.rate});
  if (!law) return law.error();
  plan.probes = law->shape.probes;
  plan.blocks = law->shape.blocks;
  plan.shards = law->shards();
  plan.shard_bytes = law->bytes_of(0);
  plan.shard_memory = allocated(plan.shard_bytes) + measured_cost.string_bytes;
  const std::uint64_t name_bytes =
      RedisNames(std::string(planned_name) + ".00000000", 1, plan.shards)
          .shard(plan.shards - 1)
          .size();
  plan.check = getrange_traffic(plan.shard_bytes, name_bytes);
  const Traffic setting = bitfield_traffic(plan.shard_bytes, name_bytes, plan.probes);
  plan.add = {plan.check.sent + setting.sent, plan.check.received + setting.received};
  if (auto found = find_masters(plan); !found) return found.error();
  return plan;
}

double ClusterPlan::add_cpu_seconds() const {
  return static_cast<double>(want.keys) * node_share() * add_microseconds() * 1e-6;
}

// Both directions at once: the busier one counts.
double ClusterPlan::add_network_seconds() const {
  const auto busier = static_cast<double>(std::max(add.sent, add.received));
  return static_cast<double>(want.keys) * node_share() * busier * 8 / want.network;
}

double ClusterPlan::build_seconds() const {
  return static_cast<double>(want.keys) * measured_cost.local_add * 1e-6;
}

double ClusterPlan::upload_seconds() const {
  return static_cast<double>(shards * shard_bytes) * 8 / want.network;
}

double ClusterPlan::shared_upload_seconds() const { return upload_seconds() * node_share(); }

std::uint64_t ClusterPlan::joining_bytes() const {
  return shards / (want.masters + 1) * shard_bytes;
}

double ClusterPlan::joining_seconds() const {
  return static_cast<double>(joining_bytes()) * 8 / want.network;
}

}  // namespace bloomery::cli
