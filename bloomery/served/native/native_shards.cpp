#include <bloomery/served/native/native_shards.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include <bloomery/bits/prefix_streams.hpp>
#include <bloomery/detail/sets/kinds/scalable.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

using Lengths = QuotientTable::Lengths;

// Eight shards from 16,384 keys on, so that the one that is rebuilt is a small part of all; then
// only large ones split, since each has some hundred bytes beside its table.
constexpr unsigned early_depth = 3;
constexpr std::uint64_t first_split = 1024;
constexpr std::uint64_t late_split = 32'768;
// What a chunk can carry with ease; shards that split at late_split stay below.
constexpr std::uint64_t most_shard_bytes = most_chunk_bytes / 2;
// A shard of its own: two allocations, the count of owners, the entry in the list, the counts by
// length. The same for a shard that has grown and for one that was loaded.
constexpr std::uint64_t bytes_beside_shard = 160;
// Beyond it a run of copies would crowd out its neighbours.
constexpr std::uint64_t most_copies = 255;
// What stands behind the last quotients of a multiset: all copies of a key, and a block of others.
std::uint32_t tail_for_copies(std::uint32_t slots) {
  return (static_cast<std::uint32_t>(most_copies) + QuotientTable::most_slots + slots - 1) / slots;
}
// As a multiset it has no rate: the length is given.
constexpr double any_rate = 1e9;

std::uint64_t split_at(unsigned depth) {
  return depth < early_depth ? first_split << depth : late_split;
}

Error full_for_memory() {
  return {Code::full, "the set cannot grow: it has all the memory that it may take"};
}

// What belongs below one of the 2^depth places of a table, as if the table began there.
class Slice {
 public:
  Slice(const QuotientTable& table, unsigned depth, std::uint64_t start)
      : reader_(table), depth_(depth), first_(start), last_(last_of(depth, start)) {}
  std::optional<Prefix> next() {
    for (auto prefix = reader_.next(); prefix; prefix = reader_.next()) {
      if (prefix->end() < first_) continue;
      if (prefix->start > last_) return std::nullopt;
      if (prefix->bits <= depth_) return Prefix{0, 0};
      return Prefix{depth_ == 0 ? prefix->start : prefix->start << depth_, prefix->bits - depth_};
    }
    return std::nullopt;
  }

 private:
  static std::uint64_t last_of(unsigned depth, std::uint64_t start) {
    return start | (~std::uint64_t{0} >> depth);
  }
  QuotientTable::Reader reader_;
  unsigned depth_;
  std::uint64_t first_, last_;
};

template <class Stream>
Lengths lengths_of(Stream stream) {
  Lengths held{};
  for (auto prefix = stream.next(); prefix; prefix = stream.next()) ++held[prefix->bits];
  return held;
}

std::uint64_t sum_of(const Lengths& held) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : held) sum += count;
  return sum;
}

std::uint64_t more_room(std::uint64_t room) { return room + room * 3 / 20 + 1; }

}  // namespace

// -- making ---------------------------------------------------------------------------------------

Result<PrefixShards> PrefixShards::make(const Law& law) {
  PrefixShards set(law);
  unsigned depth = 0;
  while (depth < first_depth && law.first_keys >> depth > late_split / 2) ++depth;
  const std::uint64_t room = std::clamp<std::uint64_t>(law.first_keys >> depth, 60, 1024);
  for (std::uint64_t i = 0; i < std::uint64_t{1} << depth; ++i) {
    auto table = set.table_for({}, {room, QuotientTable::least_quotient_bits, depth});
    if (!table) return table.error();
    set.put(std::make_unique<Shard>(std::move(*table), depth, depth == 0 ? 0 : i << (64 - depth)));
  }
  set.fill_directory();
  return set;
}

PrefixShards PrefixShards::to_load(const Law& law) {
  PrefixShards set(law);
  set.loaded_to_ = 0;
  return set;
}

Result<PrefixShards> PrefixShards::clone() const {
  PrefixShards set(law_);
  set.loaded_to_ = loaded_to_;
  for (const auto& shard : shards_) {
    auto table = shard->table.copy();
    if (!table) return table.error();
    set.put(std::make_unique<Shard>(std::move(*table), shard->depth, shard->start));
  }
  if (is_whole()) set.fill_directory();
  return set;
}

