#include <bloomery/sets/hash_set.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/hash/budget.hpp>

namespace bloomery {
namespace {

// Full at 7/8: beyond it the runs of entries that an add must push along grow long.
constexpr std::uint64_t room_for(std::uint64_t slots) { return slots - slots / 8; }
constexpr std::uint64_t slots_for(std::uint64_t keys) { return keys + keys / 7 + 1; }
constexpr std::uint64_t smallest_slots = 16;

}  // namespace

std::uint64_t HashSet::Shard::home(WideHash hash) const {
  return mulhi(hash.high << shard_bits, slots);
}

// Entries of the last homes may be pushed beyond them. A run at 7/8 full reaches some hundreds.
std::uint64_t HashSet::tail_slots(std::uint64_t slots) {
  return std::min<std::uint64_t>(slots, 64) + slots / 64;
}

// Slots for a shard's part of the keys, with four spreads of room: some get more than others.
std::uint64_t HashSet::planned_slots(std::uint64_t keys) {
  const double part = static_cast<double>(keys) / shard_count;
  return slots_for(static_cast<std::uint64_t>(part + 4 * std::sqrt(part)) + 1);
}

Result<HashSet::Shape> HashSet::plan(const Want& want) {
  if (want.keys > (std::uint64_t{1} << 50))
    return Error{Code::impossible, "a hash set of more than 2^50 keys is beyond any memory"};
  return Shape{want.keys};
}

Result<void> HashSet::check(const Shape& shape, std::uint64_t payload_bytes) {
  if (shape.keys > (std::uint64_t{1} << 50))
    return Error{Code::damaged, "a hash set of " + std::to_string(shape.keys) + " keys can not be"};
  return check_length(id.name, shape.keys * sizeof(WideHash), payload_bytes);
}

std::uint64_t HashSet::bytes(const Shape& shape) {
  const std::uint64_t slots = planned_slots(shape.keys);
  return shard_count * (slots + tail_slots(slots)) * sizeof(WideHash);
}

double HashSet::expected_rate(const Shape&, std::uint64_t keys) {
  return std::ldexp(static_cast<double>(keys), -128);
}

Result<HashSet> HashSet::make(const Want& want) {
  auto shape = plan(want);
  if (!shape) return shape.error();
  HashSet set;
  set.planned_keys_ = want.keys;
  set.memory_cap_ = want.memory_bytes;
  if (set.memory_cap_ != 0 && want.keys != 0 && bytes(*shape) > set.memory_cap_)
    return Error{Code::impossible, "a hash set of " + std::to_string(want.keys) + " keys takes " +
                                       std::to_string(bytes(*shape)) + " bytes, more than the " +
                                       std::to_string(set.memory_cap_) + " allowed"};
  return set;
}

Result<HashSet> HashSet::from_parts(Parts parts) {
  if (parts.form != Form::single || parts.parts.size() != 1 || parts.parts[0].kind != id.number)
    return Error{Code::mismatch, "the image does not hold a hash-set"};
  const Part& part = parts.parts[0];
  auto shape = decode_shape<HashSet>(part.shape);
  if (!shape) return shape.error();
  if (auto sound = check(*shape, part.payload.size()); !sound) return sound.error();
  auto set = make({.keys = std::max(part.capacity, shape->keys)});
  if (!set) return set;
  set->planned_keys_ = part.capacity;
  const std::span<const WideHash> sorted(reinterpret_cast<const WideHash*>(part.payload.data()),
                                         shape->keys);
  WideHash before{};
  for (const WideHash& hash : sorted) {
    if (hash <= before)
      return Error{Code::damaged, "the entries of a hash-set are not in rising order"};
    before = hash;
    if (set->add(hash) == Added::full) return set->full_error();
  }
  return set;
}

Parts HashSet::parts() const {
  Part part{
      .kind = id.number, .shape = encode_shape<HashSet>({count()}), .capacity = planned_keys_};
  part.adds = count();
  part.memory = Memory::make(count() * sizeof(WideHash)).value();
  auto* next = reinterpret_cast<WideHash*>(part.memory.bytes().data());
  for_each([&](const WideHash& hash) { *next++ = hash; });
  part.payload = part.memory.bytes();
  Parts parts;
  parts.parts.push_back(std::move(part));
  return parts;
}

Added HashSet::add(WideHash hash) {
  hash = nonzero(hash);
  return insert(shards_[shard_of(hash)], hash);
}

Added HashSet::add_shared(WideHash hash) {
  hash = nonzero(hash);
  const std::size_t shard = shard_of(hash);
  const std::lock_guard lock((*locks_)[shard]);
  return insert(shards_[shard], hash);
}

bool HashSet::contains(WideHash hash) const {
  hash = nonzero(hash);
  return find(shards_[shard_of(hash)], hash);
}

bool HashSet::may_contain_shared(WideHash hash) const {
  hash = nonzero(hash);
  const std::size_t shard = shard_of(hash);
  const std::lock_guard lock((*locks_)[shard]);
  return find(shards_[shard], hash);
}

bool HashSet::find(const Shard& shard, WideHash hash) {
  if (shard.slots == 0) return false;
  const std::span<const WideHash> entries = shard.entries();
  for (std::uint64_t i = shard.home(hash); i < entries.size(); ++i) {
    if (entries[i] == hash) return true;
    if (entries[i] == WideHash{} || entries[i] > hash) return false;
  }
  return false;
}

Added HashSet::insert(Shard& shard, WideHash hash) {
  for (;;) {
    if (shard.slots != 0) {
      const std::span<WideHash> entries = shard.entries();
      std::uint64_t at = shard.home(hash);
      while (at < entries.size() && entries[at] != WideHash{} && entries[at] < hash) ++at;
      if (at < entries.size() && entries[at] == hash) return Added::seen;
      if (shard.used < room_for(shard.slots)) {
        std::uint64_t end = at;
        while (end < entries.size() && entries[end] != WideHash{}) ++end;
        if (end < entries.size()) {
          std::memmove(&entries[at] + 1, &entries[at], (end - at) * sizeof(WideHash));
          entries[at] = hash;
          ++shard.used;
          return Added::fresh;
        }
      }
    }
    const std::uint64_t planned = planned_slots(planned_keys_);
    const std::uint64_t next =
        shard.slots == 0 ? std::max(smallest_slots, planned) : shard.slots + shard.slots / 4 + 1;
    if (!grow(shard, next)) return Added::full;
  }
}

// Lays the entries of one table out in a larger one; false if its tail is too short for them.
bool HashSet::lay_out(const Shard& from, Shard& to) {
  const std::span<WideHash> places = to.entries();
  std::uint64_t next = 0;
  for (const WideHash& entry : from.entries()) {
    if (entry == WideHash{}) continue;
    const std::uint64_t at = std::max(next, to.home(entry));
    if (at >= places.size()) return false;
    places[at] = entry;
    next = at + 1;
  }
  to.used = from.used;
  return true;
}

bool HashSet::grow(Shard& shard, std::uint64_t slots) {
  const std::atomic_ref total(*table_bytes_);
  for (;; slots += slots / 4 + 1) {
    // Booked before it is taken, so that shards that grow at once stay under the cap together.
    const std::uint64_t wanted = (slots + tail_slots(slots)) * sizeof(WideHash);
    const std::uint64_t booked = total.fetch_add(wanted, std::memory_order_relaxed) + wanted;
    auto memory = memory_cap_ != 0 && booked > memory_cap_ ? Result<Memory>(full_error())
                                                           : Memory::make(wanted);
    Shard larger;
    if (memory) larger = {std::move(*memory), slots, 0};
    const bool done = memory && lay_out(shard, larger);
    total.fetch_sub(done ? shard.table.size() : wanted, std::memory_order_relaxed);
    if (done) shard = std::move(larger);
    if (done || !memory) return done;
  }
}

Error HashSet::full_error() const {
  return {Code::full, "the exact set can not grow beyond its " + std::to_string(bytes()) +
                          " bytes: no more memory is allowed or to be had"};
}

namespace {

// How far ahead of the entry in hand the next table lines are called for.
constexpr std::size_t ahead = 16;
constexpr std::size_t line_bytes = 64;

}  // namespace

Result<std::size_t> HashSet::add_all(std::span<const WideHash> hashes, bool* fresh) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) {
      const WideHash next = hashes[i + ahead];
      const Shard& shard = shards_[shard_of(next)];
      if (shard.slots != 0) {
        // An add pushes the entries behind it along, often into the next cache line.
        const WideHash* const home = shard.entries().data() + shard.home(next);
        __builtin_prefetch(home, 1);
        __builtin_prefetch(home + line_bytes / sizeof(WideHash), 1);
      }
    }
    const Added added = add(hashes[i]);
    if (added == Added::full) return full_error();
    count += added == Added::fresh;
    if (fresh != nullptr) fresh[i] = added == Added::fresh;
  }
  return count;
}

