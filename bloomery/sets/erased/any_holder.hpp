// A set of one kind as an AnySet calls it: what the kind can do is done, what it cannot is refused
// with the reason and the alternative. For any_set.cpp only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/kinds.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/sets/erased/any_body.hpp>
#include <bloomery/sets/fold.hpp>

namespace bloomery::inline v0::detail {

// "classic, blocked and split-block"
inline std::string foldable_kinds() {
  std::vector<std::string_view> names;
  AllKinds::for_each([&]<class K>() {
    if constexpr (Foldable<K>) names.push_back(K::id.name);
  });
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return text;
}

// What KindRow::grown tells.
template <class K>
Result<Grown> grown_of(Want want, std::uint64_t keys) {
  if constexpr (requires { K::grown(want, keys); }) {
    return K::grown(want, keys);
  } else {
    if constexpr (WholeHashes<K>) want.keys = std::max(want.keys, keys);
    const auto shape = K::plan(want);
    if (!shape) return shape.error();
    std::uint64_t held = keys;
    if constexpr (requires { K::most_held(*shape, keys); }) held = K::most_held(*shape, keys);
    return Grown{K::bytes(*shape), K::expected_rate(*shape, Forgetting<K> ? keys : held), held};
  }
}

template <class K>
inline constexpr KindRow row_of{
    .id = K::id,
    .input = takes_ordinals<K> ? InputForm::ordinal : InputForm::hashed,
    .exact = Exact<K>,
    .whole_hashes = WholeHashes<K>,
    .wide_hashes = std::same_as<typename K::Input, WideHash>,
    .grows = !Kind<K> && !TwoListed<K>,
    .removes = Removable<K>,
    .counts = Countable<K>,
    .forgets = Forgetting<K>,
    .keeps_copies = Removable<K>&& Bounded<K>,
    .built = Buildable<K>,
    .two_lists = TwoListed<K>,
    .merges = Uniting<K>,
    .in_place = InPlace<K>,
    .complete = [](Want want) { return complete<K>(want); },
    .planned_bytes = [](const Want& want) -> Result<std::uint64_t> {
      const auto shape = K::plan(want);
      if (!shape) return shape.error();
      return K::bytes(*shape);
    },
    .grown = [](const Want& want, std::uint64_t keys) { return grown_of<K>(want, keys); },
};

template <class K>
struct Holder : AnySet::Body {
  using Held = detail::Body<K>;
  using Input = typename K::Input;
  static constexpr bool hashed = !takes_ordinals<K>;

  explicit Holder(Held held) : held(std::move(held)) {}

  const KindRow& row() const override { return row_of<K>; }

  Result<std::size_t> add(const AnyInputs& inputs, bool* fresh) override {
    if constexpr (Buildable<K> || TwoListed<K>) {
      if (std::holds_alternative<std::span<const Ordinal>>(inputs)) return wrong_keys(inputs);
      return no_more_keys();
    } else {
      const Span* const mine = std::get_if<Span>(&inputs);
      if (mine == nullptr) return wrong_keys(inputs);
      if constexpr (!hashed)
        if (auto outside = first_outside(*mine)) return *outside;
      if constexpr (!Kind<K>)
        return held.add_all(*mine, fresh);
      else if (fresh == nullptr)
        return held.add_from(ReadyInputs<Input>(*mine), CountOnly{});
      else
        return held.add_from(ReadyInputs<Input>(*mine), ToBools(fresh));
    }
  }

  Result<void> ask(const AnyInputs& inputs, bool* answers) const override {
    const Span* const mine = std::get_if<Span>(&inputs);
    if (mine == nullptr) return wrong_keys(inputs);
    if constexpr (Kind<K>)
      held.ask_from(source(*mine), ToBools(answers));
    else
      held.may_contain_all(*mine, answers);
    return {};
  }

  Result<std::size_t> remove(const AnyInputs& inputs, bool* removed) override {
    const Span* const mine = std::get_if<Span>(&inputs);
    if (mine == nullptr) return wrong_keys(inputs);
    if constexpr (Removable<K>) {
      if (const char* why = held.removal_refused()) return Error{Code::unsound, why};
      return removed == nullptr ? held.remove_from(source(*mine), CountOnly{})
                                : held.remove_from(source(*mine), ToBools(removed));
    } else {
      return no_removal();
    }
  }

