// The pipeline, once, for every kind: hash some keys ahead, prefetch their memory, and add or ask
// those whose memory has arrived, so that many cache misses are in flight at once.
//
//    keys     . . . . . . . . . . . . . . . . .   texts: their bytes are prefetched first
//             |           |               |
//             add / ask   prefetched      hashed
//             a step      64 at most      a step more
//
// The keys come from a source (key_source.hpp); the answers of a step, up to 64 bits, go to a
// sink. Kinds with kernels of their own (Batched) are handed whole steps.
// Limits:  a kind that can be full (Bounded) is added to by add_until_full, which tells where it
//          stopped.
// Threads: as the kind's add and may_contain.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/concepts.hpp>

namespace bloomery::inline v0::detail {

// How far ahead a kind prefetches at most: K::lookahead for kinds whose keys wait at several
// places, otherwise a step.
template <Kind K>
constexpr std::size_t lookahead_of() {
  if constexpr (requires { K::lookahead; })
    return K::lookahead;
  else
    return step_keys;
}

// How far ahead for this set: a kind may choose less than its maximum.
template <Kind K>
std::size_t lookahead_for(const K& kind) {
  if constexpr (requires { kind.lookahead_now(); })
    return kind.lookahead_now();
  else
    return lookahead_of<K>();
}

// Calls use(i) for the first n of the inputs, each after the input `ahead` places later was
// prefetched; bit i of the answer is the result of use(i).
template <Kind K, class Use>
std::uint64_t step(const K& kind, const typename K::Input* inputs, std::size_t n, std::size_t ahead,
                   Use&& use) {
  std::uint64_t answers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (Prefetchable<K>)
      if (ahead != 0) kind.prefetch(kind.locate(inputs[i + ahead]));
    answers |= std::uint64_t{use(inputs[i])} << i;
  }
  return answers;
}

// Adds n <= 64 inputs in order; `ahead` more follow them in the array. Bit i: input i was new.
template <Addable K>
std::uint64_t add_step(K& kind, const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
  if constexpr (Batched<K>)
    return kind.add_step(inputs, n, ahead);
  else
    return detail::step(kind, inputs, n, ahead, [&](const typename K::Input& input) {
      return kind.add(kind.locate(input)) == Added::fresh;
    });
}

template <Kind K>
std::uint64_t ask_step(const K& kind, const typename K::Input* inputs, std::size_t n,
                       std::size_t ahead) {
  if constexpr (Batched<K>)
    return kind.ask_step(inputs, n, ahead);
  else
    return detail::step(kind, inputs, n, ahead, [&](const typename K::Input& input) {
      if constexpr (requires { kind.may_contain_fetched(kind.locate(input)); })
        return kind.may_contain_fetched(kind.locate(input));
      else
        return kind.may_contain(kind.locate(input));
    });
}

// The asking half of a pipeline for kinds that keep slots.
template <SlotKeeping K>
class SlotAsker {
 public:
  static_assert(lookahead_of<K>() == step_keys, "a slot is asked a step after it was located");

  explicit SlotAsker(const K& kind) : kind_(kind) {}

  void begin(const typename K::Input* inputs, std::size_t n) {
    kind_.locate_slots(inputs, n, slots_);
  }
  // Less than a whole step is the last: nothing is ahead.
  std::uint64_t operator()(const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
    const std::uint64_t answers = kind_.ask_slots(slots_, n);
    kind_.locate_slots(inputs + n, ahead, slots_);
    return answers;
  }

 private:
  const K& kind_;
  typename K::Slots slots_{};
};

