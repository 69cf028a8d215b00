// Ranges of keys that the bulk verbs take.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>

namespace bloomery::inline v0::detail {

// Can be gone through more than once: containers, spans, and views, which are copied, since some
// (std::views::filter) cannot be gone through while they are const.
template <class R>
concept KeyRange = std::ranges::forward_range<const R> ||
    (std::ranges::view<R>&& std::copyable<R>&& std::ranges::forward_range<R>);

// Calls visit(range), where the range can be gone through.
template <KeyRange Keys, class Visit>
decltype(auto) with_range(const Keys& keys, Visit&& visit) {
  if constexpr (std::ranges::forward_range<const Keys>) {
    return visit(keys);
  } else {
    Keys copy = keys;
    return visit(copy);
  }
}

template <KeyRange Keys>
std::size_t count_keys(const Keys& keys) {
  return with_range(
      keys, [](auto& range) { return static_cast<std::size_t>(std::ranges::distance(range)); });
}

}  // namespace bloomery::inline v0::detail