  Result<void> count(const AnyInputs& inputs, std::uint64_t* counts) const override {
    const Span* const mine = std::get_if<Span>(&inputs);
    if (mine == nullptr) return wrong_keys(inputs);
    if constexpr (Countable<K>) {
      count_all(held.kind(), source(*mine), counts);
      return {};
    } else {
      return Error{Code::unsound, "a " + std::string(K::id.name) +
                                      " set does not know how often a key was added; use spectral"};
    }
  }

  Result<void> merge(Merge how, const AnySet::Body& other_body) override {
    const Held& other = static_cast<const Holder&>(other_body).held;
    switch (how) {
      case Merge::unite:
        if constexpr (requires { held.unite(other); }) return held.unite(other);
        return no_merge("union");
      case Merge::intersect:
        if constexpr (requires { held.intersect(other); }) return held.intersect(other);
        return no_merge("intersection");
      case Merge::subtract:
        if constexpr (requires { held.subtract(other); }) return held.subtract(other);
        return unsound("difference");
      case Merge::exclusive:
        if constexpr (requires { held.exclusive(other); }) return held.exclusive(other);
        return unsound("exclusive or");
    }
    return {};
  }

  Result<void> clear() override {
    if constexpr (Clearable<K>)
      return held.clear();
    else
      return cannot_be_empty(K::id.name);
  }

  // Keys of another sort than the kind takes.
  static Error wrong_keys(const AnyInputs& inputs) {
    if (std::holds_alternative<std::span<const Ordinal>>(inputs))
      return wrong_input(K::id.name, "hashed keys, not integers as themselves");
    if (std::holds_alternative<std::span<const WideHash>>(inputs))
      return wrong_input(K::id.name, "64-bit hashes, not those of 128 bits");
    return wrong_input(K::id.name, "keys of its own sort, not 64-bit hashes");
  }
  static Error no_more_keys() {
    if constexpr (TwoListed<K>)
      return K::takes_no_more();
    else
      return takes_no_more(K::id.name);
  }
  static Error no_removal() {
    const std::string name(K::id.name);
    if constexpr (TwoListed<K>)
      return {Code::unsound, "a " + name + " cannot remove a key; build it again from both lists"};
    if constexpr (Buildable<K>)
      return {Code::unsound, "a " + name +
                                 " set cannot remove a key; build it again from the remaining "
                                 "keys, or use a counting set"};
    if constexpr (Exact<K> || WholeHashes<K>)
      return {Code::unsound, name + " sets have no removal of single keys; subtract a set of them"};
    return {Code::unsound, "removing a key from a " + name +
                               " set would clear bits that other keys need, and forget them; use a "
                               "counting set, or build from the remaining keys"};
  }
  static Error no_merge(const char* what) {
    if constexpr (Buildable<K>)
      return {Code::unsound, std::string(K::id.name) + " sets have no " + what +
                                 ": their bits belong to the keys they were built from; build one "
                                 "from all keys, or use blocked"};
    return {Code::unsound, std::string(K::id.name) + " sets have no " + what +
                               "; make one set and add the keys of both, or use blocked"};
  }
  static Error unsound(const char* what) {
    if constexpr (Buildable<K>)
      return {Code::unsound, std::string("the ") + what + " of two " + std::string(K::id.name) +
                                 " sets cannot be told from their bits; build one from the "
                                 "remaining keys, or use a bitmap for integers"};
    if constexpr (Exact<K> || WholeHashes<K>)
      return {Code::unsound,
              std::string(K::id.name) + " sets have no " + what + "; use bitmaps for integers"};
    return {Code::unsound, std::string("the ") + what + " of two " + std::string(K::id.name) +
                               " sets would clear bits that other keys need, and forget them; "
                               "use a bitmap for integers, or build from the remaining keys"};
  }

  static Error no_fold() {
    return {Code::unsound, std::string(K::id.name) + " sets cannot be folded; only " +
                               foldable_kinds() +
                               " have bits whose neighbours can be joined: build a smaller set "
                               "from the keys"};
  }
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) override {
    if constexpr (Forgetting<K>)
      return held.kind().advance_to(time, span);
    else
      return Error{Code::unsupported,
                   "a " + std::string(K::id.name) + " set forgets nothing by time; use a window"};
  }
  void cap_memory(std::uint64_t bytes) override {
    if constexpr (requires { held.cap_memory(bytes); }) held.cap_memory(bytes);
  }
  Result<std::uint64_t> best_fold(double rate) const override {
    if constexpr (Foldable<K>)
      return detail::best_fold(held, rate);
    else
      return no_fold();
  }
  Result<std::unique_ptr<AnySet::Body>> folded(std::uint64_t factor, double rate) const override {
    if constexpr (Foldable<K>) {
      auto smaller = detail::folded(held, factor, rate);
      if (!smaller) return smaller.error();
      return std::unique_ptr<AnySet::Body>(std::make_unique<Holder>(std::move(*smaller)));
    } else {
      return no_fold();
    }
  }