// Calls take(inputs, n, ahead) -> answers for step after step, and sink(index of the first, n,
// answers) for its answers. If take has begin(inputs, n), that is called for the first inputs
// instead of a prefetch. `lookahead`: lookahead_of<K>() at most.
template <Kind K, KeySource<typename K::Input> Source, class Take, class Sink>
void pipeline(const K& kind, const Source& source, std::size_t lookahead, Take&& take,
              Sink&& sink) {
  using Input = typename K::Input;
  const std::size_t size = source.size();
  const auto call_for = [&](const Input* inputs, std::size_t n) __attribute__((always_inline)) {
    if constexpr (requires { take.begin(inputs, n); })
      take.begin(inputs, n);
    else if constexpr (Prefetchable<K>)
      for (std::size_t i = 0; i < n; ++i) kind.prefetch(kind.locate(inputs[i]));
  };
  // A step prefetches as many inputs as are ahead of it. Near the end fewer are ahead than before,
  // so all the remaining ones are prefetched at once.
  const auto call_for_the_rest = [&](const Input* inputs, std::size_t n, std::size_t ahead)
      __attribute__((always_inline)) {
    if constexpr (!requires { take.begin(inputs, n); })
      if (ahead < lookahead && n + ahead > lookahead)
        call_for(inputs + lookahead, n + ahead - lookahead);
  };
  if constexpr (requires { source.inputs(); }) {
    // The inputs lie there already.
    const Input* const inputs = source.inputs();
    call_for(inputs, std::min(lookahead, size));
    for (std::size_t done = 0; done < size; done += step_keys) {
      const std::size_t n = std::min(step_keys, size - done);
      const std::size_t ahead = std::min(lookahead, size - done - n);
      call_for_the_rest(inputs + done, n, ahead);
      sink(done, n, take(inputs + done, n, ahead));
    }
  } else {
    // A window slides over the inputs: made, not yet used. It moves back to the start of its buffer
    // from time to time.
    std::array<Input, 5 * step_keys + lookahead_of<K>()> room;
    std::size_t made = std::min(lookahead, size);
    source.make(0, made, room.data());
    call_for(room.data(), made);
    const Input* window = room.data();
    for (std::size_t done = 0; done < size;) {
      const std::size_t n = std::min(step_keys, size - done);
      if (window + lookahead + step_keys > room.data() + room.size())
        window = std::copy(window, window + (made - done), room.data()) - (made - done);
      const std::size_t more = std::min(lookahead + n, size - done) - (made - done);
      source.make(made, more, room.data() + (window - room.data()) + (made - done));
      made += more;
      call_for_the_rest(window, n, made - done - n);
      sink(done, n, take(window, n, made - done - n));
      done += n;
      window += n;
    }
  }
}

// -- where answers go ----------------------------------------------------------------------------

struct CountOnly {
  void operator()(std::size_t, std::size_t, std::uint64_t) const {}
};

// One bool per key.
class ToBools {
 public:
  explicit ToBools(bool* answers) : answers_(answers) {}
  void operator()(std::size_t first, std::size_t n, std::uint64_t bits) const {
    std::size_t i = 0;
    // Eight bits to the low bits of eight bytes: three doublings, each half a copy of the whole.
    for (; i + 8 <= n; i += 8) {
      std::uint64_t spread = (bits >> i) & 0xff;
      spread = (spread | spread << 28) & 0x0000'000f'0000'000f;
      spread = (spread | spread << 14) & 0x0003'0003'0003'0003;
      spread = (spread | spread << 7) & 0x0101'0101'0101'0101;
      if constexpr (std::endian::native == std::endian::big) spread = __builtin_bswap64(spread);
      std::memcpy(answers_ + first + i, &spread, sizeof spread);
    }
    for (; i < n; ++i) answers_[first + i] = (bits >> i) & 1;
  }

 private:
  bool* answers_;
};

// Bit i % 64 of word i / 64 tells of key i; the bits beyond the last key are zero.
class ToMask {
 public:
  explicit ToMask(std::uint64_t* words) : words_(words) {}
  void operator()(std::size_t first, std::size_t, std::uint64_t bits) const {
    words_[first / step_keys] = bits;
  }

 private:
  std::uint64_t* words_;
};
static_assert(step_keys == 64, "a step is a word of a mask");

// -- the verbs ----------------------------------------------------------------------------------

// Adds every key in order; returns how many were surely new.
template <Addable K, KeySource<typename K::Input> Source, class Sink>
requires(!Bounded<K>) std::size_t
    add_all(K& kind, const Source& source, Sink&& sink, std::size_t lookahead) {
  std::size_t count = 0;
  pipeline(
      kind, source, lookahead,
      [&](const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
        return add_step(kind, inputs, n, ahead);
      },
      [&](std::size_t first, std::size_t n, std::uint64_t bits) {
        count += static_cast<std::size_t>(std::popcount(bits));
        sink(first, n, bits);
      });
  return count;
}