std::uint64_t PrefixShards::move_parts(const Mover& mover, std::uint64_t from) {
  for (std::size_t n = from; n < shards_.size(); ++n) {
    if (n != from && mover.should_stop(mover.host)) return n;
    mover.object(shards_[n]);
    shards_[n]->table.relocate(mover.moved, mover.host);
    if (is_whole()) enter_in_directory(*shards_[n]);
  }
  return 0;
}

std::uint64_t PrefixShards::bytes() const {
  return bytes_ + directory_.capacity() * sizeof(Shard*) + sizeof *this;
}

std::uint64_t PrefixShards::bytes_of(const Shard& shard) {
  return shard.table.memory().size() + sizeof(Shard) + bytes_beside_shard;
}

Result<QuotientTable> PrefixShards::table_for(const Lengths& held, const Target& target) const {
  Lengths kept = held;
  const unsigned fixed = law_.prefix_bits == 0 ? 0 : law_.prefix_bits - target.depth;
  if (fixed != 0) kept[fixed] += sum_of(held) == 0;
  const double rate = fixed != 0 ? any_rate : law_.rate;
  auto size = Scalable::plan_next(kept, rate, target.room, target.quotient_bits);
  if (!size) return size.error();
  if (fixed != 0) size->tail_blocks = tail_for_copies(size->slots);
  const unsigned longest = size->quotient_bits + size->field_bits - 1;
  if (fixed == 0 ? longest + target.depth > 64 : longest != fixed)
    return Error{Code::full, "so many keys are more than the hashes can tell apart at this rate"};
  return QuotientTable::make(*size);
}

void PrefixShards::put(std::unique_ptr<Shard> shard) {
  shard->room = Scalable::room(shard->table.size());
  entries_ += shard->table.entries();
  room_ += shard->room;
  bytes_ += bytes_of(*shard);
  shards_.push_back(std::move(shard));
}

void PrefixShards::take_over(Shard& shard, QuotientTable table) {
  entries_ -= shard.table.entries();
  room_ -= shard.room;
  bytes_ -= bytes_of(shard);
  shard.table = std::move(table);
  shard.room = Scalable::room(shard.table.size());
  entries_ += shard.table.entries();
  room_ += shard.room;
  bytes_ += bytes_of(shard);
}

void PrefixShards::fill_directory() {
  depth_ = 0;
  for (const auto& shard : shards_) depth_ = std::max(depth_, shard->depth);
  directory_.assign(std::size_t{1} << depth_, nullptr);
  for (const auto& shard : shards_) enter_in_directory(*shard);
}

void PrefixShards::enter_in_directory(Shard& shard) {
  const std::uint64_t first = place_of({shard.start});
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(first),
              std::size_t{1} << (depth_ - shard.depth), &shard);
}

// -- growing --------------------------------------------------------------------------------------

// Growing cannot help a shard that is less than half full and still has no slot for a key.
Result<void> PrefixShards::grow(Shard& shard, std::uint64_t memory_left) {
  const std::uint64_t entries = shard.table.entries();
  if (entries < shard.room / 2) return Error{Code::full, "the keys of the set crowd in one place"};
  if (entries >= split_at(shard.depth) && shard.depth < most_depth)
    return split(shard, memory_left);
  return lay_out(shard, shard.table.held(), more_room(shard.room), memory_left,
                 [&](QuotientTable& table) { return QuotientTable::pour(shard.table, table); });
}

// A larger table is tried where the prefixes happen to crowd.
template <class Pour>
Result<QuotientTable> PrefixShards::laid_out(const Lengths& held, Target target,
                                             Pour&& pour_into) const {
  for (int tries = 0; tries < 6; ++tries) {
    auto table = table_for(held, target);
    if (!table) return table.error();
    if (pour_into(*table)) return table;
    target.room = std::max(target.room, sum_of(held)) / 4 * 5 + 64;
  }
  return Error{Code::full, "the keys of the set crowd in one place"};
}

template <class Pour>
Result<void> PrefixShards::lay_out(Shard& shard, const Lengths& held, std::uint64_t room,
                                   std::uint64_t memory_left, Pour&& pour_into) {
  auto table = laid_out(held, {room, shard.table.size().quotient_bits, shard.depth}, pour_into);
  if (!table) return table.error();
  if (table->bytes_taken() > memory_left) return full_for_memory();
  take_over(shard, std::move(*table));
  return {};
}

