// Steps of keys that have several places each (classic, counting, spectral): the places of a key
// are found once, a step before its turn, prefetched, and kept until they are used.
//
//    step      | key 0 | key 1 | ... | key 63 |      places of key i, side by side
//                ^ used; then the places of the key a step later are found and take its room
//
// Limits:  keys with more than kept_probes places have them found again at their turn.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <bloomery/detail/bits/kernels.hpp>
#include <bloomery/detail/bits/probes.hpp>
#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0::detail {

template <class S>
concept Probing = Kind<S> &&
    requires(const S asked, std::uint64_t place, const std::uint64_t* places) {
  { asked.probes() } -> std::convertible_to<const Probes&>;
  { asked.prefetch_place(place) } -> std::same_as<void>;
  { asked.has_at(places) } -> std::same_as<bool>;
};

template <class S>
concept ProbeAddable = Probing<S> && requires(S s, const std::uint64_t* places) {
  { s.add_at(places) } -> std::same_as<Added>;
};

// use(places) -> bool, for each key.
template <Probing K, class Use>
class ProbeSteps {
 public:
  ProbeSteps(const K& kind, Use use) : kind_(kind), use_(use), stride_(kind.probes().count()) {}

  void begin(const Hash* hashes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) call_for(hashes[i], i);
  }
  // Less than a whole step is the last: nothing is ahead.
  std::uint64_t operator()(const Hash* hashes, std::size_t n, std::size_t ahead) {
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < n; ++i) {
      answers |= std::uint64_t{use_(places(hashes[i], i))} << i;
      if (i + lookahead < n + ahead) call_for(hashes[i + lookahead], i);
    }
    return answers;
  }

 private:
  static constexpr std::size_t lookahead = K::lookahead;
  static_assert(step_keys % lookahead == 0, "a key takes the room of the one before it");
  static constexpr std::size_t kept_probes = 16;

  bool keeps() const { return stride_ <= kept_probes; }
  [[gnu::always_inline]] void call_for(Hash hash, std::size_t i) {
    const bool keeping = keeps();
    std::uint64_t* const places = kept_.data() + i % lookahead * stride_;
    kind_.probes().each(
        hash, [&](std::uint32_t j, std::uint64_t place) __attribute__((always_inline)) {
          if (keeping) places[j] = place;
          kind_.prefetch_place(place);
        });
  }
  [[gnu::always_inline]] const std::uint64_t* places(Hash hash, std::size_t i) {
    if (keeps()) return kept_.data() + i % lookahead * stride_;
    kind_.probes().find(hash, kept_.data());
    return kept_.data();
  }

  const K& kind_;
  Use use_;
  std::size_t stride_;
  std::array<std::uint64_t, lookahead * kept_probes> kept_;
};

template <ProbeAddable K>
auto adding_probes(K& kind) {
  const auto add = [&kind](const std::uint64_t* places) {
    return kind.add_at(places) == Added::fresh;
  };
  return ProbeSteps<K, decltype(add)>(kind, add);
}
template <Probing K>
auto asking_probes(const K& kind) {
  const auto ask = [&kind](const std::uint64_t* places) { return kind.has_at(places); };
  return ProbeSteps<K, decltype(ask)>(kind, ask);
}

}  // namespace bloomery::inline v0::detail
