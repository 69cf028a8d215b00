#include <bloomery/detail/sets/build/gather.hpp>

#include <algorithm>
#include <string>

namespace bloomery::inline v0::detail {

Result<BuildPasses> plan_passes(const ShardCost& cost, std::uint64_t keys, unsigned workers,
                                std::uint64_t cap) {
  constexpr std::uint64_t usual_bytes = 24;
  const std::uint64_t all = cost.shards * cost.gathered_bytes;
  const std::uint64_t least = cost.gathered_bytes + cost.worker_bytes;
  if (cap != 0 && least > cap)
    return Error{Code::impossible, "building takes at least " + std::to_string(least) +
                                       " bytes beside the set, which is more than is allowed"};
  const std::uint64_t room = cap != 0 ? cap : usual_bytes * keys;
  BuildPasses passes{.shards_at_once = cost.shards};
  if (cap != 0 && all + cost.worker_bytes > cap)
    passes.shards_at_once =
        (cap - cost.worker_bytes) / std::max<std::uint64_t>(1, cost.gathered_bytes);
  const std::uint64_t gathered = passes.shards_at_once * cost.gathered_bytes;
  const std::uint64_t affordable =
      room > gathered ? (room - gathered) / std::max<std::uint64_t>(1, cost.worker_bytes) : 0;
  passes.workers = static_cast<unsigned>(std::clamp<std::uint64_t>(
      affordable, 1, std::min<std::uint64_t>(workers, passes.shards_at_once)));
  return passes;
}

}  // namespace bloomery::inline v0::detail
