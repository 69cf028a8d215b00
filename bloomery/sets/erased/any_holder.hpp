// A set of one kind as an AnySet calls it: what the kind can do is done, what it cannot is refused
// with the reason and the alternative. For any_set.cpp only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/groups.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/kinds.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/sets/erased/any_body.hpp>
#include <bloomery/sets/fold.hpp>

namespace bloomery::inline v0::detail {

template <class K>
struct Holder : AnySet::Body {
  using Held = detail::Body<K>;
  using Input = typename K::Input;
  static constexpr bool hashed = !takes_ordinals<K>;

  explicit Holder(Held held) : held(std::move(held)) {}

  const KindRow& row() const override { return row_of<K>; }

  static Error not_text() { return wrong_input(K::id.name, "integers, not text"); }
  static Error not_hashes() {
    return wrong_input(K::id.name, "keys of its own sort, not 64-bit hashes");
  }
  static Error not_integers() {
    return wrong_input(K::id.name, "hashed keys, not integers as themselves");
  }
  Ordinals<Ordinal> places(std::span<const Ordinal> ordinals) const requires(!hashed) {
    const auto [low, high] = held.kind().shape();
    return {ordinals, low, high};
  }

  template <class Sink>
  Result<std::size_t> add_source(const Texts<std::string_view, Input>& texts, Sink&& sink) {
    if constexpr (Buildable<K>)
      return takes_no_more(K::id.name);
    else if constexpr (TwoListed<K>)
      return K::takes_no_more();
    else if constexpr (Kind<K> && !Bounded<K>)
      return held.add_all(texts, sink);
    else
      return add_in_groups(held, texts, sink);
  }

  Result<std::size_t> add_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                bool* fresh) override {
    if constexpr (!hashed) {
      return not_text();
    } else {
      const Texts<std::string_view, Input> texts(keys, hasher);
      return fresh == nullptr ? add_source(texts, CountOnly{}) : add_source(texts, ToBools(fresh));
    }
  }

