// The pipeline, once, for every kind: hash some keys ahead, prefetch their memory, and add or ask
// those whose memory has arrived, so that many cache misses are in flight at once.
//
//    keys     . . . . . . . . . . . . . . . . .   texts: their bytes are prefetched first
//             |           |               |
//             add / ask   prefetched      hashed
//             a step      64 at most      a step more
//
// The keys come from a source (key_source.hpp); adding() or asking() says what is done with a
// step of them, and its answers, up to 64 bits, go to a sink:
//
//    pipeline(kind, source, lookahead_for(kind), adding(kind), CountOnly{})
//
// Kinds with kernels of their own (Batched) are handed whole steps. Those whose kernels also call
// for the keys that come next (Fusing), and hash them if they are integers, keep what they need of
// a key meanwhile; only the last keys, less than a step, go through the pipeline then.
// Limits:  a kind that can be full (Bounded) may stop the pipeline, which tells where.
// Threads: as the kind's add and may_contain.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/bulk/probe_steps.hpp>
#include <bloomery/detail/sets/concepts.hpp>

namespace bloomery::inline v0::detail {

// How far ahead a kind prefetches at most: K::lookahead for kinds whose keys wait at several
// places, otherwise a step.
template <class K>
constexpr std::size_t lookahead_of() {
  if constexpr (requires { K::lookahead; })
    return K::lookahead;
  else
    return step_keys;
}

template <Kind K>
constexpr std::size_t lookahead_for(const K&) {
  return lookahead_of<K>();
}

// A step that ended early: `taken` inputs were used, the next one finds no room.
struct CutStep {
  std::uint64_t answers = 0;
  std::size_t taken = 0;
};

// Calls use(input) for the first n of the inputs, each after the input `ahead` places later was
// prefetched; bit i of the answer is the result of use(inputs[i]).
template <class K, class Use>
[[gnu::always_inline]] inline std::uint64_t step_one_by_one(const K& kind,
                                                            const typename K::Input* inputs,
                                                            std::size_t n, std::size_t ahead,
                                                            Use&& use) {
  std::uint64_t answers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (requires { kind.prefetch(kind.locate(inputs[i])); })
      if (ahead != 0) kind.prefetch(kind.locate(inputs[i + ahead]));
    answers |= std::uint64_t{use(inputs[i])} << i;
  }
  return answers;
}

template <Batched K>
struct AddSteps {
  K& kind;
  std::uint64_t operator()(const typename K::Input* inputs, std::size_t n,
                           std::size_t ahead) const {
    return kind.add_step(inputs, n, ahead);
  }
  std::uint64_t fused(CalledKeys& called, const NextKeys& next) const requires Fusing<K> {
    return kind.add_fused(called, next);
  }
};

template <Batched K>
struct AskSteps {
  const K& kind;
  std::uint64_t operator()(const typename K::Input* inputs, std::size_t n,
                           std::size_t ahead) const {
    return kind.ask_step(inputs, n, ahead);
  }
  std::uint64_t fused(CalledKeys& called, const NextKeys& next) const requires Fusing<K> {
    return kind.ask_fused(called, next);
  }
};

