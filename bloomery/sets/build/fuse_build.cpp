#include <bloomery/detail/sets/build/fuse_build.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <string>

#include <bloomery/detail/hash/real.hpp>

namespace bloomery::inline v0::detail {
namespace {

// Small enough for the tables of a shard to stay in cache; large enough that its ends, which hold
// fewer keys, do not matter.
constexpr std::uint64_t most_shard_keys = std::uint64_t{1} << 20;
// Under one seed a shard of different keys fails once in nine at worst, at five keys.
constexpr unsigned most_shard_seeds = 32;
constexpr unsigned most_set_seeds = 8;
// Where a shard that failed is searched for equal hashes: a second seed is cheaper than a sort.
constexpr unsigned suspicious_attempt = 1;

// Seeds are multiples of the golden ratio: 0 first, then far apart.
constexpr std::uint64_t seed_number(unsigned i) { return i * remix_constants[0]; }

std::span<std::uint64_t> words_of(Memory& memory) {
  return {reinterpret_cast<std::uint64_t*>(memory.bytes().data()), memory.size() / 8};
}
std::span<const std::uint64_t> words_of(const Memory& memory) {
  return {reinterpret_cast<const std::uint64_t*>(memory.bytes().data()), memory.size() / 8};
}
std::span<std::uint32_t> halves_of(Memory& memory) {
  return {reinterpret_cast<std::uint32_t*>(memory.bytes().data()), memory.size() / 4};
}

// One shard, one seed. A word of the table:
//
//    63 ........................... 7   6       5 ..... 0
//    XOR of the `local` of its keys     open    how many keys
//
// A field is open until the sweep has come to its segment and all its keys are counted; open fields
// are never taken for single. Fewer than 32 keys may own a field, so that the count is exact and
// the XOR of one key is that key: no key is ever lost.
template <unsigned arity>
class Shard {
 public:
  Shard(const FuseShape& shape, std::uint64_t seed, FuseBuild::Scratch& scratch)
      : shape_(shape),
        seed_(seed),
        table_(words_of(scratch.table).data()),
        queue_(halves_of(scratch.queue).data()) {}

  // Counts and peels the keys, which come in the order of their segments. False: another seed.
  bool peel(std::span<const std::uint64_t> mixed) {
    const std::uint32_t segment_fields = std::uint32_t{1} << shape_.segment_bits;
    const auto end = static_cast<std::uint32_t>(shape_.shard_fields());
    std::fill_n(table_, (arity - 1) * segment_fields, open);
    for (std::uint32_t begin = 0; begin < end; begin += segment_fields) {
      if (begin < shape_.first_fields()) {
        std::fill_n(table_ + begin + (arity - 1) * segment_fields, segment_fields, open);
        if (!count(mixed, begin + segment_fields)) return false;
      }
      close(begin, begin + segment_fields);
      drain();
    }
    return peeled_ == mixed.size();
  }

  // The last key peeled is assigned first; its other fields are settled by then, or have no owner.
  // Afterwards the table holds the fingerprints to store.
  void assign() {
    // The first pass has left the table in L3 or memory; prefetch three segments ahead.
    const std::uint64_t ahead = std::uint64_t{3} << shape_.segment_bits;
    for (std::uint64_t i = peeled_; i-- > 0;) {
      __builtin_prefetch(table_ + i - std::min(i, ahead), 1);
      const std::uint64_t local = table_[queue_[i]];
      const std::uint64_t spread = fuse::spread(local, seed_);
      // The field's own word is still `local`, and is among those that are XORed below.
      std::uint64_t field = fuse::fingerprint(spread, shape_.width) ^ local;
      for (const std::uint32_t at : places(local, spread)) field ^= table_[at];
      table_[queue_[i]] = field;
    }
  }

 private:
  static constexpr std::uint64_t open = 64;
  static constexpr std::uint64_t too_many = 32;

  std::array<std::uint32_t, arity> places(std::uint64_t local, std::uint64_t spread) const {
    const auto first = static_cast<std::uint32_t>(fuse::first_place(shape_, local));
    return fuse::places<arity>(std::uint32_t{1} << shape_.segment_bits, first, spread);
  }

  static bool is_single(std::uint64_t word) { return (word & fuse::count_mask) == 1; }