  Result<void> ask_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                         bool* answers) const override {
    if constexpr (!hashed) {
      return not_text();
    } else {
      const Texts<std::string_view, Input> texts(keys, hasher);
      if constexpr (Kind<K>)
        held.may_contain_all(texts, ToBools(answers));
      else
        ask_in_groups(held, texts, ToBools(answers));
      return {};
    }
  }

  Result<std::size_t> add_hashes(std::span<const Hash> hashes, bool* fresh) override {
    if constexpr (Buildable<K>)
      return takes_no_more(K::id.name);
    else if constexpr (TwoListed<K>)
      return K::takes_no_more();
    else if constexpr (takes_hashes<K>)
      return held.add_all(hashes, fresh);
    else
      return not_hashes();
  }

  Result<void> ask_hashes(std::span<const Hash> hashes, bool* answers) const override {
    if constexpr (takes_hashes<K>) {
      held.may_contain_all(hashes, answers);
      return {};
    } else {
      return not_hashes();
    }
  }

  static constexpr bool wide = std::same_as<Input, WideHash>;
  bool takes_wide_hashes() const override { return wide; }
  Result<std::size_t> add_wide(std::span<const WideHash> hashes, bool* fresh) override {
    if constexpr (TwoListed<K>)
      return K::takes_no_more();
    else if constexpr (wide)
      return held.add_all(hashes, fresh);
    else
      return wrong_input(K::id.name, "64-bit hashes, not those of 128 bits");
  }
  Result<void> ask_wide(std::span<const WideHash> hashes, bool* answers) const override {
    if constexpr (wide) {
      ask_in_groups(held, ReadyInputs<WideHash>(hashes), ToBools(answers));
      return {};
    } else {
      return wrong_input(K::id.name, "64-bit hashes, not those of 128 bits");
    }
  }

  Result<std::size_t> add_ordinals(std::span<const Ordinal> ordinals, bool* fresh) override {
    if constexpr (hashed) {
      return not_integers();
    } else {
      for (const Ordinal n : ordinals)
        if (!held.kind().in_range(n))
          return Error{Code::out_of_range, std::to_string(n.value) +
                                               " is outside the range of the set, " +
                                               std::to_string(held.kind().shape().low) + ".." +
                                               std::to_string(held.kind().shape().high)};
      return held.add_all(ordinals, fresh);
    }
  }

  Result<void> ask_ordinals(std::span<const Ordinal> ordinals, bool* answers) const override {
    if constexpr (hashed) {
      return not_integers();
    } else {
      held.may_contain_all(places(ordinals), ToBools(answers));
      return {};
    }
  }

  template <class Source>
  Result<std::size_t> remove_source(const Source& source, bool* removed) {
    if constexpr (Removable<K>) {
      if (const char* why = held.removal_refused()) return Error{Code::unsound, why};
      return removed == nullptr ? held.remove_all(source, CountOnly{})
                                : held.remove_all(source, ToBools(removed));
    } else if constexpr (TwoListed<K>) {
      return Error{Code::unsound, "a " + std::string(K::id.name) +
                                      " cannot let go of a key; build it anew from both lists"};
    } else if constexpr (Buildable<K>) {
      return Error{Code::unsound, "a " + std::string(K::id.name) +
                                      " set cannot let go of a key; build it anew from the "
                                      "remaining keys, or use a counting set"};
    } else if constexpr (Exact<K> || WholeHashes<K>) {
      return Error{
          Code::unsound,
          std::string(K::id.name) + " sets have no removal of single keys; subtract a set of them"};
    } else {
      return Error{
          Code::unsound,
          "removing a key from a " + std::string(K::id.name) +
              " set would clear bits that other keys need, and forget them; use a counting "
              "set, or build from the remaining keys"};
    }
  }
  Result<std::size_t> remove_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                   bool* removed) override {
    if constexpr (hashed)
      return remove_source(Texts<std::string_view, Input>(keys, hasher), removed);
    else
      return not_text();
  }
  Result<std::size_t> remove_hashes(std::span<const Hash> hashes, bool* removed) override {
    if constexpr (takes_hashes<K>)
      return remove_source(ReadyInputs<Hash>(hashes), removed);
    else
      return not_hashes();
  }
  Result<std::size_t> remove_ordinals(std::span<const Ordinal> ordinals, bool* removed) override {
    if constexpr (!hashed)
      return remove_source(places(ordinals), removed);
    else
      return not_integers();
  }

  template <class Source>
  Result<void> count_source(const Source& source, std::uint64_t* counts) const {
    if constexpr (Countable<K>) {
      count_all(held.kind(), source, counts);
      return {};
    } else {
      return Error{Code::unsound, "a " + std::string(K::id.name) +
                                      " set does not know how often a key was added; use spectral"};
    }
  }
  Result<void> count_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                           std::uint64_t* counts) const override {
    if constexpr (hashed)
      return count_source(Texts<std::string_view, Input>(keys, hasher), counts);
    else
      return not_text();
  }
  Result<void> count_hashes(std::span<const Hash> hashes, std::uint64_t* counts) const override {
    if constexpr (takes_hashes<K>)
      return count_source(ReadyInputs<Hash>(hashes), counts);
    else
      return not_hashes();
  }
  Result<void> count_ordinals(std::span<const Ordinal> ordinals,
                              std::uint64_t* counts) const override {
    if constexpr (!hashed)
      return count_source(places(ordinals), counts);
    else
      return not_integers();
  }
  std::uint64_t most_count() const override {
    if constexpr (Countable<K>)
      return held.kind().most_count();
    else
      return 0;
  }

  static const Held& as_mine(const AnySet::Body& other) {
    return static_cast<const Holder&>(other).held;
  }
  Result<void> unite(const AnySet::Body& other) override {
    if constexpr (requires { held.unite(as_mine(other)); })
      return held.unite(as_mine(other));
    else
      return no_merge("union");
  }
  Result<void> intersect(const AnySet::Body& other) override {
    if constexpr (requires { held.intersect(as_mine(other)); })
      return held.intersect(as_mine(other));
    else
      return no_merge("intersection");
  }
  Result<void> subtract(const AnySet::Body& other) override {
    if constexpr (requires { held.subtract(as_mine(other)); })
      return held.subtract(as_mine(other));
    else
      return unsound("difference");
  }
  Result<void> exclusive(const AnySet::Body& other) override {
    if constexpr (requires { held.exclusive(as_mine(other)); })
      return held.exclusive(as_mine(other));
    else
      return unsound("exclusive or");
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
    return {Code::unsound,
            std::string(K::id.name) +
                " sets cannot be folded; only classic, blocked and split-block have bits whose "
                "neighbours can be joined: build a smaller set from the keys"};
  }
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) override {
    if constexpr (Forgetting<K>)
      return held.kind().advance_to(time, span);
    else
      return Error{Code::unsupported,
                   "a " + std::string(K::id.name) + " set forgets nothing by time; use a window"};
  }
  std::uint64_t time_span() const override {
    if constexpr (Forgetting<K>)
      return held.kind().time_span();
    else
      return 0;
  }
  std::uint64_t time_told() const override {
    if constexpr (Forgetting<K>)
      return held.kind().time_told();
    else
      return 0;
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

  std::uint64_t bytes() const override { return held.bytes(); }
  std::uint64_t adds() const override { return held.adds(); }
  std::uint64_t capacity() const override { return held.capacity(); }
  double rate_asked() const override { return held.rate_asked(); }
  double estimate() const override { return held.estimate(); }
  double rate_now() const override { return held.rate_now(); }
  double expected_rate_now() const override { return held.expected_rate_now(); }
  double fill_ratio() const override { return held.fill_ratio(); }
  bool overfull() const override { return held.overfull(); }

  std::optional<Range> range() const override {
    if constexpr (hashed)
      return std::nullopt;
    else
      return Range{held.kind().shape().low, held.kind().shape().high};
  }

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

  std::optional<AnySet::Lists> lists() const override {
    if constexpr (TwoListed<K>)
      return AnySet::Lists{held.allowed(), held.listed()};
    else
      return std::nullopt;
  }

  Parts parts() const override { return held.parts(); }

  Held held;
};

}  // namespace bloomery::inline v0::detail
