#include <bloomery/served/native/native_cuckoo.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>

#include <bloomery/detail/hash/xxh3.hpp>
#include <bloomery/served/native/in_order.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

constexpr double lowest_rate = 1e-9;
constexpr double highest_rate = 0.1;
constexpr std::uint64_t most_capacity = std::uint64_t{1} << 34;
// How far a set can grow beyond what was reserved, or when nothing was.
constexpr std::uint64_t most_growth = 64;
constexpr std::uint64_t grown_from_nothing = std::uint64_t{1} << 26;
constexpr unsigned least_prefix_bits = 16;
constexpr std::size_t group_keys = 256;

// Cursors: 0 head, 1 + place shards.
constexpr std::uint64_t end_cursor = 1 + PrefixShards::end_place;
// Behind the head of a list, as in native_bloom_chunks.cpp.
constexpr std::uint64_t listed_cursor = std::uint64_t{1} << 52;
static_assert(end_cursor < listed_cursor);

Result<void> check(const CuckooWant& want) {
  if (!(want.rate >= lowest_rate && want.rate < 1))
    return Error{Code::impossible, "the rate must be at least 1e-9 and less than 1"};
  if (want.capacity == 0 || want.capacity > most_capacity)
    return Error{Code::impossible, "the capacity must be between 1 and 2^34"};
  return {};
}

std::uint64_t most_items_of(const CuckooWant& want) {
  if (want.expansion == 0) return want.capacity;
  return std::max(want.capacity * most_growth, grown_from_nothing);
}

// n prefixes of L bits are n / 2^L of all hashes.
Result<PrefixShards::Law> law_of(const CuckooWant& want) {
  const double rate = std::min(want.rate, highest_rate);
  const double bits = std::ceil(std::log2(static_cast<double>(most_items_of(want)) / rate));
  if (bits > 60)
    return Error{Code::impossible, "64-bit hashes cannot hold that rate for so many keys"};
  return PrefixShards::Law{.rate = rate,
                           .prefix_bits = std::max(least_prefix_bits, static_cast<unsigned>(bits)),
                           .first_keys = want.capacity};
}

}  // namespace

Result<NativeCuckoo> NativeCuckoo::make(const CuckooWant& want) {
  if (auto sound = check(want); !sound) return sound.error();
  if (const auto law = law_of(want); !law) return law.error();
  return NativeCuckoo(want);
}

// From a list of hashes to tables. On an Error it stays a list.
Result<void> NativeCuckoo::lay_out() {
  const auto law = law_of(want_);
  if (!law) return law.error();
  auto shards = PrefixShards::make(*law);
  if (!shards) return shards.error();
  const Error no_room{Code::full, "the set has all the memory that it may take"};
  if (shards->bytes() > memory_left()) return no_room;
  for (const std::uint64_t bits : first_.all())
    if (!is_there(shards->add_copy({bits}, memory_left()))) return no_room;
  shards_ = std::make_unique<PrefixShards>(std::move(*shards));
  first_ = FirstHashes{};
  return {};
}

std::uint64_t NativeCuckoo::memory_left() const {
  if (want_.memory_cap == 0) return std::numeric_limits<std::uint64_t>::max() / 2;
  return want_.memory_cap - std::min(want_.memory_cap, memory_bytes());
}

// -- the verbs ------------------------------------------------------------------------------------

AddOutcome NativeCuckoo::add(std::string_view key) { return add_hash(want_.hasher(key)); }

// One copy more of what is there is an add like any other.
AddOutcome NativeCuckoo::add_hash(Hash hash) {
  if (!whole_) return AddOutcome::refused;
  if (items() >= most_items_of(want_)) return AddOutcome::full;
  if (is_listed()) {
    if (first_.size() < most_listed)
      return first_.add(hash) ? AddOutcome::fresh : AddOutcome::no_memory;
    if (auto done = lay_out(); !done) return AddOutcome::no_memory;
  }
  return shards_->add_copy(hash, memory_left());
}

AddOutcome NativeCuckoo::add_nx(std::string_view key) {
  const Hash hash = want_.hasher(key);
  if (whole_ && has(hash)) return AddOutcome::seen;
  return add_hash(hash);
}

bool NativeCuckoo::may_contain(std::string_view key) const {
  return !whole_ || has(want_.hasher(key));
}

// Calls act(i, hash) for every key of a whole set, with the memory of the next ones prefetched.
template <class Act>
void NativeCuckoo::each(std::span<const std::string_view> keys, Act&& act) const {
  std::array<Hash, group_keys> hashes;
  for (std::size_t done = 0; done < keys.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    const auto prefetch = [this](Hash hash) {
      if (!is_listed()) shards_->call_for(hash);
    };
    use_in_order(std::span(hashes).first(n), prefetch, [&](std::size_t i, Hash hash) {
      act(done + i, hash);
      return true;
    });
  }
}

