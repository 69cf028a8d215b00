#include <bloomery/served/native/native_bloom.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/served/native/in_order.hpp>

namespace bloomery::inline v0::detail::served {
namespace {

// Of the rate, for what was reserved; what grows beyond it has the rest.
constexpr double reserved_share = 0.85;
// Up to this many keys the whole set is one that grows.
constexpr std::uint64_t smallest_reserved = 4096;
constexpr double lowest_rate = 1e-9;
// As RedisBloom: a higher rate is a mistake.
constexpr double highest_rate = 0.25;
constexpr std::uint64_t most_capacity = std::uint64_t{1} << 40;

// Hashed together.
constexpr std::size_t group_keys = 256;

AddOutcome outcome_of(Added added) {
  return added == Added::fresh ? AddOutcome::fresh : AddOutcome::seen;
}

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
  return is_there(shards_->add(hash, memory_left()));
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
  return want_.memory_cap - std::min(want_.memory_cap, memory_bytes());
}

// -- the verbs ------------------------------------------------------------------------------------

AddOutcome NativeBloom::add(std::string_view key) {
  const Hash hash = want_.hasher(key);
  return state_ == State::laid_out ? add_laid_out(hash) : add_early(hash);
}

AddOutcome NativeBloom::add_laid_out(Hash hash) {
  const AddOutcome added = window_ ? outcome_of(window_->add(hash)) : add_hash(hash);
  items_ += added == AddOutcome::fresh;
  if (items_ == dense_from() && added == AddOutcome::fresh) tell_dense();
  return added;
}

// Before the set is laid out: to the list, or the add that makes it more than a list.
AddOutcome NativeBloom::add_early(Hash hash) {
  if (state_ == State::loading) return AddOutcome::refused;
  if (first_.contains(hash)) return AddOutcome::seen;
  if (want_.nonscaling && items_ >= want_.capacity) return AddOutcome::full;
  if (want_.window == 0 && first_.size() < most_listed) {
    if (!first_.add(hash)) return AddOutcome::no_memory;
    ++items_;
    return AddOutcome::fresh;
  }
  if (auto done = lay_out(); !done) return AddOutcome::no_memory;
  return add_laid_out(hash);
}

AddOutcome NativeBloom::add_hash(Hash hash) {
  if (blocked_) {
    if (shards_ == nullptr && std::max(held_by_bits(), items_) < want_.capacity)
      return outcome_of(blocked_->add(hash));
    if (blocked_->may_contain(hash)) return AddOutcome::seen;
    if (want_.nonscaling) return AddOutcome::full;
    if (shards_ == nullptr)
      if (auto begun = begin_shards(); !begun) return AddOutcome::no_memory;
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

std::size_t NativeBloom::add_all(std::span<const std::string_view> keys, std::uint64_t cap_bytes,
                                 std::span<AddOutcome> answers) {
  cap_memory(cap_bytes == UINT64_MAX ? 0 : cap_bytes);
  if (keys.size() == 1) {
    answers[0] = add(keys[0]);
    return 1;
  }
  std::array<Hash, group_keys> hashes;
  std::size_t done = 0;
  while (done < keys.size()) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    std::size_t early = 0;
    for (; early < n && state_ != State::laid_out; ++early) {
      answers[done + early] = add_early(hashes[early]);
      if (!is_there(answers[done + early])) return done + early + 1;
    }
    const auto rest = std::span(hashes).first(n).subspan(early);
    done += early + add_group(rest, answers.subspan(done + early));
    if (!is_there(answers[done - 1])) break;
  }
  return done;
}

// Stops at the first key that cannot be added; returns how many were answered.
std::size_t NativeBloom::add_group(std::span<const Hash> hashes, std::span<AddOutcome> answers) {
  if (hashes.empty()) return 0;
  const bool fits = blocked_ && shards_ == nullptr &&
                    std::max(held_by_bits(), items_) + hashes.size() <= want_.capacity;
  if (window_ || fits) {
    std::array<bool, group_keys> fresh;
    auto added =
        window_ ? window_->add_all(hashes, fresh.data()) : blocked_->add_all(hashes, fresh.data());
    if (!added) return answers[0] = AddOutcome::no_memory, 1;
    for (std::size_t i = 0; i < hashes.size(); ++i)
      answers[i] = fresh[i] ? AddOutcome::fresh : AddOutcome::seen;
    const bool was_sparse = items_ < dense_from();
    items_ += *added;
    if (was_sparse && items_ >= dense_from()) tell_dense();
    return hashes.size();
  }
  const auto prefetch = [this](Hash hash) {
    if (blocked_) blocked_->kind().prefetch(blocked_->kind().locate(hash));
    if (shards_ != nullptr) shards_->call_for(hash);
  };
  const std::size_t taken = use_in_order(hashes, prefetch, [&](std::size_t i, Hash hash) {
    answers[i] = add_hash(hash);
    items_ += answers[i] == AddOutcome::fresh;
    return is_there(answers[i]);
  });
  return std::min(taken + 1, hashes.size());
}

// With so many items nearly all pages of the bits have been written to.
void NativeBloom::tell_dense() const {
  const Part part = bits();
  host().is_dense(part.payload.data(), part.payload.size());
}

void NativeBloom::may_contain_all(std::span<const std::string_view> keys,
                                  std::span<bool> answers) const {
  if (keys.size() == 1) {
    answers[0] = may_contain(keys[0]);
    return;
  }
  if (state_ == State::loading) {
    std::ranges::fill(answers, true);
    return;
  }
  std::array<Hash, group_keys> hashes;
  for (std::size_t done = 0; done < keys.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, keys.size() - done);
    for (std::size_t i = 0; i < n; ++i) hashes[i] = want_.hasher(keys[done + i]);
    ask_group(std::span(hashes).first(n), answers.data() + done);
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
  use_in_order(
      hashes, [this](Hash hash) { shards_->call_for(hash); },
      [&](std::size_t i, Hash hash) {
        answers[i] |= shards_->may_contain(hash);
        return true;
      });
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

std::uint64_t NativeBloom::memory_bytes() const {
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

BloomBody::Info NativeBloom::info() const {
  const bool grows = !want_.nonscaling && want_.window == 0;
  Info info{.capacity = want_.window != 0 ? want_.window : want_.capacity,
            .bytes = memory_bytes(),
            .filters = shards_ != nullptr ? shards_->shards() : 0,
            .keys = items_,
            .expansion = grows ? std::optional(want_.expansion) : std::nullopt};
  if (shards_ == nullptr || is_blocked()) ++info.filters;
  if (shards_ != nullptr && items_ > want_.capacity)
    info.capacity = std::max(items_, (is_blocked() ? want_.capacity : 0) + shards_->room());
  return info;
}

double NativeBloom::bits_per_key() const {
  const std::uint64_t keys = want_.window != 0 ? std::min(items_, want_.window) : items_;
  return keys == 0 ? 0 : static_cast<double>(memory_bytes()) * 8 / static_cast<double>(keys);
}

std::vector<std::string> NativeBloom::debug_lines() const {
  const auto wide = [](std::uint64_t number) -> unsigned long long { return number; };
  const Info figures = info();
  char line[256];
  std::snprintf(line, sizeof line,
                "engine:native bytes:%llu filters:%llu capacity:%llu window:%llu rate asked:%g "
                "rate now:%g bits per item:%.2f hardened:%d",
                wide(figures.bytes), wide(figures.filters), wide(figures.capacity),
                wide(want_.window), want_.rate, rate_now(), bits_per_key(),
                want_.hasher.mode() == HashMode::hardened ? 1 : 0);
  return {"size:" + std::to_string(items_), line};
}

}  // namespace bloomery::inline v0::detail::served
