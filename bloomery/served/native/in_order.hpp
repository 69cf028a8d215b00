// Hashes used one after the other through the pipeline of the library (bulk/batch.hpp), for sets
// that grow while keys are added: a key may change where the next one lies.
#pragma once

#include <cstddef>
#include <span>

#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail::served {

// What the pipeline needs to know of such a set.
template <class Prefetch>
struct InOrder {
  using Input = Hash;
  static constexpr std::size_t lookahead = 32;
  const Prefetch& call;

  Hash locate(Hash hash) const { return hash; }
  [[gnu::always_inline]] void prefetch(Hash hash) const { call(hash); }
};

// Calls use(i, hash) for hash after hash until it returns false, and prefetch(hash) some hashes
// before its turn. Returns for how many it returned true.
template <class Prefetch, class Use>
std::size_t use_in_order(std::span<const Hash> hashes, const Prefetch& prefetch, Use&& use) {
  const InOrder<Prefetch> kind{prefetch};
  std::size_t next = 0;
  const auto step = [&](const Hash* inputs, std::size_t n, std::size_t ahead) {
    CutStep done;
    for (; done.taken < n; ++done.taken) {
      if (ahead != 0) prefetch(inputs[done.taken + ahead]);
      if (!use(next, inputs[done.taken])) break;
      ++next;
    }
    return done;
  };
  return pipeline(kind, ReadyInputs<Hash>(hashes), kind.lookahead, step, CountOnly{}).taken;
}

}  // namespace bloomery::inline v0::detail::served
