// Any range of keys as spans, which is what the bulk verbs read.
//
//    vector, span, array            one span, where the keys lie
//    list, set, transform view,     spans of up to 1024, gathered in a buffer: integers as they
//    types with a bloomery_key      are, anything else hashed, since a view may drop it
//
// A gathered key is used as one that lies in a span is: the same bits, the same counts.
// Limits:  a gathered text is hashed without a prefetch, and many keys are never partitioned
//          by cache line: where speed counts, give a vector or a span.
// Threads: a value; one thread gathers.
#pragma once

#include <array>
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/key_of.hpp>
#include <bloomery/detail/sets/key_range.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

// A multiple of 64, so that the answers of each span begin a word of a mask.
inline constexpr std::size_t gathered_keys = 1024;

// What a key of type T is kept as in the buffer of a set that takes Inputs.
template <class T, class Input>
using BufferedKey = std::conditional_t<IntegerKey<PlainKey<T>>, PlainKey<T>, Input>;

template <class Input, class T>
BufferedKey<T, Input> buffered(const T& key, const Hasher& hasher) {
  if constexpr (IntegerKey<PlainKey<T>>)
    return plain_key(key);
  else
    return input_from<Input>(key, hasher);
}

// Calls use(first, span) for spans that are all of the keys in their order; first is the number of
// keys before it.
template <class Input, KeyRange Keys, class Use>
void for_spans(const Keys& keys, const Hasher& hasher, Use&& use) {
  if constexpr (KeysInPlace<Keys>) {
    use(std::size_t{0}, as_span(keys));
  } else {
    using Key = std::ranges::range_value_t<Keys>;
    using Kept = BufferedKey<Key, Input>;
    with_range(keys, [&](auto& range) {
      std::array<Kept, gathered_keys> kept;
      std::size_t first = 0;
      std::size_t held = 0;
      for (const auto& key : range) {
        kept[held++] = buffered<Input, Key>(key, hasher);
        if (held < gathered_keys) continue;
        use(first, std::span<const Kept>(kept));
        first += std::exchange(held, 0);
      }
      if (held != 0 || first == 0) use(first, std::span<const Kept>(kept.data(), held));
    });
  }
}

// All of the keys as inputs, in new memory.
template <class Input, KeyRange Keys>
Result<std::vector<Input>> all_inputs(const Keys& keys, const Hasher& hasher) {
  std::vector<Input> inputs;
  const bool had = had_memory([&] {
    with_range(keys, [&](auto& range) {
      for (const auto& key : range)
        inputs.push_back(input_from<Input, std::ranges::range_value_t<Keys>>(key, hasher));
    });
  });
  if (!had) return Error{Code::no_memory, "there is no memory for the hashes of all keys"};
  return inputs;
}

}  // namespace bloomery::inline v0::detail
