// The code behind measure.hpp, included once for each form of key: compiled side by side, and only
// there.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include <bloomery/bloomery.hpp>

#include <bench/beside.hpp>
#include <bench/measure.hpp>
#include <bench/static_set.hpp>

namespace bloomery::bench {

template <class Key>
Findings findings_on(const KeyStore<Key>& keys, const Task& task) {
  return {.keys = keys.members().size(),
          .key_form = std::is_same_v<Key, Integer> ? "integer" : "text",
          .rate_asked = task.rate,
          .threads = task.threads,
          .strangers = keys.strangers().size()};
}

template <class Key>
std::string refusal_of_memory(const KeyStore<Key>& keys, const Task& task, std::uint64_t bytes) {
  // A bulk add may take 8 bytes a key of scratch, up to a limit of its own.
  const std::uint64_t scratch =
      std::min<std::uint64_t>(8 * keys.members().size(), std::uint64_t{550} << 20);
  const std::uint64_t needed = keys.bytes() + bytes + scratch + window_keys;  // and the answers
  if (needed <= task.memory_bytes) return "";
  constexpr double gibibyte = 1 << 30;
  return fmt::format("takes {:.1f} GiB with its keys, and may take {:.1f}",
                     static_cast<double>(needed) / gibibyte,
                     static_cast<double>(task.memory_bytes) / gibibyte);
}

namespace detail {

template <class K, class Key>
void measure_kind(const KeyStore<Key>& keys, const Task& task, Findings& findings) {
  const std::string name(K::id.name);
  if constexpr (!KeyOf<Key, K>) {
    findings.left_out.push_back({name, "takes integers only"});
  } else if constexpr (TwoListed<K>) {
    if (!task.only_kind.empty())
      findings.left_out.push_back({name, "is built from two lists, and never added to"});
  } else {
    Want want{.keys = keys.members().size(), .rate = Exact<K> ? 0 : task.rate};
    if constexpr (std::is_same_v<typename K::Input, Ordinal>) want.range = {0, keys.range() - 1};
    const auto shape = K::plan(want);
    if (!shape) return findings.left_out.push_back({name, shape.error().sentence});
    const std::uint64_t bytes = K::bytes(*shape);
    // Two sets, an empty one to touch the pages of the second, and the roofline.
    if (std::string why = refusal_of_memory(keys, task, 4 * bytes); !why.empty())
      return findings.left_out.push_back({name, std::move(why)});
    auto roofline = Roofline::make(bytes);
    if (!roofline) return findings.left_out.push_back({name, roofline.error().sentence});
    task.begin(name);
    Beside<Subject<K>, typename K::Input, Key> beside(keys, want, std::move(*roofline));
    findings.found.push_back(beside.measure(name, task));
  }
}

}  // namespace detail

template <class Key>
void measure_kinds(const KeyStore<Key>& keys, const Task& task, Findings& findings) {
  AllKinds::for_each([&]<class K>() {
    if (task.only_kind.empty() || task.only_kind == K::id.name)
      detail::measure_kind<K>(keys, task, findings);
  });
}

}  // namespace bloomery::bench
