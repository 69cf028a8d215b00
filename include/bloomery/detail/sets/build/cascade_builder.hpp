// Makes a Cascade: first all allowed keys, then all blocked ones.
//
//    CascadeBuilder builder(want);
//    builder.allow_all(good);                                 in any number of spans
//    builder.block_all(bad);                                  an Error if one of them is allowed
//    Cascade set = std::move(builder).finish().value();
//
//    allowed   (hash, number) of each, sorted: 24 bytes a key, and a filter of ten bits a key
//    blocked   keys known in advance: straight into the filter
//              otherwise 8 bytes a key, sorted and counted at the end, so that the set depends only
//              on which keys there are
//
// Numbers count the keys of a list in the order in which they came, from 0: who knows what key 17
// was can name it.
// Limits:  lists take up to twice their bytes while they grow; reserve() spares that.
// Threads: one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <bloomery/detail/sets/bulk/groups.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/kinds/cascade.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

class CascadeBuilder {
 public:
  // want.keys may be 0: then the blocked keys are counted. want.allowed is counted in any case.
  explicit CascadeBuilder(const Want& want) : want_(want) {}

  // How many keys are likely to come.
  Result<void> reserve(std::uint64_t allowed, std::uint64_t blocked);

  // Code::unsound after the first blocked key.
  Result<void> allow_all(std::span<const WideHash> hashes);
  // Code::bad_input if one of them is allowed; conflict() then tells which. The builder cannot be
  // used after that.
  Result<void> block_all(std::span<const WideHash> hashes);
  template <KeySource<WideHash> Source>
  Result<void> allow_all(const Source& source) {
    return in_groups(source, [&](std::span<const WideHash> group) { return allow_all(group); });
  }
  template <KeySource<WideHash> Source>
  Result<void> block_all(const Source& source) {
    return in_groups(source, [&](std::span<const WideHash> group) { return block_all(group); });
  }

  // All of it at once.
  template <KeySource<WideHash> Blocked, KeySource<WideHash> Allowed>
  static Result<Cascade> build(const Want& want, const Blocked& blocked, const Allowed& allowed) {
    CascadeBuilder builder(want);
    if (auto done = builder.allow_all(allowed); !done) return done.error();
    if (auto done = builder.block_all(blocked); !done) return done.error();
    return std::move(builder).finish();
  }

  // The first blocked key that is allowed too, and the first allowed key that it equals.
  struct Conflict {
    std::uint64_t blocked = 0;
    std::uint64_t allowed = 0;
  };
  const std::optional<Conflict>& conflict() const { return conflict_; }

  Result<Cascade> finish() &&;

 private:
  struct Allowed {
    WideHash hash;
    std::uint64_t number;
    friend constexpr auto operator<=>(const Allowed&, const Allowed&) = default;
  };

  template <class Source, class Take>
  static Result<void> in_groups(const Source& source, Take&& take) {
    WideHash hashes[group_keys];
    for (std::size_t done = 0; done < source.size(); done += group_keys) {
      const std::size_t n = std::min(group_keys, source.size() - done);
      source.make(done, n, hashes);
      if (auto taken = take(std::span<const WideHash>(hashes, n)); !taken) return taken.error();
    }
    return {};
  }

  // The allowed keys are complete: sorts them and makes what blocked keys are held against.
  Result<void> end_allowed();
  Result<void> make_filter(std::uint64_t keys);
  std::optional<Conflict> find_conflict(std::span<const WideHash> hashes, std::span<const Hash>);
  Result<Memory> exceptions() const;

  Want want_;
  std::vector<Allowed> allowed_;
  std::optional<Cascade::Filter> likely_allowed_;  // none when nothing is allowed
  bool allowed_ended_ = false;
  std::vector<Hash> gathered_;  // blocked keys, when their number was not given
  std::optional<Cascade::Filter> filter_;
  double rate_asked_ = 0;
  std::uint64_t blocked_count_ = 0;  // repeats too
  std::optional<Conflict> conflict_;
};

}  // namespace bloomery::inline v0::detail
