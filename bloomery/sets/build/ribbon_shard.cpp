#include <bloomery/sets/build/ribbon_shard.hpp>

#include <algorithm>
#include <bit>

#include <bloomery/detail/bits/kernels.hpp>

namespace bloomery::inline v0::detail {
namespace {

constexpr std::uint64_t quad_rows = RibbonBand::quad_rows;
constexpr std::uint64_t quads = RibbonBand::quads;
static_assert(RibbonBand::most_placed >= RibbonLayer::stretch_starts + RibbonLayer::window_rows);
static_assert(quads * quad_rows >= RibbonLayer::stretch_starts + RibbonLayer::window_rows);

constexpr std::uint64_t octet_starts = 8;
constexpr std::uint64_t stretch_octets = RibbonLayer::stretch_starts / octet_starts;

// The octets of each class, in the order of insertion. Mark m means that the last m classes are
// bumped.
struct Octets {
  std::uint64_t first;
  std::uint64_t end;
};
constexpr Octets class_octets[] = {
    {RibbonLayer::bumped_below(2) / octet_starts, stretch_octets},
    {RibbonLayer::bumped_below(1) / octet_starts, RibbonLayer::bumped_below(2) / octet_starts},
    {0, RibbonLayer::bumped_below(1) / octet_starts}};
static_assert(std::size(class_octets) == RibbonLayer::classes);
static_assert(RibbonLayer::bumped_below(1) % octet_starts == 0 &&
              RibbonLayer::bumped_below(2) % octet_starts == 0);

// Which place each octet of a stretch has in that order.
constexpr auto octet_ranks = [] {
  std::array<std::uint8_t, stretch_octets> ranks{};
  std::uint8_t rank = 0;
  for (const Octets octets : class_octets)
    for (std::uint64_t octet = octets.first; octet < octets.end; ++octet) ranks[octet] = rank++;
  return ranks;
}();

std::uint64_t rank_of(std::uint64_t start) {
  return start / RibbonLayer::stretch_starts * stretch_octets +
         octet_ranks[start / octet_starts % stretch_octets];
}

}  // namespace

RibbonShardSolver::Tally RibbonShardSolver::solve(const RibbonLayer& layer, std::uint64_t shard,
                                                  std::span<Hash> keys,
                                                  std::span<std::uint64_t> layer_words) {
  leading_.assign(layer.rows(), {});
  std::ranges::fill(band_.led, 0);
  band_.shards = layer.shards();
  band_.starts = layer.starts();
  band_.columns = layer.narrow_columns();
  band_.leading = leading_.data();
  repeats_ = 0;
  sort(layer, keys);
  const auto marks = layer_words.subspan(layer.marks_at(shard), layer.mark_words());
  std::fill(marks.begin(), marks.end(), 0);
  std::size_t bumped = 0;
  std::size_t next = 0;
  for (std::uint64_t stretch = 0; stretch < layer.stretches(); ++stretch) {
    band_.asked = (std::uint64_t{1} << layer.columns_of(stretch)) - 1;
    std::uint64_t mark = 0;
    std::uint64_t rank = stretch * stretch_octets;
    forget_quads_after(stretch * RibbonLayer::stretch_starts);
    for (unsigned c = 0; c < RibbonLayer::classes; ++c) {
      rank += class_octets[c].end - class_octets[c].first;
      const std::size_t end = ends_[rank - 1];
      if (!insert({sorted_.data() + next, end - next})) {
        mark = RibbonLayer::classes - c;
        break;
      }
      next = end;
    }
    marks[stretch / 32] |= mark << (2 * (stretch % 32));
    for (const std::size_t end = ends_[(stretch + 1) * stretch_octets - 1]; next < end; ++next)
      keys[bumped++] = RibbonLayer::next(sorted_[next]);
  }
  kernels().ribbon_substitute(leading_.data(),
                              {layer_words.data() + layer.block_at(shard, 0), layer.blocks(),
                               layer.wide_blocks(), layer.narrow_columns()});
  return {bumped, repeats_};
}

void RibbonShardSolver::sort(const RibbonLayer& layer, std::span<const Hash> keys) {
  sorted_.resize(keys.size());
  ends_.assign(layer.stretches() * stretch_octets + 1, 0);
  for (const Hash key : keys) ++ends_[rank_of(layer.place(key).start) + 1];
  for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  // Now ends_[i] is where octet i begins; each key moves it on, to the end when all are there.
  for (const Hash key : keys) sorted_[ends_[rank_of(layer.place(key).start)]++] = key;
}

// The windows of the stretches before this row end less than 64 rows after it; the places of the
// quads beyond are used again.
void RibbonShardSolver::forget_quads_after(std::uint64_t row) {
  constexpr std::uint64_t kept = RibbonLayer::window_rows / quad_rows;
  for (std::uint64_t i = kept; i < quads; ++i) band_.led[(row / quad_rows + i) % quads] = 0;
}

// Inserts a class, or leaves everything as it was and returns false.
bool RibbonShardSolver::insert(std::span<Hash> keys) {
  if (!insert_in_order(keys)) return false;
  if (band_.placed == keys.size()) [[likely]]
    return true;
  // Some equations were redundant: copies, or keys whose fingerprint happens to fit. In narrow
  // stretches such a key may be wrong in the wide column, which changes rows before it. So that the
  // bits do not depend on the order of the keys, they are sorted: the highest hashes are redundant.
  take_out();
  std::sort(keys.begin(), keys.end());
  insert_in_order(keys);
  for (std::size_t i = 1; i < keys.size(); ++i) repeats_ += keys[i - 1] == keys[i];
  return true;
}

bool RibbonShardSolver::insert_in_order(std::span<const Hash> keys) {
  static_assert(sizeof(Hash) == sizeof(std::uint64_t));
  band_.placed = 0;
  const auto* const hashes = reinterpret_cast<const std::uint64_t*>(keys.data());
  const bool held = kernels().ribbon_insert(band_, hashes, keys.size());
  if (!held) take_out();
  return held;
}

void RibbonShardSolver::take_out() {
  for (const std::uint64_t row : std::span(band_.placed_rows).first(band_.placed)) {
    leading_[row] = {};
    --band_.led[row / quad_rows % quads];
  }
}

}  // namespace bloomery::inline v0::detail