  BodyFacts facts() const override {
    BodyFacts facts{held.bytes(), held.adds(), held.capacity(), held.rate_asked()};
    if constexpr (Countable<K>) facts.most_count = held.kind().most_count();
    if constexpr (Forgetting<K>) {
      facts.time_span = held.kind().time_span();
      facts.time_told = held.kind().time_told();
    }
    if constexpr (!hashed) facts.range = {held.kind().shape().low, held.kind().shape().high};
    if constexpr (TwoListed<K>) facts.lists = {held.allowed(), held.listed()};
    return facts;
  }
  double estimate() const override { return held.estimate(); }
  double rate_now() const override { return held.rate_now(); }
  double expected_rate_now() const override { return held.expected_rate_now(); }
  double fill_ratio() const override { return held.fill_ratio(); }
  bool overfull() const override { return held.overfull(); }

  std::vector<std::pair<std::string, std::string>> shape_facts() const override {
    if constexpr (Kind<K>)
      return shape_facts_of<K>(held.kind().shape());
    else if constexpr (requires { held.links(); })
      return {{"links", std::to_string(held.links())}};
    else if constexpr (requires { shape_facts_of<K>(held.shape()); })
      return shape_facts_of<K>(held.shape());
    else if constexpr (TwoListed<K>)
      return shape_facts_of<BlockedBloom>(held.filter().kind().shape());
    else
      return {};
  }

  std::optional<std::uint64_t> stuck() const override {
    if constexpr (requires { held.kind().stuck(); })
      return held.kind().stuck();
    else
      return std::nullopt;
  }

  Result<Parts> parts() const override { return held.parts(); }

  void mark_chunks(const AnyInputs& inputs, ChunkMarks& marks) const override {
    if constexpr (InPlace<K>) {
      if (const Span* const mine = std::get_if<Span>(&inputs)) {
        for (const Input input : *mine) {
          if constexpr (!hashed)
            if (!held.kind().in_range(input)) continue;
          held.kind().each_byte(held.kind().locate(input),
                                [&](std::uint64_t byte) { marks.mark(byte); });
        }
        return;
      }
    }
    marks.mark_all();
  }
  // Into the L1 cache, unlike prefetch() of the kinds: on Zen 5 a hint for the L2 cache begins too
  // late to help a lone key (docs/dead_ends.md "Live sets").
  void prefetch(const AnyInputs& inputs) const override {
    if constexpr (InPlace<K>) {
      const Span* const mine = std::get_if<Span>(&inputs);
      if (mine == nullptr) return;
      const std::byte* const payload = held.payload().data();
      for (const Input input : *mine) {
        if constexpr (!hashed)
          if (!held.kind().in_range(input)) continue;
        held.kind().each_byte(held.kind().locate(input), [&](std::uint64_t byte) {
          __builtin_prefetch(payload + byte, 1, 3);
        });
      }
    }
  }
  void tell_adds(std::uint64_t adds) override {
    if constexpr (requires { held.tell_adds(adds); }) held.tell_adds(adds);
  }

  Held held;

 private:
  using Span = std::span<const Input>;

  // What the kind is given to look for: integers outside the range of a map have no place in it.
  auto source(Span inputs) const {
    if constexpr (hashed)
      return ReadyInputs<Input>(inputs);
    else
      return Ordinals<Ordinal>(inputs, held.kind().shape().low, held.kind().shape().high);
  }

  std::optional<Error> first_outside(Span ordinals) const requires(!hashed) {
    for (const Ordinal n : ordinals)
      if (!held.kind().in_range(n))
        return Error{Code::out_of_range, std::to_string(n.value) +
                                             " is outside the range of the set, " +
                                             std::to_string(held.kind().shape().low) + ".." +
                                             std::to_string(held.kind().shape().high)};
    return std::nullopt;
  }
};

}  // namespace bloomery::inline v0::detail
