#include <bloomery/detail/sets/build/cascade_builder.hpp>

#include <array>
#include <string>
#include <utility>

#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/sets/build/sorted_hashes.hpp>
#include <bloomery/sets/shown_bytes.hpp>

namespace bloomery::inline v0::detail {
namespace {

Hash filter_hash(WideHash hash) { return {hash.low}; }

Error no_memory() {
  return {Code::no_memory,
          "the system does not give the memory for the hashes of both lists: 24 bytes an allowed "
          "key, and 8 a blocked key unless their number is given"};
}

// Vectors say by an exception that memory ran out.
template <class Work>
Result<void> with_memory(Work&& work) {
  Result<void> done;
  return had_memory([&] { done = work(); }) ? done : no_memory();
}

}  // namespace

Result<void> CascadeBuilder::reserve(std::uint64_t allowed, std::uint64_t blocked) {
  return with_memory([&]() -> Result<void> {
    allowed_.reserve(allowed);
    if (want_.keys == 0) gathered_.reserve(blocked);
    return {};
  });
}

Result<void> CascadeBuilder::allow_all(std::span<const WideHash> hashes) {
  if (allowed_ended_)
    return Error{Code::unsound, "all allowed keys must be given before the first blocked one"};
  return with_memory([&]() -> Result<void> {
    for (const WideHash& hash : hashes) allowed_.push_back({hash, allowed_.size()});
    return {};
  });
}

Result<void> CascadeBuilder::end_allowed() {
  if (allowed_ended_) return {};
  allowed_ended_ = true;
  std::sort(allowed_.begin(), allowed_.end());
  const auto last =
      std::unique(allowed_.begin(), allowed_.end(),
                  [](const Allowed& one, const Allowed& other) { return one.hash == other.hash; });
  allowed_.erase(last, allowed_.end());
  want_.allowed = allowed_.size();
  if (!allowed_.empty()) {
    auto likely = Cascade::Filter::make({.keys = allowed_.size(), .rate = 0.01});
    if (!likely) return likely.error();
    likely_allowed_.emplace(std::move(*likely));
    for (const Allowed& allowed : allowed_) likely_allowed_->add(filter_hash(allowed.hash));
  }
  if (want_.keys != 0) return make_filter(want_.keys);
  return {};
}

Result<void> CascadeBuilder::make_filter(std::uint64_t keys) {
  Want want = want_;
  want.keys = std::max<std::uint64_t>(1, keys);
  const auto whole = complete<Cascade>(want);
  if (!whole) return whole.error();
  const auto shape = Cascade::plan(*whole);
  if (!shape) return shape.error();
  auto filter = Cascade::Filter::make({.keys = whole->keys, .rate = shape->filter_rate});
  if (!filter) return filter.error();
  filter_.emplace(std::move(*filter));
  rate_asked_ = whole->rate;
  return {};
}

std::optional<CascadeBuilder::Conflict> CascadeBuilder::find_conflict(
    std::span<const WideHash> hashes, std::span<const Hash> halves) {
  if (!likely_allowed_) return std::nullopt;
  std::array<bool, group_keys> likely;
  likely_allowed_->may_contain_all(halves, likely.data());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (!likely[i]) continue;
    const std::size_t place = place_in(std::span<const Allowed>(allowed_), hashes[i],
                                       [](const Allowed& allowed) { return allowed.hash; });
    if (place < allowed_.size() && allowed_[place].hash == hashes[i])
      return Conflict{blocked_count_ + i, allowed_[place].number};
  }
  return std::nullopt;
}

Result<void> CascadeBuilder::block_all(std::span<const WideHash> hashes) {
  if (auto ended = end_allowed(); !ended) return ended.error();
  std::array<Hash, group_keys> halves;
  for (std::size_t done = 0; done < hashes.size(); done += group_keys) {
    const auto group = hashes.subspan(done, std::min(group_keys, hashes.size() - done));
    for (std::size_t i = 0; i < group.size(); ++i) halves[i] = filter_hash(group[i]);
    const auto filtered = std::span<const Hash>(halves).first(group.size());
    conflict_ = find_conflict(group, filtered);
    if (conflict_)
      return Error{Code::bad_input, "blocked key number " + std::to_string(conflict_->blocked + 1) +
                                        " is allowed key number " +
                                        std::to_string(conflict_->allowed + 1) +
                                        " too; take it out of one of the lists"};
    blocked_count_ += group.size();
    if (filter_) {
      if (auto added = filter_->add_all(filtered, nullptr); !added) return added.error();
      continue;
    }
    auto gathered = with_memory([&]() -> Result<void> {
      gathered_.insert(gathered_.end(), filtered.begin(), filtered.end());
      return {};
    });
    if (!gathered) return gathered.error();
  }
  return {};
}

// The allowed keys that the filter matches, in the order of their hashes.
Result<Memory> CascadeBuilder::exceptions() const {
  std::vector<WideHash> listed;
  std::array<Hash, group_keys> halves;
  std::array<bool, group_keys> matched;
  for (std::size_t done = 0; done < allowed_.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, allowed_.size() - done);
    for (std::size_t i = 0; i < n; ++i) halves[i] = filter_hash(allowed_[done + i].hash);
    filter_->may_contain_all(std::span<const Hash>(halves).first(n), matched.data());
    for (std::size_t i = 0; i < n; ++i)
      if (matched[i]) listed.push_back(allowed_[done + i].hash);
  }
  return Memory::copy_of(std::as_bytes(std::span(listed)));
}

Result<Cascade> CascadeBuilder::finish() && {
  if (conflict_) return Error{Code::unsound, "a key is in both lists; no set can obey both"};
  if (auto ended = end_allowed(); !ended) return ended.error();
  likely_allowed_.reset();
  if (!filter_) {
    std::sort(gathered_.begin(), gathered_.end());
    gathered_.erase(std::unique(gathered_.begin(), gathered_.end()), gathered_.end());
    if (auto made = make_filter(gathered_.size()); !made) return made.error();
    if (auto added = filter_->add_all(gathered_, nullptr); !added) return added.error();
    gathered_ = {};
  }
  std::optional<Result<Memory>> list;
  if (auto done = with_memory([&]() -> Result<void> {
        list.emplace(exceptions());
        return {};
      });
      !done)
    return done.error();
  if (!*list) return list->error();
  const std::uint64_t bytes = filter_->bytes() + (*list)->size();
  if (want_.memory_bytes != 0 && bytes > want_.memory_bytes)
    return Error{Code::impossible, "filter and exceptions take " + detail::shown_bytes(bytes) +
                                       ", more than the " +
                                       detail::shown_bytes(want_.memory_bytes) + " allowed"};
  return Cascade(std::move(*filter_), std::move(**list), allowed_.size(), rate_asked_);
}

}  // namespace bloomery::inline v0::detail
