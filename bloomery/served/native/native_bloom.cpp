#include <bloomery/served/native/native_bloom.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

// Of the rate, for what was reserved; what grows beyond it has the rest.
constexpr double reserved_share = 0.85;
// Up to this many keys the whole set is one that grows.
constexpr std::uint64_t smallest_reserved = 4096;
constexpr double lowest_rate = 1e-9;
// As RedisBloom: higher rates are asked for by mistake.
constexpr double highest_rate = 0.25;
constexpr std::uint64_t most_capacity = std::uint64_t{1} << 40;

// How far ahead of their turn the blocks of keys are called for.
constexpr std::size_t sight = 32;
// Hashed together.
constexpr std::size_t group_keys = 256;

double planned_rate(const BloomWant& want) { return std::min(want.rate, highest_rate); }

}  // namespace

Result<void> check(const BloomWant& want) {
  if (!(want.rate >= lowest_rate && want.rate < 1))
    return Error{Code::impossible, "the rate must be at least 1e-9 and less than 1"};
  if (want.capacity == 0 || want.capacity > most_capacity || want.window > most_capacity)
    return Error{Code::impossible, "the capacity must be between 1 and 2^40"};
  return {};
}

// -- making ---------------------------------------------------------------------------------------

Result<NativeBloom> NativeBloom::make(const BloomWant& want) {
  if (auto sound = check(want); !sound) return sound.error();
  NativeBloom set(want);
  const auto bytes = set.planned_bytes();
  if (!bytes) return bytes.error();
  if (want.memory_cap != 0 && sizeof set + *bytes > want.memory_cap)
    return Error{Code::impossible, "that many keys at that rate do not fit that memory"};
  return set;
}

bool NativeBloom::is_blocked() const {
  return want_.window == 0 && (want_.nonscaling || want_.capacity > smallest_reserved);
}

// Keys that were taken for old ones do not count as items: a little more than the capacity.
Want NativeBloom::blocked_want() const {
  const double rate = planned_rate(want_);
  const double more = 1 + rate / 4;
  const auto keys = static_cast<std::uint64_t>(static_cast<double>(want_.capacity) * more);
  const double share = want_.nonscaling ? 1 : reserved_share;
  return {.keys = std::max(keys, want_.capacity), .rate = rate * share};
}

Result<BlockedBloom::Shape> NativeBloom::blocked_shape() const {
  if (blocked_) return blocked_->kind().shape();
  return BlockedBloom::plan(blocked_want());
}

// What the set will take when it is laid out; tables that grow begin small.
Result<std::uint64_t> NativeBloom::planned_bytes() const {
  if (want_.window != 0) {
    auto shape = WindowBloom::plan({.keys = want_.window, .rate = planned_rate(want_)});
    if (!shape) return shape.error();
    return WindowBloom::bytes(*shape);
  }
  if (!is_blocked()) return 0;
  auto shape = blocked_shape();
  if (!shape) return shape.error();
  return BlockedBloom::bytes(*shape);
}

Result<void> NativeBloom::begin_tables() {
  if (want_.window == 0 && !is_blocked()) return begin_shards();
  if (const auto bytes = planned_bytes(); !bytes || *bytes > memory_left())
    return Error{Code::full, "the set has all the memory that it may take"};
  if (want_.window != 0) {
    auto window = Window::make({.keys = want_.window, .rate = planned_rate(want_)});
    if (!window) return window.error();
    window_ = std::make_unique<Window>(std::move(*window));
  } else {
    auto blocked = Blocked::make(blocked_want());
    if (!blocked) return blocked.error();
    blocked_ = std::make_unique<Blocked>(std::move(*blocked));
  }
  return {};
}

void NativeBloom::drop_tables() {
  blocked_.reset();
  window_.reset();
  shards_.reset();
}

// From a list of hashes to what the set was planned as. On an Error it stays a list.
Result<void> NativeBloom::lay_out() {
  if (state_ != State::listed) return {};
  if (auto begun = begin_tables(); !begun) return begun.error();
  for (const std::uint64_t bits : first_.all()) {
    if (!add_listed({bits})) {
      drop_tables();
      return Error{Code::full, "the set cannot grow: it has all the memory that it may take"};
    }
  }
  first_ = FirstHashes{};
  state_ = State::laid_out;
  return {};
}

// A hash that was listed, here or in a set that is merged: whatever was reserved, it is taken.
bool NativeBloom::add_listed(Hash hash) {
  if (blocked_) {
    static_cast<void>(blocked_->add(hash));
    return true;
  }
  return shards_->add(hash, memory_left()) != Added::full;
}

PrefixShards::Law NativeBloom::shards_law() const {
  const double rate = planned_rate(want_);
  if (!is_blocked()) return {.rate = rate, .first_keys = want_.capacity};
  return {.rate = rate * (1 - reserved_share), .first_keys = want_.capacity / 8};
}

Result<void> NativeBloom::begin_shards() {
  auto shards = PrefixShards::make(shards_law());
  if (!shards) return shards.error();
  if (shards->bytes() > memory_left())
    return Error{Code::full, "the set has all the memory that it may take"};
  shards_ = std::make_unique<PrefixShards>(std::move(*shards));
  return {};
}

