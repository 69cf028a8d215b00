// Which types may be keys of a set of a kind: texts, byte spans and integers where it hashes,
// integers alone where it is a map of a range, types whose bloomery_key returns such (hash.hpp),
// and its own Input always.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>

#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/key_range.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

// May a T be a key of a set of kind K?
template <class T, class K>
concept KeyOf = std::same_as<T, typename K::Input> ||
    (std::same_as<typename K::Input, Ordinal> ? IntegerKey<PlainKey<T>> : Hashable<T>);

template <class T, class K>
concept NotKeyOf = !KeyOf<T, K>;

// Any forward range of such keys.
template <class R, class K>
concept KeysOf = KeyRange<R> && KeyOf<std::ranges::range_value_t<R>, K>;
template <class R, class K>
concept NotKeysOf = !KeysOf<R, K>;

// Of those, what bulk verbs read where it lies: a vector, span or array. Others go through a buffer
// (bulk/key_spans.hpp).
template <class R>
concept KeysInPlace = std::ranges::contiguous_range<const R> && std::ranges::sized_range<const R> &&
    !UserKey<std::ranges::range_value_t<R>>;

// A key as an argument of a function that is not inlined: small ones need no place in memory.
template <class T>
using PassedKey = std::conditional_t<IntegerKey<T>, const T, const T&>;

// What a hashed key of this type is noted as.
template <class T, class K>
inline constexpr KeyForm form_of = std::same_as<T, typename K::Input> ? KeyForm::hash
                                   : IntegerKey<PlainKey<T>>          ? KeyForm::u64
                                                                      : KeyForm::text;

template <std::ranges::contiguous_range Keys>
auto as_span(const Keys& keys) {
  using T = std::ranges::range_value_t<Keys>;
  return std::span<const T>(std::ranges::data(keys), std::ranges::size(keys));
}

// The key as its kind takes it; an integer must have a place.
template <class Input, class T>
Input input_from(const T& key, const Hasher& hasher) {
  if constexpr (std::same_as<T, Input>)
    return key;
  else if constexpr (std::same_as<Input, Ordinal>)
    return Ordinal{static_cast<std::uint64_t>(plain_key(key))};
  else if constexpr (std::same_as<Input, WideHash>)
    return hasher.wide(key);
  else
    return hasher(key);
}

// The same where the hasher is known to be fast.
template <class Input, class T>
Input fast_input(const T& key, const Hasher& hasher) {
  if constexpr (std::same_as<T, Input>)
    return key;
  else
    return hasher.fast(key);
}

// Every hash has a place; an integer only inside the range.
template <class K, class T>
bool key_has_place(const K& kind, const T& key) {
  if constexpr (!std::same_as<typename K::Input, Ordinal>) {
    return true;
  } else {
    if constexpr (std::signed_integral<PlainKey<T>>)
      if (plain_key(key) < 0) return false;
    return kind.in_range(input_from<Ordinal>(key, Hasher{}));
  }
}

// Exceptions are thrown out of line, so that adding a key stays short enough to be inlined.
[[gnu::noinline, gnu::cold]] inline Error outside_error() {
  return {Code::out_of_range, "the integer is outside the range of the map"};
}
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_outside() {
  detail::raise(std::out_of_range(outside_error().sentence));
}
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_full() {
  detail::raise(Failure({Code::full, "the set is full and could not take the key"}));
}

// An Error of a bulk verb as the exception that C++ users expect.
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_error(const Error& error) {
  if (error.code == Code::out_of_range) detail::raise(std::out_of_range(error.sentence));
  if (error.code == Code::bad_input) detail::raise(std::invalid_argument(error.sentence));
  detail::raise(Failure(error));
}

// Throws Failure if the set was full.
inline Added accepted(Added added) {
  if (added == Added::full) throw_full();
  return added;
}

[[gnu::noinline, gnu::cold]] inline Error no_room_error() {
  return {Code::bad_input, "there is not room for one answer per key"};
}
inline Result<void> check_room(std::size_t room, std::size_t needed) {
  if (room >= needed) [[likely]]
    return {};
  return no_room_error();
}

// Tells how often it has seen a key.
template <class K>
concept Stateful = Kind<K> && requires(const K kind, typename K::Slot slot) {
  kind.state(slot);
};

}  // namespace bloomery::inline v0::detail
