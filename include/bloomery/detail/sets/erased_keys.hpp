// Which keys a set takes whose kind is known only at run time, and what becomes of them.
//
//    text, bytes   --> Hash or WideHash, as the kind takes them
//    integers      --> the same; an Ordinal where the set is an exact map
//    Hash, Ordinal     as they are
//
// See: any_set.hpp, detail/sets/any_set_keys.hpp.
#pragma once

#include <concepts>
#include <ranges>
#include <span>
#include <string_view>
#include <variant>

#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

using ReadyKeys =
    std::variant<std::span<const Hash>, std::span<const WideHash>, std::span<const Ordinal>>;

template <class T>
concept ErasedKey = Hashable<T> || std::same_as<T, Hash> || std::same_as<T, Ordinal>;

// Can be gone through more than once: containers, spans, and views, which are copied, since some
// (std::views::filter) cannot be gone through while they are const.
template <class R>
concept KeyRange = std::ranges::forward_range<const R> ||
    (std::ranges::view<R>&& std::copyable<R>&& std::ranges::forward_range<R>);

template <class R>
concept ErasedKeys = KeyRange<R> && ErasedKey<std::ranges::range_value_t<R>>;

// Those that no span takes where they lie.
template <class R>
concept GatheredKeys =
    ErasedKeys<R> && !std::convertible_to<const R&, std::span<const std::string_view>> &&
    !std::convertible_to<const R&, std::span<const Hash>> &&
    !std::convertible_to<const R&, std::span<const Ordinal>>;

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

}  // namespace bloomery::inline v0::detail