void HashSet::may_contain_all(std::span<const WideHash> hashes, bool* answers) const {
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + ahead < hashes.size()) {
      const WideHash next = hashes[i + ahead];
      const Shard& shard = shards_[shard_of(next)];
      if (shard.slots != 0) __builtin_prefetch(shard.entries().data() + shard.home(next));
    }
    answers[i] = contains(hashes[i]);
  }
}

Result<void> HashSet::unite(const HashSet& other) {
  bool full = false;
  other.for_each([&](const WideHash& hash) { full = full || add(hash) == Added::full; });
  if (full) return full_error();
  return {};
}

// Takes a shard's kept entries out and lays them down again, each at its home or behind the one
// before it: removing an entry moves those behind it back towards their homes.
template <class Keep>
void HashSet::keep_if(Keep&& keep) {
  for (Shard& shard : shards_) {
    const std::span<WideHash> entries = shard.entries();
    std::vector<WideHash> kept;
    kept.reserve(shard.used);  // so that nothing can fail once entries are taken out
    for (WideHash& place : entries) {
      const WideHash entry = std::exchange(place, WideHash{});
      if (entry != WideHash{} && keep(entry)) kept.push_back(entry);
    }
    shard.used = kept.size();
    std::uint64_t next = 0;
    for (const WideHash& entry : kept) {
      const std::uint64_t at = std::max(next, shard.home(entry));
      entries[at] = entry;
      next = at + 1;
    }
  }
}

// A set's own tables can not be asked while keep_if empties them; the answer is known anyway.
Result<void> HashSet::intersect(const HashSet& other) {
  if (this == &other) return {};
  keep_if([&](const WideHash& hash) { return other.contains(hash); });
  return {};
}

Result<void> HashSet::subtract(const HashSet& other) {
  keep_if([&](const WideHash& hash) { return this != &other && !other.contains(hash); });
  return {};
}

std::uint64_t HashSet::count() const {
  std::uint64_t keys = 0;
  for (const Shard& shard : shards_) keys += shard.used;
  return keys;
}

std::uint64_t HashSet::bytes() const {
  return std::atomic_ref(*table_bytes_).load(std::memory_order_relaxed);
}

double HashSet::fill_ratio() const {
  std::uint64_t slots = 0;
  for (const Shard& shard : shards_) slots += shard.entries().size();
  return slots == 0 ? 0 : static_cast<double>(count()) / static_cast<double>(slots);
}

}  // namespace bloomery
