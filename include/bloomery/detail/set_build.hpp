// Set<Kind>::build: sets that are made from all their keys at once.
//
//    auto listed = bloomery::Set<bloomery::BinaryFuse>::build({.rate = 0.01}, urls);
//    if (listed->may_contain(url)) ...
//    auto spam = bloomery::Set<bloomery::Cascade>::build({.rate = 0.01}, blocked, allowed);
//    if (spam->may_contain(sender)) ...
//
// Static kinds hash their keys again on each pass over them, so no array of hashes is made
// (build.hpp); a cascade keeps the hashes of both lists (cascade_builder.hpp). Keys that are not in
// a vector, span or array are hashed once, into an array.
// Limits:  repeated keys are one; none can be added later.
// Threads: as many as are given; same bytes as with one. A cascade is built by one.
#pragma once

#include <ranges>
#include <utility>

#include <bloomery/detail/engines/build.hpp>
#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

template <class K>
template <detail::KeysOf<K> Keys>
Result<Set<K>> Set<K>::build(const Want& want, const Keys& keys, Hasher hasher,
                             Threads threads) requires detail::Buildable<K> {
  if constexpr (!detail::KeysInPlace<Keys>) {
    const auto hashes = detail::all_inputs<Hash>(keys, hasher);
    if (!hashes) return hashes.error();
    auto set = build(want, *hashes, hasher, threads);
    if (set && !hashes->empty())
      set->gate_.take(detail::form_of<std::ranges::range_value_t<Keys>, K>);
    return set;
  } else {
    const detail::HashSource source(detail::hashed_source<Hash>(detail::as_span(keys), hasher));
    auto body = detail::build_owned<K>(source, want, detail::crew_of(threads));
    if (!body) return body.error();
    Set set(std::move(*body), hasher);
    if (source.size() != 0) set.gate_.note(detail::form_of<std::ranges::range_value_t<Keys>, K>);
    return set;
  }
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<Set<K>> Set<K>::build(const Want& want, const Keys& blocked, const Keys& allowed,
                             Hasher hasher) requires detail::TwoListed<K> {
  if constexpr (!detail::KeysInPlace<Keys>) {
    const auto blocked_hashes = detail::all_inputs<Input>(blocked, hasher);
    if (!blocked_hashes) return blocked_hashes.error();
    const auto allowed_hashes = detail::all_inputs<Input>(allowed, hasher);
    if (!allowed_hashes) return allowed_hashes.error();
    auto set = build(want, *blocked_hashes, *allowed_hashes, hasher);
    if (set && !blocked_hashes->empty())
      set->gate_.take(detail::form_of<std::ranges::range_value_t<Keys>, K>);
    return set;
  } else {
    auto body =
        K::Builder::build(want, detail::hashed_source<Input>(detail::as_span(blocked), hasher),
                          detail::hashed_source<Input>(detail::as_span(allowed), hasher));
    if (!body) return body.error();
    Set set(std::move(*body), hasher);
    if (!std::ranges::empty(blocked))
      set.gate_.note(detail::form_of<std::ranges::range_value_t<Keys>, K>);
    return set;
  }
}

}  // namespace bloomery::inline v0
