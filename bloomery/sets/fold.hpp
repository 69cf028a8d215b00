// Folding: a set that was planned too large, made smaller without its keys.
//
//    place of a key among m      floor(h * m / 2^64)
//    place of it among m / f     floor(that / f)          f neighbours become one
//
// So the fold is exact: the bytes are those of a set that was made with the smaller shape and given
// the same keys. The number of probes stays, where a plan for the smaller size might choose
// another: so at the same rate a folded set may be a little larger than a planned one.
// Limits:  f divides the units of a shape (planned ones from 256 units on divide by 16). Counters
//          cannot be folded: two counters of one key may become one, which would then be raised
//          twice and lowered once. Fingerprints and built sets have no neighbours to join.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/owned.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/shape_fields.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

// fold_units: how many places neighbours are joined among; fold_from: called on an empty set of the
// folded shape, takes over everything of the larger one.
template <class S>
concept Foldable = Kind<S> &&
    requires(S s, const S larger, typename S::Shape shape, std::uint64_t factor) {
  { S::fold_units(shape) } -> std::same_as<std::uint64_t>;
  { S::folded(shape, factor) } -> std::same_as<typename S::Shape>;
  { s.fold_from(larger, factor) } -> std::same_as<void>;
};

// The keys that a set holds, so far as its ledger and its bits can tell.
template <class K>
double keys_held(const Owned<K>& set) {
  return std::max(static_cast<double>(set.adds()), set.estimate());
}

// The most keys, up to those it was planned for, that a shape holds at a rate.
template <class K>
std::uint64_t capacity_at(const typename K::Shape& shape, double rate, std::uint64_t planned) {
  std::uint64_t held = 0;
  std::uint64_t beyond = planned + 1;
  while (held + 1 < beyond) {
    const std::uint64_t middle = held + (beyond - held) / 2;
    (K::expected_rate(shape, middle) <= rate ? held : beyond) = middle;
  }
  return held;
}

// The largest factor at which the set still holds its keys at this rate; 1 if it cannot be folded.
template <Foldable K>
std::uint64_t best_fold(const Owned<K>& set, double rate) {
  constexpr std::uint64_t most_tried = std::uint64_t{1} << 20;
  const double held = detail::keys_held(set);
  if (!(held < 1e18)) return 1;
  const auto keys = static_cast<std::uint64_t>(std::ceil(held));
  const std::uint64_t units = K::fold_units(set.kind().shape());
  std::uint64_t best = 1;
  for (std::uint64_t factor = 2; factor <= std::min(units, most_tried); ++factor) {
    if (units % factor != 0) continue;
    if (K::expected_rate(K::folded(set.kind().shape(), factor), keys) > rate) break;
    best = factor;
  }
  return best;
}

// A new set with 1/factor of the bytes that holds every key of this one. Its capacity is what the
// smaller shape holds at the rate.
template <Foldable K>
Result<Owned<K>> folded(const Owned<K>& set, std::uint64_t factor, double rate) {
  const auto shape = set.kind().shape();
  const std::uint64_t units = K::fold_units(shape);
  if (factor == 0 || units % factor != 0)
    return Error{Code::impossible, "a set of " + std::to_string(units) +
                                       " blocks cannot be folded by " + std::to_string(factor) +
                                       "; the factor must divide them"};
  const auto smaller = K::folded(shape, factor);
  auto memory = Memory::make(K::bytes(smaller));
  if (!memory) return memory.error();
  K(smaller, memory->bytes()).fold_from(set.kind(), factor);
  Part part{.kind = K::id.number,
            .shape = encode_shape<K>(smaller),
            .capacity = detail::capacity_at<K>(smaller, rate, set.capacity()),
            .rate_asked = rate,
            .adds = set.adds()};
  part.payload = memory->bytes();
  part.memory = std::move(*memory);
  return Owned<K>::from_part(std::move(part));
}

}  // namespace bloomery::inline v0::detail
