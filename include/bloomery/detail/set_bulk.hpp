// The verbs of Set for many keys. set.hpp includes it at its end.
//
//    add_all --> try_add_all --> begin_adding
//                            --> add_spans --for_spans--> add_source --> pipeline (batch.hpp)
//
// Keys that lie in one span are one call of add_source; others come in spans of 1024.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

template <class K>
template <class T>
T Set<K>::told(Result<T> result) const {
  if (!result) {
    gate_.expect_here();
    detail::throw_error(result.error());
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Refuses keys of another form, and integers outside the range of a map, before any is added.
template <class K>
template <class Keys>
Result<void> Set<K>::begin_adding(const Keys& keys) {
  using T = std::ranges::range_value_t<Keys>;
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting;
  bool inside = true;
  detail::with_range(keys, [&](auto& range) {
    if constexpr (is_ranged && detail::KeysInPlace<Keys>)
      inside = detail::all_between(detail::as_span(keys), core().shape().low, core().shape().high);
    else if constexpr (is_ranged)
      for (const auto& key : range) inside = inside && detail::key_has_place<K, T>(core(), key);
    if (inside && !std::ranges::empty(range)) gate_.note(detail::form_of<T, K>);
  });
  if (!inside) return detail::outside_error();
  return {};
}

template <class K>
template <class T, class Sink>
Result<std::size_t> Set<K>::add_source(std::span<const T> keys, Sink&& sink) {
  if constexpr (detail::Kind<K>)
    return body_.add_from(source(keys), sink);
  else
    return detail::add_in_groups(body_, source(keys), sink);
}

template <class K>
template <class T, class Sink>
std::size_t Set<K>::ask_source(std::span<const T> keys, Sink&& sink) const {
  if constexpr (detail::Kind<K>)
    return body_.ask_from(source(keys), sink);
  else
    return detail::ask_in_groups(body_, source(keys), sink);
}

// sink_at(first) takes the answers of the keys from number `first` on. Nothing after an Error is
// added.
template <class K>
template <class Keys, class SinkAt>
Result<std::size_t> Set<K>::add_spans(const Keys& keys, SinkAt&& sink_at) {
  Result<std::size_t> fresh = std::size_t{0};
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t first, auto span) {
    if (!fresh) return;
    auto added = add_source(span, sink_at(first));
    if (added) *added += *fresh;
    fresh = std::move(added);
  });
  return fresh;
}