Result<void> PrefixShards::split(Shard& shard, std::uint64_t memory_left) {
  const unsigned depth = shard.depth + 1;
  const unsigned quotient_bits =
      std::max(shard.table.size().quotient_bits - 1, QuotientTable::least_quotient_bits);
  const std::uint64_t half = std::uint64_t{1} << 63;
  std::array<Result<QuotientTable>, 2> made{Error{}, Error{}};
  for (const unsigned i : {0U, 1U}) {
    const Slice slice(shard.table, 1, i * half);
    const Lengths held = lengths_of(slice);
    made[i] = laid_out(held, {more_room(sum_of(held)), quotient_bits, depth},
                       [&](QuotientTable& table) { return pour(Slice(slice), table); });
    if (!made[i]) return made[i].error();
  }
  if (made[0]->bytes_taken() + made[1]->bytes_taken() + bytes_beside_shard > memory_left)
    return full_for_memory();
  // All memory is taken before anything changes: half of a split would lose keys.
  std::unique_ptr<Shard> second;
  std::vector<Shard*> wider;
  try {
    second = std::make_unique<Shard>(std::move(*made[1]), depth, shard.start | half >> (depth - 1));
    if (shards_.size() == shards_.capacity()) shards_.reserve(shards_.size() * 2);
    if (depth > depth_) wider.resize(directory_.size() * 2);
  } catch (const std::bad_alloc&) {
    return full_for_memory();
  }
  shard.depth = depth;
  take_over(shard, std::move(*made[0]));
  put(std::move(second));
  if (depth > depth_) {
    for (std::size_t i = 0; i < wider.size(); ++i) wider[i] = directory_[i / 2];
    directory_ = std::move(wider);
    ++depth_;
  }
  enter_in_directory(*shards_.back());
  return {};
}

// Step by step through the places of all hashes. Where the other is split more finely this is
// split as well; where less, a slice of the other is taken.
Result<void> PrefixShards::unite(const PrefixShards& other, std::uint64_t memory_left) {
  const std::uint64_t before = bytes();
  for (std::uint64_t at = 0;;) {
    Shard& mine = shard_of({at});
    const Shard& theirs = other.shard_of({at});
    const std::uint64_t taken = bytes() - std::min(before, bytes());
    const std::uint64_t left = memory_left - std::min(memory_left, taken);
    if (mine.depth < theirs.depth) {
      if (auto done = split(mine, left); !done) return done.error();
      continue;
    }
    const Slice slice(theirs.table, mine.depth - theirs.depth, at << theirs.depth);
    const auto either = [&] { return Either(QuotientTable::Reader(mine.table), slice); };
    const auto done = lay_out(mine, lengths_of(either()), 0, left,
                              [&](QuotientTable& table) { return pour(either(), table); });
    if (!done) return done.error();
    at = mine.start + (~std::uint64_t{0} >> mine.depth) + 1;
    if (mine.table.entries() > 2 * late_split && mine.depth < most_depth)
      if (auto halved = split(mine, left); !halved) return halved.error();
    if (at == 0) return {};
  }
}

Result<std::uint64_t> PrefixShards::compact(std::uint64_t place, std::uint64_t steps) {
  while (place < end_place) {
    Shard& shard = shard_of({place << 16});
    const std::uint64_t entries = shard.table.entries();
    auto table = laid_out(
        shard.table.held(),
        {std::max<std::uint64_t>(entries, 60), QuotientTable::least_quotient_bits, shard.depth},
        [&](QuotientTable& to) { return QuotientTable::pour(shard.table, to); });
    if (!table) return table.error();
    if (table->bytes_taken() < shard.table.bytes_taken()) take_over(shard, std::move(*table));
    place = (shard.start >> 16) + (end_place >> shard.depth);
    const std::uint64_t cost = entries / 2 + 64;
    if (cost >= steps) break;
    steps -= cost;
  }
  return place;
}

// -- the verbs ------------------------------------------------------------------------------------

AddOutcome PrefixShards::add(Hash hash, std::uint64_t memory_left) {
  for (;;) {
    Shard& shard = shard_of(hash);
    const std::uint64_t local = hash.bits << shard.depth;
    if (shard.table.entries() < shard.room) {
      std::size_t taken = 0;
      const bool fresh = shard.table.add_step(&local, 1, 0, &taken) != 0;
      entries_ += fresh;
      if (taken == 1) return fresh ? AddOutcome::fresh : AddOutcome::seen;
    } else if (shard.table.ask_step(&local, 1, 0) != 0) {
      return AddOutcome::seen;
    }
    if (auto grown = grow(shard, memory_left); !grown) return AddOutcome::no_memory;
  }
}

