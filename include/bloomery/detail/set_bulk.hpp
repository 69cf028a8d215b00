// The verbs of Set for many keys. set.hpp includes it at its end.
//
//    add_all --> begin_adding --> add_spans --for_spans--> add_source --> pipeline (batch.hpp)
//
// Keys that lie in one span are one call of add_source; others come in spans of 1024.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

// Refuses keys of another form, and integers outside the range of a map, before any is added.
template <class K>
template <class Keys>
void Set<K>::begin_adding(const Keys& keys) {
  using T = std::ranges::range_value_t<Keys>;
  expect_form_of<Keys>();
  detail::with_range(keys, [&](auto& range) {
    if constexpr (is_ranged)
      for (const auto& key : range)
        if (!has_place<T>(key)) detail::throw_outside();
    if (!std::ranges::empty(range)) gate_.note(detail::form_of<T, K>);
  });
}

// sink_at(first) takes the answers of the keys from number `first` on.
template <class K>
template <class Keys, class SinkAt>
std::size_t Set<K>::add_spans(const Keys& keys, SinkAt&& sink_at) {
  std::size_t fresh = 0;
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t first, auto span) {
    fresh += add_source(span, sink_at(first));
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
std::size_t Set<K>::add_all(const Keys& keys, std::span<bool> fresh) {
  if (!fresh.empty()) detail::expect_room(fresh.size(), detail::count_keys(keys));
  begin_adding(keys);
  if (fresh.empty()) return add_spans(keys, [](std::size_t) { return detail::CountOnly{}; });
  return add_spans(keys, [&](std::size_t first) { return detail::ToBools(fresh.data() + first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, std::span<std::uint64_t> fresh) {
  if (!fresh.empty())
    detail::expect_room(fresh.size(), detail::words_for(detail::count_keys(keys)));
  begin_adding(keys);
  if (fresh.empty()) return add_spans(keys, [](std::size_t) { return detail::CountOnly{}; });
  return add_spans(keys,
                   [&](std::size_t first) { return detail::ToMask(fresh.data() + first / 64); });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, std::vector<bool>& fresh) {
  fresh.assign(detail::count_keys(keys), false);
  begin_adding(keys);
  return add_spans(keys, [&](std::size_t first) { return detail::ToVector(fresh, first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all(const Keys& keys, Threads threads) {
  begin_adding(keys);
  if constexpr (detail::OneLined<K> && detail::KeysInPlace<Keys>)
    if (const auto fresh = detail::add_by_threads(body_, source(detail::as_span(keys)), threads))
      return *fresh;
  return add_spans(keys, [](std::size_t) { return detail::CountOnly{}; });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all_by_lines(const Keys& keys) requires detail::OneLined<K> {
  begin_adding(keys);
  std::size_t fresh = 0;
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t, auto span) {
    fresh += detail::counted_or_raised(body_.add_all_by_lines(source(span)));
  });
  return fresh;
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::may_contain_all(const Keys& keys, std::span<bool> answers,
                                    Threads threads) const {
  expect_form_of<Keys>();
  detail::expect_room(answers.size(), detail::count_keys(keys));
  return ask_spans(keys, threads,
                   [&](std::size_t first) { return detail::ToBools(answers.data() + first); });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                                    Threads threads) const {
  expect_form_of<Keys>();
  detail::expect_room(answers.size(), detail::words_for(detail::count_keys(keys)));
  return ask_spans(keys, threads,
                   [&](std::size_t first) { return detail::ToMask(answers.data() + first / 64); });
}

template <class K>
template <detail::KeysOf<K> Keys>
std::vector<bool> Set<K>::may_contain_all(const Keys& keys) const {
  expect_form_of<Keys>();
  std::vector<bool> answers(detail::count_keys(keys));
  ask_spans(keys, {1}, [&](std::size_t first) { return detail::ToVector(answers, first); });
  return answers;
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::count_may_contain(const Keys& keys, Threads threads) const {
  expect_form_of<Keys>();
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
std::size_t Set<K>::remove_all(const Keys& keys,
                               std::span<bool> removed) requires detail::Removable<K> {
  expect_form_of<Keys>();
  body_.expect_removable();
  if (!removed.empty()) detail::expect_room(removed.size(), detail::count_keys(keys));
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
void Set<K>::counts(const Keys& keys,
                    std::span<std::uint64_t> counts) const requires detail::Countable<K> {
  expect_form_of<Keys>();
  detail::expect_room(counts.size(), detail::count_keys(keys));
  detail::for_spans<Input>(keys, hasher_, [&](std::size_t first, auto span) {
    detail::count_all(body_.kind(), source(span), counts.data() + first);
  });
}

}  // namespace bloomery::inline v0
