#include <bloomery/detail/sets/kinds/ribbon.hpp>

#include <atomic>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/hash/real.hpp>
#include <bloomery/detail/sets/build/gather.hpp>
#include <bloomery/sets/build/ribbon_shard.hpp>

namespace bloomery::inline v0::detail {
namespace {

using Shape = Ribbon::Shape;

// Bigger shards lose less at their ends, smaller ones sort faster: 64 Ki keys are half a megabyte.
constexpr std::uint64_t shard_keys = std::uint64_t{1} << 16;
// Keys to a row in a layer that bumps. With fewer the rows are not all used (1.007 of the floor at
// 1.02, 3M keys, 8 columns); with more there are more bumped keys to ask twice (1.0043 here, 1.0035
// at 1.06).
constexpr double overload = 1.04;
// A layer of so few keys has more rows than keys and bumps none.
constexpr std::uint64_t last_keys = 512;
constexpr std::uint64_t last_spare_rows = 6;
constexpr unsigned last_tries = 4;  // each one block larger

struct LayerSize {
  std::uint64_t Shape::*shards;
  std::uint64_t Shape::*blocks;
};
constexpr LayerSize layer_sizes[Ribbon::most_layers] = {{&Shape::shards_1, &Shape::blocks_1},
                                                        {&Shape::shards_2, &Shape::blocks_2},
                                                        {&Shape::shards_3, &Shape::blocks_3},
                                                        {&Shape::shards_4, &Shape::blocks_4}};

// A shape with columns for the rate and no layer yet.
Result<Shape> shape_for_rate(std::uint64_t keys, double rate) {
  if (auto sound = check_keys_and_rate({.keys = std::max<std::uint64_t>(keys, 1), .rate = rate});
      !sound)
    return sound.error();
  if (!enough_bits(1, static_cast<double>(keys), rate))
    return Error{Code::impossible,
                 "64-bit hashes cannot hold that rate for so many keys; ask for a higher rate"};
  Shape shape{.keys = keys};
  // A millionth of a column is not worth a stretch that is wide.
  const double columns = std::max(1.0, std::floor(-real::log2(rate) + 1e-6));
  shape.columns = static_cast<std::uint32_t>(columns);
  // A share q of wide stretches has a mean rate of 2^-columns (1 - q/2).
  const double share = 2 * (1 - std::ldexp(rate, static_cast<int>(columns)));
  if (share > 1e-6)
    shape.wide = std::min(RibbonLayer::wide_unit - 1,
                          static_cast<std::uint32_t>(std::ceil(share * RibbonLayer::wide_unit)));
  return shape;
}

bool is_last(std::uint64_t keys) { return keys <= last_keys; }

// Gives the shape its next layer, for so many keys; false if the list is the better place.
bool plan_layer(Shape& shape, unsigned number, std::uint64_t keys) {
  // One block is `columns` words and its marks one more; a listed key is one word.
  if (number == Ribbon::most_layers || keys <= shape.columns + 1) return false;
  const auto [shards, blocks] = layer_sizes[number];
  if (is_last(keys)) {
    shape.*shards = 1;
    shape.*blocks = (keys + last_spare_rows + word_bits - 1) / word_bits;
  } else {
    shape.*shards = (keys + shard_keys - 1) / shard_keys;
    const double rows = static_cast<double>(keys) / static_cast<double>(shape.*shards) / overload;
    shape.*blocks = static_cast<std::uint64_t>(std::llround(rows / word_bits));
  }
  return true;
}

}  // namespace

Result<Shape> Ribbon::plan(const Want& want) {
  if (auto sound = check_keys_and_rate(want); !sound) return sound.error();
  auto shape = shape_for_rate(want.keys, want.rate);
  if (!shape) return shape;
  std::uint64_t keys = want.keys;
  for (unsigned i = 0; plan_layer(*shape, i, keys); ++i) {
    const RibbonLayer made = layer(*shape, i);
    // About two rows in a thousand stay free.
    const double used = static_cast<double>(made.shards() * made.rows()) * 0.998;
    keys = is_last(keys) ? 0 : keys - std::min(keys, static_cast<std::uint64_t>(used));
  }
  shape->listed = keys;
  return shape;
}

namespace {

std::span<Hash> as_hashes(std::span<std::uint64_t> words) {
  static_assert(sizeof(Hash) == sizeof(std::uint64_t));
  return {reinterpret_cast<Hash*>(words.data()), words.size()};
}

std::span<Hash> without_repeats(std::span<Hash> keys) {
  std::sort(keys.begin(), keys.end());
  const auto end = std::unique(keys.begin(), keys.end());
  return keys.first(static_cast<std::size_t>(end - keys.begin()));
}

// How all layers are built.
struct Building {
  const Crew& crew;
  std::uint64_t scratch_bytes;  // the most to use; 0: no limit
  bool repeats;                 // there are some among the keys of the first layer: drop them
};

// One layer, solved; what it bumped is what the next one gets.
struct SolvedLayer {
  Memory words;
  std::vector<Hash> bumped;
  std::size_t repeats = 0;
};

// Calls each(worker, shard, its keys) for all shards, and after_pass(shards) when some are done.
template <class Each, class AfterPass>
Result<void> for_each_shard(const RibbonLayer& layer, const HashSource& source,
                            const Building& building, Each&& each, AfterPass&& after_pass) {
  // Five standard deviations above the mean.
  const double mean = static_cast<double>(source.size()) / static_cast<double>(layer.shards());
  const auto most = static_cast<std::uint64_t>(mean + 5 * std::sqrt(mean));
  const ShardCost cost{layer.shards(), most * sizeof(Hash),
                       most * sizeof(Hash) + layer.rows() * RibbonShardSolver::row_bytes};
  const auto passes =
      plan_passes(cost, source.size(), building.crew.workers(), building.scratch_bytes);
  if (!passes) return passes.error();
  for (std::uint64_t pass = 0; pass * passes->shards_at_once < layer.shards(); ++pass) {
    const ShardRange shards = passes->pass(pass, layer.shards());
    auto gathered = gather(
        source, shards, building.crew, [](Hash hash) { return hash.bits; },
        [&](std::uint64_t bits) { return layer.place({bits}).shard; });
    if (!gathered) return gathered.error();
    auto shared =
        building.crew.share(shards.count(), passes->workers, [&](unsigned worker, std::uint64_t i) {
          auto keys = as_hashes(gathered->shard(shards.first + i));
          if (building.repeats) keys = without_repeats(keys);
          each(worker, shards.first + i, keys);
        });
    if (!shared) return shared.error();
    after_pass(shards, *gathered);
  }
  return {};
}

Result<SolvedLayer> solve_layer(const RibbonLayer& layer, const HashSource& source,
                                const Building& building) {
  auto words = Memory::make(layer.words() * sizeof(std::uint64_t));
  if (!words) return words.error();
  const std::span<std::uint64_t> layer_words(
      reinterpret_cast<std::uint64_t*>(words->bytes().data()), layer.words());
  SolvedLayer solved;
  std::vector<std::unique_ptr<RibbonShardSolver>> solvers(building.crew.workers());
  std::vector<RibbonShardSolver::Tally> tallies(layer.shards());
  auto done = for_each_shard(
      layer, source, building,
      [&](unsigned worker, std::uint64_t shard, std::span<Hash> keys) {
        if (!solvers[worker]) solvers[worker] = std::make_unique<RibbonShardSolver>();
        tallies[shard] = solvers[worker]->solve(layer, shard, keys, layer_words);
      },
      [&](const ShardRange& shards, Gathered& gathered) {
        for (std::uint64_t shard = shards.first; shard < shards.end; ++shard) {
          const auto bumped = as_hashes(gathered.shard(shard)).first(tallies[shard].bumped);
          solved.bumped.insert(solved.bumped.end(), bumped.begin(), bumped.end());
          solved.repeats += tallies[shard].repeats;
        }
      });
  if (!done) return done.error();
  solved.words = std::move(*words);
  return solved;
}

struct Layers {
  Shape shape;
  std::vector<Memory> words;
  std::vector<std::uint64_t> listed;
  std::size_t repeats = 0;
};

// Solves layer after layer until none is left to bump, or the list takes the rest. The shape says
// how many different keys the source has.
Result<Layers> solve_layers(const Shape& shape, const HashSource& source, Building building) {
  Layers layers;
  layers.shape = shape;
  std::vector<Hash> bumped;
  std::uint64_t keys = shape.keys;
  bool listed = true;  // the source itself is what is left
  for (unsigned i = 0; plan_layer(layers.shape, i, keys); ++i) {
    const HashSource in_hand = i == 0 ? source : HashSource(std::span<const Hash>(bumped));
    auto solved = solve_layer(Ribbon::layer(layers.shape, i), in_hand, building);
    if (!solved) return solved.error();
    for (unsigned tries = 1; is_last(keys) && !solved->bumped.empty() && tries < last_tries;
         ++tries) {
      ++(layers.shape.*layer_sizes[i].blocks);
      solved = solve_layer(Ribbon::layer(layers.shape, i), in_hand, building);
      if (!solved) return solved.error();
    }
    layers.repeats += solved->repeats;
    layers.words.push_back(std::move(solved->words));
    bumped = std::move(solved->bumped);
    keys = bumped.size();
    listed = false;
    building.repeats = false;
  }
  if (listed)
    source.for_each(0, source.size(), [&](Hash hash) { layers.listed.push_back(hash.bits); });
  for (const Hash key : bumped) layers.listed.push_back(key.bits);
  std::sort(layers.listed.begin(), layers.listed.end());
  const std::size_t with_repeats = layers.listed.size();
  layers.listed.erase(std::unique(layers.listed.begin(), layers.listed.end()), layers.listed.end());
  layers.repeats += with_repeats - layers.listed.size();
  layers.shape.listed = layers.listed.size();
  return layers;
}

Result<Built<Ribbon>> join(const Layers& layers) {
  auto memory = Memory::make(Ribbon::bytes(layers.shape));
  if (!memory) return memory.error();
  auto next = memory->bytes().begin();
  for (const Memory& words : layers.words)
    next = std::copy(words.bytes().begin(), words.bytes().end(), next);
  const auto listed = std::as_bytes(std::span(layers.listed));
  std::copy(listed.begin(), listed.end(), next);
  return Built<Ribbon>{layers.shape, std::move(*memory)};
}

// How many different keys there are. The layer only divides the work.
Result<std::uint64_t> count_different(const Shape& shape, const HashSource& source,
                                      const Building& building) {
  Shape divided = shape;
  if (!plan_layer(divided, 0, source.size())) divided.shards_1 = divided.blocks_1 = 1;
  std::atomic<std::uint64_t> different = 0;
  auto done = for_each_shard(
      Ribbon::layer(divided, 0), source, building,
      [&](unsigned, std::uint64_t, std::span<Hash> keys) { different += keys.size(); },
      [](const ShardRange&, Gathered&) {});
  if (!done) return done.error();
  return different.load();
}

Result<Built<Ribbon>> build_ribbon(const HashSource& source, const Want& want, const Crew& crew) {
  auto shape = shape_for_rate(source.size(), want.rate);
  if (!shape) return shape.error();
  Building building{crew, want.scratch_bytes, false};
  auto layers = solve_layers(*shape, source, building);
  if (!layers) return layers.error();
  // Rows were planned for copies: take them out and begin again.
  if (layers->repeats != 0) {
    layers = Layers();
    building.repeats = true;
    const auto different = count_different(*shape, source, building);
    if (!different) return different.error();
    shape->keys = *different;
    layers = solve_layers(*shape, source, building);
    if (!layers) return layers.error();
  }
  return join(*layers);
}

}  // namespace

Result<Built<Ribbon>> Ribbon::build(const HashSource& source, const Want& want, const Crew& crew) {
  std::optional<Result<Built<Ribbon>>> built;
  if (!had_memory([&] { built.emplace(build_ribbon(source, want, crew)); }))
    return Error{Code::no_memory, "the system does not give the memory to build with"};
  return std::move(*built);
}

Result<void> Ribbon::check(const Shape& shape, std::uint64_t payload_bytes) {
  bool sound = shape.listed <= RibbonLayer::most_shards;
  bool ended = false;
  for (const auto& [shards, blocks] : layer_sizes) {
    sound = sound && RibbonLayer::sound(shape.*shards, shape.*blocks, shape.columns, shape.wide);
    // No layer after one that is not there.
    sound = sound && !(ended && shape.*shards != 0);
    ended = shape.*shards == 0;
  }
  if (!sound)
    return Error{Code::damaged, "a ribbon of " + std::to_string(shape.columns) + " columns, " +
                                    std::to_string(shape.shards_1) + " shards of " +
                                    std::to_string(shape.blocks_1) + " blocks and " +
                                    std::to_string(shape.listed) + " listed keys are not possible"};
  return check_length(id.name, bytes(shape), payload_bytes);
}

RibbonLayer Ribbon::layer(const Shape& shape, unsigned number) {
  const auto [shards, blocks] = layer_sizes[number];
  return {shape.*shards, shape.*blocks, shape.columns, shape.wide};
}

std::uint64_t Ribbon::bytes(const Shape& shape) {
  std::uint64_t words = shape.listed;
  for (unsigned i = 0; i < most_layers; ++i) words += layer(shape, i).words();
  return words * sizeof(std::uint64_t);
}

double Ribbon::expected_rate(const Shape& shape, std::uint64_t keys) {
  const RibbonLayer first = layer(shape, 0);
  if (keys == 0 || first.empty()) return 0;
  const double wide =
      static_cast<double>(first.wide_stretches()) / static_cast<double>(first.stretches());
  return std::ldexp(1 - wide / 2, -static_cast<int>(shape.columns));
}

Result<void> Ribbon::check_bits() const {
  const auto listed = list();
  for (std::size_t i = 1; i < listed.size(); ++i)
    if (listed[i - 1] >= listed[i])
      return Error{Code::damaged, "the list of a ribbon is not in order"};
  return {};
}

double Ribbon::rate_now() const {
  double rate = 0;
  double arriving = 1;  // share of the absent keys that come to this layer
  for (unsigned i = 0; i < depth_; ++i) {
    const RibbonLayer& layer = layers_[i];
    double bumped = 0;
    double passing = 0;
    for (std::uint64_t shard = 0; shard < layer.shards(); ++shard)
      for (std::uint64_t stretch = 0; stretch < layer.stretches(); ++stretch) {
        const std::uint64_t first = stretch * RibbonLayer::stretch_starts;
        const auto starts = std::min(RibbonLayer::stretch_starts, layer.starts() - first);
        const std::uint64_t* marks = words_ + at_[i] + layer.marks_at(shard);
        const std::uint64_t mark = marks[stretch / 32] >> (2 * (stretch % 32)) & 3;
        const auto gone = std::min(starts, RibbonLayer::bumped_below(mark));
        bumped += static_cast<double>(gone);
        passing += std::ldexp(static_cast<double>(starts - gone),
                              -static_cast<int>(layer.columns_of(stretch)));
      }
    const auto all = static_cast<double>(layer.shards() * layer.starts());
    rate += arriving * passing / all;
    arriving *= bumped / all;
  }
  return rate;
}

double Ribbon::fill_ratio() const {
  double rows = 0;
  for (unsigned i = 0; i < depth_; ++i)
    rows += static_cast<double>(layers_[i].shards() * layers_[i].rows());
  if (rows == 0) return shape_.keys != 0;
  return std::min(1.0,
                  static_cast<double>(shape_.keys - std::min(shape_.keys, shape_.listed)) / rows);
}

}  // namespace bloomery::inline v0::detail