  // Counts the keys that start before `end`.
  bool count(std::span<const std::uint64_t> mixed, std::uint32_t end) {
    std::uint64_t seen = 0;
    for (; counted_ < mixed.size(); ++counted_) {
      const std::uint64_t local = fuse::split(mixed[counted_], shape_.shards).local;
      const auto owned = places(local, fuse::spread(local, seed_));
      if (owned[0] >= end) break;
      for (const std::uint32_t at : owned) {
        table_[at] = (table_[at] ^ local) + 1;
        seen |= table_[at];
      }
    }
    return (seen & too_many) == 0;
  }

  void close(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t at = begin; at < end; ++at) {
      table_[at] -= open;
      queue_[queued_] = at;
      queued_ += is_single(table_[at]);
    }
  }

  // First in, first out: neighbours in the queue do not wait for each other. A field becomes single
  // once, so the queue never holds more than there are fields; what was peeled moves to its front.
  void drain() {
    for (; drained_ < queued_; ++drained_) {
      const std::uint32_t single = queue_[drained_];
      if (!is_single(table_[single])) continue;  // its key was peeled from another field
      const std::uint64_t local = table_[single] & ~fuse::count_mask;
      for (const std::uint32_t at : places(local, fuse::spread(local, seed_))) {
        table_[at] = (table_[at] ^ local) - 1;
        queue_[queued_] = at;
        queued_ += is_single(table_[at]);
      }
      table_[single] = local;  // assign() finds the key here
      queue_[peeled_++] = single;
    }
  }

  FuseShape shape_;
  std::uint64_t seed_;
  std::uint64_t* table_;
  std::uint32_t* queue_;
  std::uint64_t counted_ = 0;
  std::uint64_t queued_ = 0;
  std::uint64_t drained_ = 0;
  std::uint64_t peeled_ = 0;
};

template <class T>
void narrow(std::span<const std::uint64_t> table, std::byte* out) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto field = static_cast<T>(table[i]);
    std::memcpy(out + i * sizeof(T), &field, sizeof(T));
  }
}

// Fields side by side, from the first bit of `out` on, which is zero.
void pack(std::span<const std::uint64_t> table, unsigned width, std::byte* out) {
  if (width == 8) return narrow<std::uint8_t>(table, out);
  if (width == 16) return narrow<std::uint16_t>(table, out);
  if (width == 32) return narrow<std::uint32_t>(table, out);
  const auto put = [&](std::uint64_t word) {
    std::memcpy(out, &word, sizeof word);
    out += sizeof word;
  };
  std::uint64_t word = 0;
  unsigned used = 0;
  for (const std::uint64_t field : table) {
    word |= field << used;
    used += width;
    if (used < 64) continue;
    put(word);
    used -= 64;
    word = field >> (width - used);
  }
  if (used != 0) put(word);
}

// Counting sort: `each(visit)` calls visit(mixed) for the same values twice.
template <class Each, class Bucket>
void sort_by(std::uint64_t buckets, std::uint64_t* out, Each&& each, Bucket&& bucket) {
  std::vector<std::uint64_t> next(buckets + 1);
  each([&](std::uint64_t mixed) { ++next[bucket(mixed) + 1]; });
  for (std::uint64_t i = 1; i <= buckets; ++i) next[i] += next[i - 1];
  each([&](std::uint64_t mixed) { out[next[bucket(mixed)]++] = mixed; });
}

std::uint64_t segment_of(const FuseShape& shape, std::uint64_t mixed) {
  return mulhi(fuse::split(mixed, shape.shards).local, shape.segments);
}

// Keys in the order of their segments become sorted: segments follow each other as the keys do.
void sort_segments(const FuseShape& shape, std::span<std::uint64_t> in_order) {
  for (auto begin = in_order.begin(); begin != in_order.end();) {
    const std::uint64_t segment = segment_of(shape, *begin);
    const auto end = std::find_if(begin, in_order.end(), [&](std::uint64_t mixed) {
      return segment_of(shape, mixed) != segment;
    });
    std::sort(begin, end);
    begin = end;
  }
}

}  // namespace