std::uint64_t NativeBloom::memory_left() const {
  if (want_.memory_cap == 0) return std::numeric_limits<std::uint64_t>::max() / 2;
  return want_.memory_cap - std::min(want_.memory_cap, memory_usage());
}

// -- the verbs ------------------------------------------------------------------------------------

Added NativeBloom::add(std::string_view key) {
  const Hash hash = want_.hasher(key);
  if (state_ != State::laid_out) return add_early(hash);
  const Added added = window_ ? window_->add(hash) : add_hash(hash);
  items_ += added == Added::fresh;
  if (items_ == dense_from() && added == Added::fresh) tell_dense();
  return added;
}

// Before the set is laid out: to the list, or the add that makes it more than a list.
Added NativeBloom::add_early(Hash hash) {
  if (state_ == State::loading) return Added::full;
  if (first_.contains(hash)) return Added::seen;
  if (want_.nonscaling && items_ >= want_.capacity) return Added::full;
  if (want_.window == 0 && first_.size() < most_listed) {
    if (!first_.add(hash)) return Added::full;
    ++items_;
    return Added::fresh;
  }
  if (auto done = lay_out(); !done) return Added::full;
  const Added added = window_ ? window_->add(hash) : add_hash(hash);
  items_ += added == Added::fresh;
  return added;
}

Added NativeBloom::add_hash(Hash hash) {
  if (blocked_) {
    if (shards_ == nullptr && std::max(held_by_bits(), items_) < want_.capacity)
      return blocked_->add(hash);
    if (blocked_->may_contain(hash)) return Added::seen;
    if (want_.nonscaling) return Added::full;
    if (shards_ == nullptr)
      if (auto begun = begin_shards(); !begun) return Added::full;
  }
  return shards_->add(hash, memory_left());
}

bool NativeBloom::may_contain(std::string_view key) const {
  const Hash hash = want_.hasher(key);
  if (state_ != State::laid_out) return state_ == State::loading || first_.contains(hash);
  if (window_) return window_->may_contain(hash);
  if (blocked_ && blocked_->may_contain(hash)) return true;
  return shards_ != nullptr && shards_->may_contain(hash);
}

std::size_t NativeBloom::add_all(std::span<const std::string_view> keys, bool* fresh) {
  std::array<Hash, group_keys> hashes;
  std::size_t done = 0;
  while (done < keys.size()) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    std::size_t taken = 0;
    for (; taken < n && state_ != State::laid_out; ++taken) {
      const Added added = add_early(hashes[taken]);
      if (added == Added::full) return done + taken;
      fresh[done + taken] = added == Added::fresh;
    }
    taken += add_group(std::span(hashes).first(n).subspan(taken), fresh + done + taken);
    done += taken;
    if (taken != n) break;
  }
  return done;
}

std::size_t NativeBloom::add_group(std::span<const Hash> hashes, bool* fresh) {
  if (hashes.empty()) return 0;
  const bool fits = blocked_ && shards_ == nullptr &&
                    std::max(held_by_bits(), items_) + hashes.size() <= want_.capacity;
  if (window_ || fits) {
    auto added = window_ ? window_->add_all(hashes, fresh) : blocked_->add_all(hashes, fresh);
    if (!added) return 0;
    const bool was_sparse = items_ < dense_from();
    items_ += *added;
    if (was_sparse && items_ >= dense_from()) tell_dense();
    return hashes.size();
  }
  call_for(hashes);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (shards_ != nullptr && i + sight < hashes.size()) shards_->call_for(hashes[i + sight]);
    const Added added = add_hash(hashes[i]);
    if (added == Added::full) return i;
    fresh[i] = added == Added::fresh;
    items_ += fresh[i];
  }
  return hashes.size();
}

// With so many items nearly all pages of the bits have been written to.
void NativeBloom::tell_dense() const {
  const Part part = bits();
  host().is_dense(part.payload.data(), part.payload.size());
}

// The first of a group.
void NativeBloom::call_for(std::span<const Hash> hashes) const {
  if (blocked_)
    for (const Hash hash : hashes) blocked_->kind().prefetch(blocked_->kind().locate(hash));
  if (shards_ != nullptr)
    for (const Hash hash : hashes.first(std::min(sight, hashes.size()))) shards_->call_for(hash);
}

void NativeBloom::may_contain_all(std::span<const std::string_view> keys, bool* answers) const {
  if (state_ == State::loading) {
    std::fill_n(answers, keys.size(), true);
    return;
  }
  std::array<Hash, group_keys> hashes;
  for (std::size_t done = 0; done < keys.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    ask_group(std::span(hashes).first(n), answers + done);
  }
}

void NativeBloom::ask_group(std::span<const Hash> hashes, bool* answers) const {
  std::fill_n(answers, hashes.size(), false);
  if (state_ == State::listed) {
    std::ranges::transform(hashes, answers, [&](Hash hash) { return first_.contains(hash); });
    return;
  }
  if (window_) return window_->may_contain_all(hashes, answers);
  if (blocked_) blocked_->may_contain_all(hashes, answers);
  if (shards_ == nullptr) return;
  for (const Hash hash : hashes.first(std::min(sight, hashes.size()))) shards_->call_for(hash);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i + sight < hashes.size()) shards_->call_for(hashes[i + sight]);
    answers[i] |= shards_->may_contain(hashes[i]);
  }
}