template <class K>
template <class Keys, class SinkAt>
std::size_t Set<K>::ask_spans(const Keys& keys, Threads threads, SinkAt&& sink_at) const {
  std::size_t count = 0;
  if (!detail::KeysInPlace<Keys>) threads = {1};
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t begin, auto span) {
    count += detail::ask_all_parallel(span.size(), threads, [&](std::size_t first, std::size_t n) {
      return ask_source(span.subspan(first, n), sink_at(begin + first));
    });
  });
  return count;
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_add_all(const Keys& keys, std::span<bool> fresh) {
  if (!fresh.empty())
    if (auto room = detail::check_room(fresh.size(), detail::count_keys(keys)); !room)
      return room.error();
  if (auto begun = begin_adding(keys); !begun) return begun.error();
  if (fresh.empty()) return add_spans(keys, [](std::size_t) { return detail::CountOnly{}; });
  return add_spans(keys, [&](std::size_t first) { return detail::ToBools(fresh.data() + first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_add_all(const Keys& keys, std::span<std::uint64_t> fresh) {
  if (fresh.empty()) return try_add_all(keys);
  const std::size_t words = detail::words_for(detail::count_keys(keys));
  if (auto room = detail::check_room(fresh.size(), words); !room) return room.error();
  if (auto begun = begin_adding(keys); !begun) return begun.error();
  return add_spans(keys,
                   [&](std::size_t first) { return detail::ToMask(fresh.data() + first / 64); });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_add_all(const Keys& keys, std::vector<bool>& fresh) {
  fresh.assign(detail::count_keys(keys), false);
  if (auto begun = begin_adding(keys); !begun) return begun.error();
  return add_spans(keys, [&](std::size_t first) { return detail::ToVector(fresh, first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_add_all(const Keys& keys, Threads threads) {
  if (auto begun = begin_adding(keys); !begun) return begun.error();
  if constexpr (detail::OneLined<K> && detail::KeysInPlace<Keys>)
    if (const auto fresh = detail::add_by_threads(body_, source(detail::as_span(keys)), threads))
      return *fresh;
  return add_spans(keys, [](std::size_t) { return detail::CountOnly{}; });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_add_all_by_lines(const Keys& keys) requires detail::OneLined<K> {
  if (auto begun = begin_adding(keys); !begun) return begun.error();
  Result<std::size_t> fresh = std::size_t{0};
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t, auto span) {
    if (!fresh) return;
    auto added = body_.add_all_by_lines(source(span));
    if (added) *added += *fresh;
    fresh = std::move(added);
  });
  return fresh;
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_may_contain_all(const Keys& keys, std::span<bool> answers,
                                                Threads threads) const {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting.error();
  if (auto room = detail::check_room(answers.size(), detail::count_keys(keys)); !room)
    return room.error();
  return ask_spans(keys, threads,
                   [&](std::size_t first) { return detail::ToBools(answers.data() + first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                                                Threads threads) const {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting.error();
  const std::size_t words = detail::words_for(detail::count_keys(keys));
  if (auto room = detail::check_room(answers.size(), words); !room) return room.error();
  return ask_spans(keys, threads,
                   [&](std::size_t first) { return detail::ToMask(answers.data() + first / 64); });
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::vector<bool>> Set<K>::try_may_contain_all(const Keys& keys) const {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting.error();
  std::vector<bool> answers(detail::count_keys(keys));
  ask_spans(keys, {1}, [&](std::size_t first) { return detail::ToVector(answers, first); });
  return answers;
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_count_may_contain(const Keys& keys, Threads threads) const {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting.error();
  if (detail::wanted_threads(threads) != 1)
    return ask_spans(keys, threads,
                     [](std::size_t) { return [](std::size_t, std::size_t, std::uint64_t) {}; });
  std::size_t count = 0;
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t, auto span) {
    count += ask_source(span, detail::CountOnly{});
  });
  return count;
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<std::size_t> Set<K>::try_remove_all(const Keys& keys,
                                           std::span<bool> removed) requires detail::Removable<K> {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting.error();
  if (const char* why = body_.removal_refused()) return Error{Code::unsound, why};
  if (!removed.empty())
    if (auto room = detail::check_room(removed.size(), detail::count_keys(keys)); !room)
      return room.error();
  std::size_t count = 0;
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t first, auto span) {
    count += removed.empty()
                 ? body_.remove_from(source(span), detail::CountOnly{})
                 : body_.remove_from(source(span), detail::ToBools(removed.data() + first));
  });
  return count;
}

template <class K>
template <detail::KeysOf<K> Keys>
Result<void> Set<K>::try_counts(
    const Keys& keys, std::span<std::uint64_t> counts) const requires detail::Countable<K> {
  if (auto fitting = check_form_of<Keys>(); !fitting) return fitting;
  if (auto room = detail::check_room(counts.size(), detail::count_keys(keys)); !room) return room;
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t first, auto span) {
    detail::count_all(body_.kind(), source(span), counts.data() + first);
  });
  return {};
}

// -- the short forms, which throw -----------------------------------------------------------------

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, std::span<bool> fresh) {
  return told(try_add_all(keys, fresh));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, std::span<std::uint64_t> fresh) {
  return told(try_add_all(keys, fresh));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, std::vector<bool>& fresh) {
  return told(try_add_all(keys, fresh));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, Threads threads) {
  return told(try_add_all(keys, threads));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::may_contain_all(const Keys& keys, std::span<bool> answers,
                                    Threads threads) const {
  return told(try_may_contain_all(keys, answers, threads));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                                    Threads threads) const {
  return told(try_may_contain_all(keys, answers, threads));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::vector<bool> Set<K>::may_contain_all(const Keys& keys) const {
  return told(try_may_contain_all(keys));
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::count_may_contain(const Keys& keys, Threads threads) const {
  return told(try_count_may_contain(keys, threads));
}

template <class K>
std::size_t Set<K>::copy_members(std::span<std::uint32_t> to,
                                 std::uint64_t from) const requires std::same_as<K, Bitmap> {
  if (here().kind().shape().high > std::numeric_limits<std::uint32_t>::max())
    detail::raise(std::out_of_range("the range of the map does not fit into 32 bits"));
  return here().kind().copy_members(to, from);
}

}  // namespace bloomery::inline v0