// Segment length and load are fits to a search, from 10 to 10^6 keys, for the smallest table that
// peels nineteen times in twenty. The power of n pays for the ends of a shard, which fewer keys
// reach.
FuseShape plan_fuse(std::uint64_t keys, unsigned arity, unsigned width) {
  assert((arity == 3 || arity == 4) && "a key has three fields or four");
  FuseShape shape{.keys = keys, .arity = arity, .width = width};
  shape.shards = std::max<std::uint64_t>(1, (keys + most_shard_keys - 1) / most_shard_keys);
  // The fullest shard is three standard deviations above the mean; few are fuller, and other seeds
  // help those.
  const double mean =
      static_cast<double>(std::max<std::uint64_t>(keys, 1)) / static_cast<double>(shape.shards);
  const double most = shape.shards == 1 ? mean : mean + 3 * std::sqrt(mean);
  const double bits = 0.58 * real::log2(most) + (arity == 3 ? 1.38 : 0.5);
  const double fields_per_key =
      arity == 3 ? 1.105 + 8.8 * real::pow(most, -0.42) : 1.045 + 5.3 * real::pow(most, -0.375);
  shape.segment_bits = static_cast<std::uint32_t>(bits);
  const double segments = std::ceil(std::ldexp(most * fields_per_key, -int(shape.segment_bits)));
  shape.segments = std::max(1U, static_cast<std::uint32_t>(segments) - (arity - 1));
  return shape;
}

Result<void> FuseBuild::lay_out(std::uint64_t keys, std::uint64_t seed) {
  shape_ = plan_fuse(keys, order_.arity, order_.width);
  shape_.seed = seed;
  payload_ = {};
  auto memory = Memory::make(fuse::payload_bytes(shape_));
  if (!memory) return memory.error();
  payload_ = std::move(*memory);
  return {};
}

Result<void> FuseBuild::make_scratch(Scratch& scratch, std::uint64_t most_keys) const {
  const auto take = [](Memory& into, std::uint64_t bytes) -> Result<void> {
    auto memory = Memory::make(bytes);
    if (!memory) return memory.error();
    into = std::move(*memory);
    return {};
  };
  const std::uint64_t fields = shape_.shard_fields();
  // The queue is written one place past its end.
  if (auto got = take(scratch.in_order, most_keys * 8); !got) return got.error();
  if (auto got = take(scratch.table, fields * 8); !got) return got.error();
  if (auto got = take(scratch.queue, (fields + 1) * 4); !got) return got.error();
  return {};
}

template <class Each>
Result<void> FuseBuild::for_each_shard(const std::atomic<bool>& ended, Each&& each) {
  // The keys of a shard, five standard deviations above the mean, which repeats do not change by
  // much.
  const double mean = static_cast<double>(source_.size()) / static_cast<double>(shape_.shards);
  const auto most = static_cast<std::uint64_t>(mean + 5 * std::sqrt(mean));
  const bool alone = shape_.shards == 1;
  const ShardCost cost{shape_.shards, alone ? 0 : most * 8, most * 8 + shape_.shard_fields() * 12};
  const auto passes = plan_passes(cost, source_.size(), crew_.workers(), order_.scratch_bytes);
  if (!passes) return passes.error();
  const auto shard_of = [&](std::uint64_t mixed) { return mulhi(mixed, shape_.shards); };
  const auto mix = [&](Hash hash) { return fuse::mix(hash, shape_.seed); };
  for (std::uint64_t pass = 0; pass * passes->shards_at_once < shape_.shards && !ended; ++pass) {
    const ShardRange shards = passes->pass(pass, shape_.shards);
    std::uint64_t most_keys = source_.size();
    gathered_ = {};
    if (!alone) {
      auto gathered = gather(source_, shards, crew_, mix, shard_of);
      if (!gathered) return gathered.error();
      gathered_ = std::move(*gathered);
      most_keys = gathered_.most_keys();
    }
    std::vector<Scratch> scratches(passes->workers);
    std::uint64_t scratch_bytes = gathered_.bytes();
    for (Scratch& scratch : scratches) {
      if (auto made = make_scratch(scratch, most_keys); !made) return made.error();
      scratch_bytes += scratch.bytes();
    }
    peak_scratch_bytes_ = std::max(peak_scratch_bytes_, scratch_bytes);
    auto shared =
        crew_.share(shards.count(), passes->workers, [&](unsigned worker, std::uint64_t i) {
          if (!ended) each(shards.first + i, scratches[worker]);
        });
    if (!shared) return shared.error();
  }
  gathered_ = {};
  return {};
}