Error NativeBloom::full_error() const {
  if (!is_whole()) return {Code::full, "not all chunks of the set are loaded yet"};
  if (is_at_capacity()) return {Code::full, "non scaling filter is full"};
  return {Code::full, "the set cannot grow beyond its " + std::to_string(memory_usage()) +
                          " bytes: no more memory is allowed or to be had"};
}

// Both are whole, hash alike, and were reserved alike.
Result<void> NativeBloom::merges_with(const NativeBloom& other) const {
  if (!is_whole() || !other.is_whole())
    return Error{Code::mismatch, "a set is not wholly loaded yet"};
  if (want_.window != 0 || other.want_.window != 0)
    return Error{Code::unsound, "windows cannot be merged: they forget at different times"};
  if (want_.hasher != other.want_.hasher)
    return Error{Code::mismatch,
                 "the sets hash with different secrets; reserve one LIKE the other"};
  if (is_blocked() != other.is_blocked())
    return Error{Code::mismatch, "the sets were not reserved alike"};
  if (is_blocked()) {
    const auto mine = blocked_shape(), theirs = other.blocked_shape();
    if (!mine) return mine.error();
    if (!theirs) return theirs.error();
    if (const std::string difference = shape_difference<BlockedBloom>(*mine, *theirs);
        !difference.empty())
      return Error{Code::mismatch, "the sets have different shapes: " + difference};
  }
  if (want_.nonscaling && other.shards_ != nullptr)
    return Error{Code::mismatch, "the sets were not reserved alike"};
  return {};
}

Result<void> NativeBloom::merge(const NativeBloom& other) {
  if (auto fitting = merges_with(other); !fitting) return fitting.error();
  if (other.state_ == State::listed && other.first_.size() == 0) return {};
  if (auto done = lay_out(); !done) return done.error();
  for (const std::uint64_t bits : other.first_.all())
    if (!add_listed({bits}))
      return Error{Code::full, "the set cannot grow: it has all the memory that it may take"};
  if (other.shards_ != nullptr) {
    if (shards_ == nullptr)
      if (auto begun = begin_shards(); !begun) return begun.error();
    if (auto united = shards_->unite(*other.shards_, memory_left()); !united) return united.error();
  }
  if (other.blocked_)
    if (auto united = blocked_->unite(*other.blocked_); !united) return united.error();
  const std::uint64_t held = held_by_bits() + (shards_ != nullptr ? shards_->entries() : 0);
  items_ = std::min(items_ + other.items_, held);
  return {};
}

std::uint64_t NativeBloom::move_parts(const Mover& mover, std::uint64_t from) {
  if (from == 0) first_.move(mover);
  if (shards_ == nullptr) return 0;
  if (from == 0) mover.object(shards_);
  return shards_->move_parts(mover, from);
}

// -- what it tells --------------------------------------------------------------------------------

std::uint64_t NativeBloom::memory_usage() const {
  std::uint64_t bytes = sizeof *this + first_.bytes();
  if (loading_) bytes += sizeof(Loading) + loading_->part.memory.size();
  if (blocked_) bytes += sizeof(Blocked) + blocked_->bytes();
  if (window_) bytes += sizeof(Window) + window_->bytes();
  if (shards_ != nullptr) bytes += shards_->bytes();
  return bytes;
}

double NativeBloom::rate_now() const {
  if (!is_whole()) return 1;
  if (state_ == State::listed) return 0;
  if (window_) return window_->expected_rate_now();
  const double reserved = blocked_ ? blocked_->expected_rate_now() : 0;
  const double grown = shards_ != nullptr ? shards_->covered() : 0;
  return 1 - (1 - reserved) * (1 - grown);
}

// The capacity is what was reserved, and beyond it what there is room for now.
NativeBloom::Info NativeBloom::info() const {
  Info info{.capacity = want_.window != 0 ? want_.window : want_.capacity,
            .bytes = memory_usage(),
            .filters = shards_ != nullptr ? shards_->shards() : 0,
            .items = items_,
            .expansion = want_.expansion,
            .nonscaling = want_.nonscaling,
            .window = want_.window,
            .rate_asked = want_.rate,
            .rate_now = rate_now(),
            .hardened = want_.hasher.mode() == HashMode::hardened};
  if (shards_ == nullptr || is_blocked()) ++info.filters;
  if (shards_ != nullptr && items_ > want_.capacity)
    info.capacity = std::max(items_, (is_blocked() ? want_.capacity : 0) + shards_->room());
  const std::uint64_t keys = want_.window != 0 ? std::min(items_, want_.window) : items_;
  if (keys != 0)
    info.bits_per_key = static_cast<double>(info.bytes) * 8 / static_cast<double>(keys);
  return info;
}

}  // namespace bloomery::inline v0::detail::served
