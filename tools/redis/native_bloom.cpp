#include <tools/redis/native_bloom.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <bloomery/sets/plan.hpp>

namespace bloomery::redis {
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
  const double rate = planned_rate(want);
  if (want.window != 0) {
    auto window =
        Window::make({.keys = want.window, .rate = rate, .memory_bytes = want.memory_cap});
    if (!window) return window.error();
    set.window_.emplace(std::move(*window));
  } else if (want.nonscaling || want.capacity > smallest_reserved) {
    // Keys that were taken for old ones do not count as items: a little more than the capacity.
    const double more = 1 + rate / 4;
    const auto keys = static_cast<std::uint64_t>(static_cast<double>(want.capacity) * more);
    const double share = want.nonscaling ? 1 : reserved_share;
    auto blocked = Blocked::make({.keys = std::max(keys, want.capacity),
                                  .rate = rate * share,
                                  .memory_bytes = want.memory_cap});
    if (!blocked) return blocked.error();
    set.blocked_.emplace(std::move(*blocked));
  } else if (auto begun = set.begin_shards(); !begun) {
    return begun.error();
  }
  if (want.memory_cap != 0 && set.memory_usage() > want.memory_cap)
    return Error{Code::impossible, "that many keys at that rate do not fit that memory"};
  return set;
}

PrefixShards::Law NativeBloom::shards_law() const {
  const double rate = planned_rate(want_);
  if (!blocked_ && !loading_) return {.rate = rate, .first_keys = want_.capacity};
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
  if (!whole_) return Added::full;
  const Added added = window_ ? window_->add(hash) : add_hash(hash);
  items_ += added == Added::fresh;
  return added;
}

Added NativeBloom::add_hash(Hash hash) {
  if (blocked_) {
    if (shards_ == nullptr && blocked_->adds() < want_.capacity) return blocked_->add(hash);
    if (blocked_->may_contain(hash)) return Added::seen;
    if (want_.nonscaling) return Added::full;
    if (shards_ == nullptr)
      if (auto begun = begin_shards(); !begun) return Added::full;
  }
  return shards_->add(hash, memory_left());
}

bool NativeBloom::may_contain(std::string_view key) const {
  if (!whole_) return true;
  const Hash hash = want_.hasher(key);
  if (window_) return window_->may_contain(hash);
  if (blocked_ && blocked_->may_contain(hash)) return true;
  return shards_ != nullptr && shards_->may_contain(hash);
}

std::size_t NativeBloom::add_all(std::span<const std::string_view> keys, bool* fresh) {
  std::array<Hash, group_keys> hashes;
  std::size_t done = 0;
  while (whole_ && done < keys.size()) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    const std::size_t taken = add_group(std::span(hashes).first(n), fresh + done);
    done += taken;
    if (taken != n) break;
  }
  return done;
}

std::size_t NativeBloom::add_group(std::span<const Hash> hashes, bool* fresh) {
  const bool fits =
      blocked_ && shards_ == nullptr && blocked_->adds() + hashes.size() <= want_.capacity;
  if (window_ || fits) {
    auto added = window_ ? window_->add_all(hashes, fresh) : blocked_->add_all(hashes, fresh);
    if (!added) return 0;
    items_ += *added;
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

// The first of a group.
void NativeBloom::call_for(std::span<const Hash> hashes) const {
  if (blocked_)
    for (const Hash hash : hashes) blocked_->kind().prefetch(blocked_->kind().locate(hash));
  if (shards_ != nullptr)
    for (const Hash hash : hashes.first(std::min(sight, hashes.size()))) shards_->call_for(hash);
}

void NativeBloom::may_contain_all(std::span<const std::string_view> keys, bool* answers) const {
  if (!whole_) {
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
  if (!whole_) return {Code::full, "not all chunks of the set are loaded yet"};
  if (want_.nonscaling) return {Code::full, "non scaling filter is full"};
  return {Code::full, "the set can not grow beyond its " + std::to_string(memory_usage()) +
                          " bytes: no more memory is allowed or to be had"};
}

Result<void> NativeBloom::merge(const NativeBloom& other) {
  if (!whole_ || !other.whole_) return Error{Code::mismatch, "a set is not wholly loaded yet"};
  if (window_ || other.window_)
    return Error{Code::unsound, "windows can not be merged: they forget at different times"};
  if (want_.hasher != other.want_.hasher)
    return Error{Code::mismatch,
                 "the sets hash with different secrets; reserve one LIKE the other"};
  if (blocked_.has_value() != other.blocked_.has_value())
    return Error{Code::mismatch, "the sets were not reserved alike"};
  if (blocked_)
    if (auto fitting = blocked_->fits(*other.blocked_); !fitting) return fitting.error();
  if (want_.nonscaling && other.shards_ != nullptr)
    return Error{Code::mismatch, "the sets were not reserved alike"};
  if (other.shards_ != nullptr) {
    if (shards_ == nullptr)
      if (auto begun = begin_shards(); !begun) return begun.error();
    if (auto united = shards_->unite(*other.shards_, memory_left()); !united) return united.error();
  }
  if (blocked_)
    if (auto united = blocked_->unite(*other.blocked_); !united) return united.error();
  const std::uint64_t held =
      (blocked_ ? blocked_->adds() : 0) + (shards_ != nullptr ? shards_->entries() : 0);
  items_ = std::min(items_ + other.items_, held);
  return {};
}

// -- what it tells --------------------------------------------------------------------------------

std::uint64_t NativeBloom::memory_usage() const {
  std::uint64_t bytes = sizeof *this;
  if (loading_) bytes += loading_->payload.size();
  if (blocked_) bytes += blocked_->bytes();
  if (window_) bytes += window_->bytes();
  if (shards_ != nullptr) bytes += shards_->bytes();
  return bytes;
}

double NativeBloom::rate_now() const {
  if (!whole_) return 1;
  if (window_) return window_->expected_rate_now();
  const double reserved = blocked_ ? blocked_->expected_rate_now() : 0;
  const double grown = shards_ != nullptr ? shards_->covered() : 0;
  return 1 - (1 - reserved) * (1 - grown);
}

NativeBloom::Info NativeBloom::info() const {
  Info info{.bytes = memory_usage(),
            .items = items_,
            .expansion = want_.expansion,
            .nonscaling = want_.nonscaling,
            .window = want_.window,
            .rate_asked = want_.rate,
            .rate_now = rate_now(),
            .hardened = want_.hasher.mode() == HashMode::hardened};
  if (window_ || blocked_ || loading_)
    info.capacity = want_.window != 0 ? want_.window : want_.capacity;
  info.filters = window_ || blocked_ || loading_ ? 1 : 0;
  if (shards_ != nullptr) {
    info.capacity = std::max(want_.capacity, info.capacity + shards_->room());
    info.filters += shards_->shards();
  }
  const std::uint64_t keys = window_ ? std::min(items_, want_.window) : items_;
  if (keys != 0)
    info.bits_per_key = static_cast<double>(info.bytes) * 8 / static_cast<double>(keys);
  return info;
}

}  // namespace bloomery::redis