void NativeCuckoo::add_all(std::span<const std::string_view> keys, const Adding& adding,
                           std::span<AddOutcome> answers) {
  cap_memory(adding.cap_bytes == UINT64_MAX ? 0 : adding.cap_bytes);
  if (keys.size() == 1) {
    answers[0] = adding.only_absent ? add_nx(keys[0]) : add(keys[0]);
    return;
  }
  if (!whole_) {
    std::ranges::fill(answers, AddOutcome::refused);
    return;
  }
  each(keys, [&](std::size_t i, Hash hash) {
    const bool stays = adding.only_absent && has(hash);
    answers[i] = stays ? AddOutcome::seen : add_hash(hash);
  });
}

void NativeCuckoo::may_contain_all(std::span<const std::string_view> keys,
                                   std::span<bool> answers) const {
  if (!whole_) {
    std::ranges::fill(answers, true);
    return;
  }
  each(keys, [&](std::size_t i, Hash hash) { answers[i] = has(hash); });
}

std::uint64_t NativeCuckoo::count(std::string_view key) const {
  if (!whole_) return 0;
  const Hash hash = want_.hasher(key);
  return is_listed() ? first_.count(hash) : shards_->count(hash);
}

bool NativeCuckoo::remove(std::string_view key) {
  if (!whole_) return false;
  const Hash hash = want_.hasher(key);
  const bool was_there = is_listed() ? first_.remove(hash) : shards_->remove(hash);
  removed_ += was_there;
  return was_there;
}

void NativeCuckoo::compact(const Compaction& part) {
  unfinished_.reset();
  if (!whole_) return;
  if (!is_listed()) {
    const auto next = shards_->compact(std::min(part.place, PrefixShards::end_place), part.steps);
    if (!next) return;
    if (*next != PrefixShards::end_place) {
      unfinished_ = {.place = *next};
      return;
    }
  }
  removed_ = 0;
}

std::uint64_t NativeCuckoo::move_parts(const Mover& mover, std::uint64_t from) {
  if (from == 0) first_.move(mover);
  if (shards_ == nullptr) return 0;
  if (from == 0) mover.object(shards_);
  return shards_->move_parts(mover, from);
}

// -- what it tells --------------------------------------------------------------------------------

std::uint64_t NativeCuckoo::memory_bytes() const {
  return sizeof *this + first_.bytes() + (shards_ ? shards_->bytes() : 0);
}

CuckooBody::Info NativeCuckoo::info() const {
  const std::uint64_t room = items() <= want_.capacity || is_listed()
                                 ? want_.capacity
                                 : std::max(items(), shards_->room());
  const std::uint64_t bucket_size = std::max(1U, want_.bucket_size);
  return {.bytes = memory_bytes(),
          .buckets = (room + bucket_size - 1) / bucket_size,
          .filters = is_listed() ? 1 : shards_->shards(),
          .keys = items(),
          .removed = removed_,
          .bucket_size = want_.bucket_size,
          .expansion = want_.expansion,
          .max_iterations = want_.max_iterations};
}

std::uint64_t NativeCuckoo::most_items() const { return most_items_of(want_); }

double NativeCuckoo::rate_now() const {
  if (!whole_) return 1;
  return is_listed() ? 0 : shards_->covered();
}

double NativeCuckoo::bits_per_key() const {
  if (items() == 0) return 0;
  return static_cast<double>(memory_bytes()) * 8 / static_cast<double>(items());
}

std::string NativeCuckoo::debug_line() const {
  const auto wide = [](std::uint64_t number) -> unsigned long long { return number; };
  char line[256];
  std::snprintf(line, sizeof line,
                "engine:native bytes:%llu items:%llu deletes:%llu filters:%llu most items:%llu "
                "rate asked:%g rate now:%g bits per item:%.2f hardened:%d",
                wide(memory_bytes()), wide(items()), wide(removed_), wide(info().filters),
                wide(most_items()), want_.rate, rate_now(), bits_per_key(),
                want_.hasher.mode() == HashMode::hardened ? 1 : 0);
  return line;
}

// -- chunks ---------------------------------------------------------------------------------------

Result<NativeCuckoo> NativeCuckoo::copy() const {
  NativeCuckoo set(want_);
  auto listed = first_.clone();
  if (!listed) return Error{Code::no_memory, "there is not enough memory for a copy"};
  set.first_ = std::move(*listed);
  if (!is_listed()) {
    auto shards = shards_->clone();
    if (!shards) return shards.error();
    set.shards_ = std::make_unique<PrefixShards>(std::move(*shards));
  }
  set.removed_ = removed_;
  set.whole_ = whole_;
  return set;
}

