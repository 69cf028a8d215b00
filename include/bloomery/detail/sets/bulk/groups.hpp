// Composites (chain, hash-set) take keys in groups: several sets are asked for each group in
// turn, while its hashes stay in the L1 cache.
//
//    source --2,048 inputs--> body.add_all / may_contain_all --bools--> sink, 64 bits at a time
//
// Threads: as the body.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

inline constexpr std::size_t group_keys = 2048;

// Hands bools to a sink, 64 at a time; returns how many are true.
template <class Sink>
std::size_t from_bools(const bool* answers, std::size_t first, std::size_t n, Sink&& sink) {
  std::size_t count = 0;
  for (std::size_t done = 0; done < n; done += step_keys) {
    const std::size_t some = std::min(step_keys, n - done);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < some; ++i) bits |= std::uint64_t{answers[done + i]} << i;
    count += static_cast<std::size_t>(std::popcount(bits));
    sink(first + done, some, bits);
  }
  return count;
}

// An Error when the body cannot take more; what was added before stays.
template <class Body, KeySource<typename Body::Input> Source, class Sink>
Result<std::size_t> add_in_groups(Body& body, const Source& source, Sink&& sink) {
  typename Body::Input inputs[group_keys];
  bool fresh[group_keys];
  std::size_t count = 0;
  for (std::size_t done = 0; done < source.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, source.size() - done);
    source.make(done, n, inputs);
    auto added = body.add_all(std::span<const typename Body::Input>(inputs, n), fresh);
    if (!added) return added.error();
    count += detail::from_bools(fresh, done, n, sink);
  }
  return count;
}

template <class Body, KeySource<typename Body::Input> Source, class Sink>
std::size_t ask_in_groups(const Body& body, const Source& source, Sink&& sink) {
  typename Body::Input inputs[group_keys];
  bool answers[group_keys];
  std::size_t count = 0;
  for (std::size_t done = 0; done < source.size(); done += group_keys) {
    const std::size_t n = std::min(group_keys, source.size() - done);
    source.make(done, n, inputs);
    body.may_contain_all(std::span<const typename Body::Input>(inputs, n), answers);
    count += detail::from_bools(answers, done, n, sink);
  }
  return count;
}

}  // namespace bloomery::inline v0::detail
