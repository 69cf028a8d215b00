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

#include <bloomery/detail/sets/key_range.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

using ReadyKeys =
    std::variant<std::span<const Hash>, std::span<const WideHash>, std::span<const Ordinal>>;

template <class T>
concept ErasedKey = Hashable<T> || std::same_as<T, Hash> || std::same_as<T, Ordinal>;

template <class R>
concept ErasedKeys = KeyRange<R> && ErasedKey<std::ranges::range_value_t<R>>;

// Those that no span takes where they lie.
template <class R>
concept GatheredKeys =
    ErasedKeys<R> && !std::convertible_to<const R&, std::span<const std::string_view>> &&
    !std::convertible_to<const R&, std::span<const Hash>> &&
    !std::convertible_to<const R&, std::span<const Ordinal>>;

}  // namespace bloomery::inline v0::detail