bool PrefixShards::may_contain(Hash hash) const {
  const Shard& shard = shard_of(hash);
  const std::uint64_t local = hash.bits << shard.depth;
  return shard.table.ask_step(&local, 1, 0) != 0;
}

AddOutcome PrefixShards::add_copy(Hash hash, std::uint64_t memory_left) {
  if (count(hash) >= most_copies) return AddOutcome::full;
  for (;;) {
    Shard& shard = shard_of(hash);
    if (shard.table.entries() < shard.room && shard.table.add_copy(hash.bits << shard.depth)) {
      ++entries_;
      return AddOutcome::fresh;
    }
    if (auto grown = grow(shard, memory_left); !grown) return AddOutcome::no_memory;
  }
}

bool PrefixShards::remove(Hash hash) {
  Shard& shard = shard_of(hash);
  const bool was_there = shard.table.remove(hash.bits << shard.depth);
  entries_ -= was_there;
  return was_there;
}

std::uint64_t PrefixShards::count(Hash hash) const {
  const Shard& shard = shard_of(hash);
  return shard.table.count(hash.bits << shard.depth);
}

double PrefixShards::covered() const {
  double sum = 0;
  for (const auto& shard : shards_)
    sum += std::ldexp(shard->table.covered(), -static_cast<int>(shard->depth));
  return sum;
}

// -- chunks ---------------------------------------------------------------------------------------

// A shard is five words and its table:
//    start >> 16 | depth | quotient_bits | slots | field_bits | table
std::uint64_t PrefixShards::dump(std::uint64_t place, ChunkWriter& writer) const {
  // While loading there is no directory, but the shards stand in order.
  const auto write = [&](const Shard& shard) {
    const auto& size = shard.table.size();
    writer.put(shard.start >> 16);
    for (const std::uint64_t word : {std::uint64_t{shard.depth}, std::uint64_t{size.quotient_bits},
                                     std::uint64_t{size.slots}, std::uint64_t{size.field_bits}})
      writer.put(word);
    writer.put_bytes(shard.table.memory().bytes());
    place = (shard.start >> 16) + (end_place >> shard.depth);
    return writer.size() + most_shard_bytes < most_chunk_bytes;
  };
  if (is_whole()) {
    while (place < end_place && write(shard_of({place << 16}))) {
    }
  } else {
    for (const auto& shard : shards_)
      if (shard->start >> 16 >= place && !write(*shard)) return place;
    return end_place;
  }
  return place;
}

Result<void> PrefixShards::load(ChunkReader& reader, std::uint64_t memory_left) {
  if (is_whole()) return damaged_chunk("all shards of the set are there already");
  const std::uint64_t before = bytes_;
  while (reader.left() != 0 && !is_whole()) {
    const std::uint64_t start = reader.word();
    const std::uint64_t depth = reader.word();
    const std::uint64_t quotient_bits = reader.word();
    const std::uint64_t slots = reader.word();
    const std::uint64_t field_bits = reader.word();
    if (start != loaded_to_ || depth > most_depth || start % (end_place >> depth) != 0)
      return damaged_chunk("a shard is not where the one before it ends");
    if (std::max({quotient_bits, slots, field_bits}) > 64)
      return damaged_chunk("a shard has a size that is not possible");
    QuotientTable::Size size{static_cast<std::uint32_t>(quotient_bits),
                             static_cast<std::uint32_t>(slots),
                             static_cast<std::uint32_t>(field_bits)};
    if (law_.prefix_bits != 0 && slots != 0) size.tail_blocks = tail_for_copies(size.slots);
    if (auto sound = QuotientTable::check(size); !sound) return sound.error();
    const std::uint64_t length = QuotientTable::bytes(size);
    if (length > most_chunk_bytes ||
        (law_.prefix_bits != 0 && depth + quotient_bits + field_bits - 1 != law_.prefix_bits))
      return damaged_chunk("a shard has a size that is not possible");
    const auto bytes = reader.bytes(length);
    if (bytes.size() != length) return damaged_chunk("a shard is cut off");
    if (bytes_ - before + length > memory_left) return full_for_memory();
    auto memory = Memory::copy_of(bytes);
    if (!memory) return memory.error();
    auto table = QuotientTable::open(size, std::move(*memory), law_.prefix_bits != 0);
    if (!table) return table.error();
    put(std::make_unique<Shard>(std::move(*table), static_cast<unsigned>(depth), start << 16));
    loaded_to_ = start + (end_place >> depth);
  }
  if (is_whole()) fill_directory();
  return {};
}

}  // namespace bloomery::inline v0::detail::served