// Adds n <= 64 inputs in order; `ahead` more follow them in the array. Bit i: input i was new.
template <Addable K>
auto adding(K& kind) {
  using Input = typename K::Input;
  if constexpr (ProbeAddable<K>)
    return adding_probes(kind);
  else if constexpr (Batched<K>)
    return AddSteps<K>{kind};
  else if constexpr (Bounded<K>)
    return [&kind](const Input* inputs, std::size_t n, std::size_t ahead) {
      CutStep step;
      for (; step.taken < n; ++step.taken) {
        if (ahead != 0) kind.prefetch(kind.locate(inputs[step.taken + ahead]));
        const Added added = kind.add(kind.locate(inputs[step.taken]));
        if (added == Added::full) break;
        step.answers |= std::uint64_t{added == Added::fresh} << step.taken;
      }
      return step;
    };
  else
    return [&kind](const Input* inputs, std::size_t n, std::size_t ahead) {
      return step_one_by_one(kind, inputs, n, ahead, [&](const Input& input) {
        return kind.add(kind.locate(input)) == Added::fresh;
      });
    };
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

// Bit i: input i may be there.
template <Kind K>
auto asking(const K& kind) {
  using Input = typename K::Input;
  if constexpr (Probing<K>)
    return asking_probes(kind);
  else if constexpr (SlotKeeping<K>)
    return SlotAsker<K>(kind);
  else if constexpr (Batched<K>)
    return AskSteps<K>{kind};
  else
    return [&kind](const Input* inputs, std::size_t n, std::size_t ahead) {
      return step_one_by_one(kind, inputs, n, ahead, [&](const Input& input) {
        return kind.may_contain(kind.locate(input));
      });
    };
}

// What came of a pipeline: how many inputs were used, all unless a step ended early, and how many
// answers are yes.
struct Piped {
  std::size_t taken = 0;
  std::size_t yes = 0;
};

// A step of keys for a fused loop: where they lie, or in `room`.
template <KeySource<Hash> Source>
NextKeys step_of_keys(const Source& source, std::size_t first, std::uint64_t (&room)[step_keys]) {
  if constexpr (requires { source.words(first, room); })
    if (source.hashed_by_kernels()) return {source.words(first, room), false, source.flip()};
  if constexpr (requires { source.inputs(); }) {
    return {bare_words(source.inputs() + first), true, 0};
  } else {
    source.make(first, step_keys, reinterpret_cast<Hash*>(room));
    return {room, true, 0};
  }
}

// Takes all whole steps of the keys in fused loops; calls note(answers) for each.
template <Fusing K, KeySource<Hash> Source, class Take, class Note>
void take_fused(const K& kind, const Source& source, const Take& take, Note&& note) {
  const std::size_t steps = source.size() / step_keys;
  std::uint64_t room[step_keys]{};
  CalledKeys called;
  kind.call(called, step_of_keys(source, 0, room));
  for (std::size_t step = 1; step < steps; ++step)
    note(take.fused(called, step_of_keys(source, step * step_keys, room)));
  // Nothing comes after the last step. It calls for whatever lies in the room: old keys, or zeros.
  note(take.fused(called, {room, true, 0}));
}

// Calls take(inputs, n, ahead) -> answers for step after step, and sink(index of the first, n,
// answers) for its answers; keys without a place have no for an answer. If `take` has
// begin(inputs, n), that is called for the first inputs instead of a prefetch; if it has
// fused(called, next), that is called for whole steps.
// `lookahead`: lookahead_of<K>() at most.
template <class K, KeySource<typename K::Input> Source, class Take, class Sink>
Piped pipeline(K& kind, const Source& source, std::size_t lookahead, Take&& take, Sink&& sink) {
  using Input = typename K::Input;
  const std::size_t size = source.size();
  const auto call_for = [&](const Input* inputs, std::size_t n) __attribute__((always_inline)) {
    if constexpr (requires { take.begin(inputs, n); })
      take.begin(inputs, n);
    else if constexpr (requires { kind.prefetch(kind.locate(*inputs)); })
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
  Piped piped;
  // Notes the answers of a step of n inputs; true when all of them were taken.
  const auto note = [&](const CutStep& step, std::size_t n) __attribute__((always_inline)) {
    const std::uint64_t answers = step.answers & source.have_place(piped.taken, n);
    piped.yes += static_cast<std::size_t>(std::popcount(answers));
    sink(piped.taken, step.taken, answers);
    piped.taken += step.taken;
    return step.taken == n;
  };
  // Takes the n inputs after those that were taken.
  const auto take_step = [&](const Input* inputs, std::size_t n, std::size_t ahead)
      __attribute__((always_inline)) {
    if constexpr (std::same_as<decltype(take(inputs, n, ahead)), CutStep>)
      return note(take(inputs, n, ahead), n);
    else
      return note({take(inputs, n, ahead), n}, n);
  };
  if constexpr (requires(CalledKeys & called, const NextKeys& next) { take.fused(called, next); })
    if (size >= 2 * step_keys && kind.fuses())
      take_fused(kind, source, take, [&](std::uint64_t answers) {
        note({answers, step_keys}, step_keys);
      });
  if constexpr (requires { source.inputs(); }) {
    // The inputs lie there already.
    const Input* const inputs = source.inputs();
    call_for(inputs + piped.taken, std::min(lookahead, size - piped.taken));
    for (std::size_t done = piped.taken; done < size; done += step_keys) {
      const std::size_t n = std::min(step_keys, size - done);
      const std::size_t ahead = std::min(lookahead, size - done - n);
      call_for_the_rest(inputs + done, n, ahead);
      if (!take_step(inputs + done, n, ahead)) break;
    }
  } else {
    // A window slides over the inputs: made, not yet used. It moves back to the start of its buffer
    // from time to time.
    std::array<Input, 5 * step_keys + lookahead_of<K>()> room;
    std::size_t made = std::min(piped.taken + lookahead, size);
    source.make(piped.taken, made - piped.taken, room.data());
    call_for(room.data(), made - piped.taken);
    const Input* window = room.data();
    for (std::size_t done = piped.taken; done < size;) {
      const std::size_t n = std::min(step_keys, size - done);
      if (window + lookahead + step_keys > room.data() + room.size())
        window = std::copy(window, window + (made - done), room.data()) - (made - done);
      const std::size_t more = std::min(lookahead + n, size - done) - (made - done);
      Input* const place = room.data() + (window - room.data()) + (made - done);
      source.make(made, more, place);
      made += more;
      call_for_the_rest(window, n, made - done - n);
      if (!take_step(window, n, made - done - n)) break;
      done += n;
      window += n;
    }
  }
  return piped;
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

// Bit `begin + i` of a vector of bool tells of key i. Slower: one bit at a time.
class ToVector {
 public:
  ToVector(std::vector<bool>& answers, std::size_t begin) : answers_(answers), begin_(begin) {}
  void operator()(std::size_t first, std::size_t n, std::uint64_t bits) const {
    for (std::size_t i = 0; i < n; ++i) answers_[begin_ + first + i] = (bits >> i) & 1;
  }

 private:
  std::vector<bool>& answers_;
  std::size_t begin_;
};

// -- verbs of a few kinds ------------------------------------------------------------------------

// counts[i] is how often key i was added, by what the kind knows; 0 for keys without a place.
template <Countable K, KeySource<typename K::Input> Source>
void count_all(const K& kind, const Source& source, std::uint64_t* counts) {
  using Input = typename K::Input;
  std::uint64_t* next = counts;
  const auto count_step = [&](const Input* inputs, std::size_t n, std::size_t ahead) {
    return step_one_by_one(kind, inputs, n, ahead, [&](const Input& input) {
      return (*next++ = kind.count(kind.locate(input))) != 0;
    });
  };
  pipeline(kind, source, lookahead_for(kind), count_step,
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
  using Input = typename K::Input;
  std::size_t done = 0;
  const auto remove_step = [&](const Input* inputs, std::size_t n, std::size_t ahead) {
    std::uint64_t inside = source.have_place(done, n);
    done += n;
    return step_one_by_one(kind, inputs, n, ahead, [&](const Input& input) {
      const bool has_place = (inside & 1) != 0;
      inside >>= 1;
      return has_place && remove(input);
    });
  };
  return pipeline(kind, source, lookahead_for(kind), remove_step, sink).yes;
}

}  // namespace bloomery::inline v0::detail