std::unique_ptr<FilterBody> NativeCuckoo::clone() const {
  auto twin = copy();
  if (!twin) return nullptr;
  return std::make_unique<NativeCuckoo>(std::move(*twin));
}

std::uint64_t NativeCuckoo::digest() const {
  std::uint64_t sum = 0;
  for_each_piece(*this, [&](std::uint64_t, std::string_view bytes) {
    sum = xxh3_64(bytes.data(), bytes.size(), sum);
  });
  return sum;
}

// head: rate | capacity | expansion | bucket size | iterations | hasher: 4 words | removed;
//       of a list also: how many hashes | the hashes, and that is all
std::string NativeCuckoo::head() const {
  ChunkWriter writer(ChunkKind::cuckoo);
  writer.put_real(want_.rate);
  writer.put(want_.capacity);
  writer.put(want_.expansion);
  writer.put(want_.bucket_size);
  writer.put(want_.max_iterations);
  writer.put_hasher(want_.hasher);
  writer.put(removed_);
  if (is_listed()) first_.write(writer);
  return std::move(writer).finish();
}

Piece NativeCuckoo::piece(std::uint64_t cursor) const {
  if (cursor > end_cursor) return {};
  if (cursor == 0) return {.next = is_listed() ? listed_cursor : 1, .own = head()};
  const std::uint64_t place = cursor - 1;
  if (is_listed() || place >= shards_->loaded_to()) return {};
  ChunkWriter writer(ChunkKind::shards);
  const std::uint64_t next = shards_->dump(place, writer);
  return {.next = 1 + next, .own = std::move(writer).finish()};
}

bool NativeCuckoo::is_first_chunk(std::string_view chunk) {
  const auto reader = ChunkReader::open(chunk);
  return reader && reader->kind() == ChunkKind::cuckoo;
}

Result<NativeCuckoo> NativeCuckoo::load(std::string_view first, std::uint64_t memory_cap) {
  auto reader = ChunkReader::open(first);
  if (!reader) return reader.error();
  if (reader->kind() != ChunkKind::cuckoo) return damaged_chunk("it is not the first of a dump");
  CuckooWant want;
  want.rate = reader->real();
  want.capacity = reader->word();
  const std::uint64_t expansion = reader->word();
  const std::uint64_t bucket_size = reader->word();
  const std::uint64_t max_iterations = reader->word();
  want.expansion = static_cast<std::uint32_t>(expansion);
  want.bucket_size = static_cast<std::uint32_t>(bucket_size);
  want.max_iterations = static_cast<std::uint32_t>(max_iterations);
  auto hasher = reader->hasher();
  if (!hasher) return hasher.error();
  want.hasher = *hasher;
  want.memory_cap = memory_cap;
  NativeCuckoo set(want);
  set.removed_ = reader->word();
  const bool listed = reader->left() != 0;
  if (listed) {
    auto hashes = FirstHashes::read(*reader, most_listed);
    if (!hashes) return hashes.error();
    set.first_ = std::move(*hashes);
  }
  if (!reader->ended_well() || std::max({expansion, bucket_size, max_iterations}) > 0xffff'ffff)
    return damaged_chunk("it describes a set that is not possible");
  if (auto sound = check(want); !sound) return sound.error();
  const auto law = law_of(want);
  if (!law) return law.error();
  if (listed) {
    if (set.items() > most_items_of(want)) return damaged_chunk("it lists too many hashes");
    return set;
  }
  set.shards_ = std::make_unique<PrefixShards>(PrefixShards::to_load(*law));
  set.whole_ = false;
  return set;
}

Result<void> NativeCuckoo::load_piece(std::uint64_t, std::string_view chunk) {
  auto reader = ChunkReader::open(chunk);
  if (!reader) return reader.error();
  if (reader->kind() != ChunkKind::shards)
    return damaged_chunk("it is the first of another dump, or of another kind");
  if (is_listed()) return damaged_chunk("the set has all its keys already");
  const std::uint64_t cap = want_.memory_cap == 0 ? most_loaded_bytes : want_.memory_cap;
  const std::uint64_t left = cap - std::min(cap, memory_bytes());
  if (auto done = shards_->load(*reader, left); !done) return done.error();
  if (!reader->ended_well()) return damaged_chunk("its length does not match its contents");
  whole_ = shards_->is_whole();
  return {};
}

}  // namespace bloomery::inline v0::detail::served
