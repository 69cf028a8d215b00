// Here, not in the header: one copy, compiled for any CPU, whatever the callers are compiled for.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/caches.hpp>
#include <bloomery/detail/sets/bulk/partition.hpp>

namespace bloomery::inline v0::detail {

PartitionTuning PartitionTuning::by(const Caches& caches) {
  const std::uint64_t slice = std::clamp<std::uint64_t>(caches.second / 4, 64 << 10, 1 << 20);
  return {std::clamp<std::uint64_t>(4 * caches.shared, 64 << 20, 512 << 20),
          static_cast<unsigned>(std::bit_width(slice / 64)) - 1};
}

PartitionPlan plan_partitions(std::uint64_t lines, std::size_t keys, unsigned threads,
                              const Caches& sizes) {
  PartitionPlan plan;
  plan.shift = PartitionTuning::by(sizes).slice_shift;
  while (plan.shift > 0 && (lines >> plan.shift) < std::uint64_t{8} * threads) --plan.shift;
  while ((lines >> plan.shift) >= most_parts) ++plan.shift;
  plan.parts = static_cast<std::size_t>((lines - 1) >> plan.shift) + 1;
  const std::uint64_t scratch =
      std::clamp<std::uint64_t>(16 * lines, std::uint64_t{1} << 19, most_scratch_bytes);
  plan.held_keys = std::min<std::size_t>(keys, (threads == 1 ? 1 : 2) * scratch / sizeof(Hash));
  return plan;
}

}  // namespace bloomery::inline v0::detail