// The keys of a shard in the first scratch, by segment.
std::span<std::uint64_t> FuseBuild::in_segment_order(std::uint64_t shard, Scratch& scratch) {
  std::uint64_t* const out = words_of(scratch.in_order).data();
  const auto segment = [&](std::uint64_t mixed) { return segment_of(shape_, mixed); };
  if (shape_.shards == 1) {
    sort_by(
        shape_.segments, out,
        [&](auto&& visit) {
          source_.for_each(0, source_.size(),
                           [&](Hash hash) { visit(fuse::mix(hash, shape_.seed)); });
        },
        segment);
    return {out, source_.size()};
  }
  const auto keys = gathered_.shard(shard);
  sort_by(
      shape_.segments, out,
      [&](auto&& visit) {
        for (const std::uint64_t mixed : keys) visit(mixed);
      },
      segment);
  return {out, keys.size()};
}

std::span<std::uint64_t> FuseBuild::without_repeats(std::span<std::uint64_t> in_order) const {
  sort_segments(shape_, in_order);
  const auto end = std::unique(in_order.begin(), in_order.end());
  return in_order.first(static_cast<std::size_t>(end - in_order.begin()));
}

FuseBuild::Outcome FuseBuild::build_shard(std::uint64_t shard, Scratch& scratch) {
  auto mixed = in_segment_order(shard, scratch);
  if (repeats_) mixed = without_repeats(mixed);
  const auto attempt = [&]<unsigned arity>(std::uint64_t seed) {
    Shard<arity> tried(shape_, seed, scratch);
    if (!tried.peel(mixed)) return false;
    tried.assign();
    return true;
  };
  for (unsigned i = 0; i < most_shard_seeds; ++i) {
    const std::uint64_t seed = seed_number(i);
    if (shape_.arity == 3 ? attempt.operator()<3>(seed) : attempt.operator()<4>(seed)) {
      store(shard, seed, scratch);
      return Outcome::built;
    }
    if (i != suspicious_attempt || repeats_) continue;
    sort_segments(shape_, mixed);
    if (std::ranges::adjacent_find(mixed) != mixed.end()) return Outcome::repeats;
  }
  return Outcome::stuck;
}

void FuseBuild::store(std::uint64_t shard, std::uint64_t seed, const Scratch& scratch) {
  const std::uint64_t fields = shape_.shard_fields();
  assert((shape_.shards == 1 || fields % 64 == 0) && "shards share no word");
  std::byte* payload = payload_.bytes().data();
  std::memcpy(payload + shard * sizeof seed, &seed, sizeof seed);
  pack(words_of(scratch.table).first(fields), shape_.width,
       payload + fuse::seed_bytes(shape_) + fuse::field_byte(shard * fields, shape_.width));
}

// The worst that any shard says, whichever comes first: repeats settle it, so they end the rest.
Result<FuseBuild::Outcome> FuseBuild::build_shards() {
  std::atomic<bool> repeats = false;
  std::atomic<bool> stuck = false;
  auto done = for_each_shard(repeats, [&](std::uint64_t shard, Scratch& scratch) {
    const Outcome outcome = build_shard(shard, scratch);
    if (outcome == Outcome::repeats) repeats = true;
    if (outcome == Outcome::stuck) stuck = true;
  });
  if (!done) return done.error();
  return repeats ? Outcome::repeats : stuck ? Outcome::stuck : Outcome::built;
}

Result<std::uint64_t> FuseBuild::count_different() {
  std::atomic<std::uint64_t> different = 0;
  auto done = for_each_shard(false, [&](std::uint64_t shard, Scratch& scratch) {
    different += without_repeats(in_segment_order(shard, scratch)).size();
  });
  if (!done) return done.error();
  return different.load();
}

Result<void> FuseBuild::build_all() {
  std::uint64_t keys = source_.size();
  for (unsigned seeds_tried = 0; seeds_tried < most_set_seeds;) {
    if (auto laid = lay_out(keys, seed_number(seeds_tried)); !laid) return laid.error();
    const auto outcome = build_shards();
    if (!outcome) return outcome.error();
    if (*outcome == Outcome::built) return {};
    if (*outcome == Outcome::stuck) {
      ++seeds_tried;
      continue;
    }
    const auto different = count_different();
    if (!different) return different.error();
    keys = *different;
    repeats_ = true;
  }
  return Error{Code::impossible, "no fuse set can be built from these hashes with any of " +
                                     std::to_string(most_set_seeds) +
                                     " seeds: they are not random; hash the keys with another "
                                     "seed"};
}

}  // namespace bloomery::inline v0::detail