template <Addable K, KeySource<typename K::Input> Source, class Sink>
requires(!Bounded<K>) std::size_t add_all(K& kind, const Source& source, Sink&& sink) {
  return add_all(kind, source, sink, lookahead_for(kind));
}

struct AddedUntilFull {
  std::size_t added = 0;
  std::size_t fresh = 0;  // of those
};

// Adds inputs in order up to the first that finds no room. fresh[i], unless null, tells of input i.
template <Bounded K>
AddedUntilFull add_until_full(K& kind, std::span<const typename K::Input> inputs, bool* fresh) {
  constexpr std::size_t lookahead = lookahead_of<K>();
  const std::size_t n = inputs.size();
  for (std::size_t i = 0; i < std::min(lookahead, n); ++i) kind.prefetch(kind.locate(inputs[i]));
  AddedUntilFull so_far;
  for (; so_far.added < n; ++so_far.added) {
    const std::size_t i = so_far.added;
    if (i + lookahead < n) kind.prefetch(kind.locate(inputs[i + lookahead]));
    const Added added = kind.add(kind.locate(inputs[i]));
    if (added == Added::full) break;
    so_far.fresh += added == Added::fresh;
    if (fresh != nullptr) fresh[i] = added == Added::fresh;
  }
  return so_far;
}

// Asks for every key; returns how many may be there. Keys without a place are not.
template <Kind K, KeySource<typename K::Input> Source, class Sink>
std::size_t may_contain_all(const K& kind, const Source& source, Sink&& sink,
                            std::size_t lookahead) {
  std::size_t count = 0;
  const auto counted = [&](std::size_t first, std::size_t n, std::uint64_t bits) {
    bits &= source.have_place(first, n);
    count += static_cast<std::size_t>(std::popcount(bits));
    sink(first, n, bits);
  };
  if constexpr (SlotKeeping<K>)
    pipeline(kind, source, lookahead, SlotAsker<K>(kind), counted);
  else
    pipeline(
        kind, source, lookahead,
        [&](const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
          return ask_step(kind, inputs, n, ahead);
        },
        counted);
  return count;
}
template <Kind K, KeySource<typename K::Input> Source, class Sink>
std::size_t may_contain_all(const K& kind, const Source& source, Sink&& sink) {
  return may_contain_all(kind, source, sink, lookahead_for(kind));
}

// counts[i] is how often key i was added, by what the kind knows; 0 for keys without a place.
template <Countable K, KeySource<typename K::Input> Source>
void count_all(const K& kind, const Source& source, std::uint64_t* counts) {
  std::uint64_t* next = counts;
  pipeline(
      kind, source, lookahead_for(kind),
      [&](const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
        return detail::step(kind, inputs, n, ahead, [&](const typename K::Input& input) {
          return (*next++ = kind.count(kind.locate(input))) != 0;
        });
      },
      [&](std::size_t first, std::size_t n, std::uint64_t) {
        const std::uint64_t inside = source.have_place(first, n);
        for (std::size_t i = 0; i < n; ++i)
          if (((inside >> i) & 1) == 0) counts[first + i] = 0;
      });
}

// Calls remove(input) -> bool for every key that has a place, in order, and prefetches the next
// ones; returns how many were there.
template <Removable K, KeySource<typename K::Input> Source, class Remove, class Sink>
std::size_t remove_all(const K& kind, const Source& source, Remove&& remove, Sink&& sink) {
  std::size_t count = 0;
  std::size_t done = 0;
  pipeline(
      kind, source, lookahead_for(kind),
      [&](const typename K::Input* inputs, std::size_t n, std::size_t ahead) {
        std::uint64_t inside = source.have_place(done, n);
        done += n;
        return detail::step(kind, inputs, n, ahead, [&](const typename K::Input& input) {
          const bool has_place = (inside & 1) != 0;
          inside >>= 1;
          return has_place && remove(input);
        });
      },
      [&](std::size_t first, std::size_t n, std::uint64_t bits) {
        count += static_cast<std::size_t>(std::popcount(bits));
        sink(first, n, bits);
      });
  return count;
}

}  // namespace bloomery::inline v0::detail
