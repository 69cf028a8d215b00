// A Set<K> as a Held: what the kinds that are known when this is compiled share.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "held/held.hpp"

namespace bloomery::python {

template <class K>
class HeldTyped : public Held {
 public:
  explicit HeldTyped(Set<K> set) : set_(std::move(set)) {}

  const KindRow& row() const override { return *AnySet::find_row(K::id.name); }
  const Hasher& hasher() const override { return set_.hasher(); }
  KeyRules rules() const override { return set_.rules(); }
  void note(KeyRules rules) override { set_.note(std::move(rules)); }

  Result<std::size_t> add_all(const KeySpan& keys, std::span<bool> fresh,
                              Threads threads) override {
    return with(keys, [&](const auto& span) {
      return fresh.empty() ? set_.try_add_all(span, threads) : set_.try_add_all(span, fresh);
    });
  }
  Result<std::size_t> ask_all(const KeySpan& keys, std::span<bool> answers,
                              Threads threads) const override {
    return with(keys, [&](const auto& span) {
      return answers.empty() ? set_.try_count_may_contain(span, threads)
                             : set_.try_may_contain_all(span, answers, threads);
    });
  }
  Result<std::size_t> remove_all(const KeySpan& keys, std::span<bool> removed) override {
    if constexpr (detail::Removable<K>)
      return with(keys, [&](const auto& span) { return set_.try_remove_all(span, removed); });
    else
      return unsound(
          "forget single keys: its bits belong to several keys; take kind 'counting' or "
          "'cuckoo'");
  }
  Result<void> counts(const KeySpan&, std::span<std::uint64_t>) const override {
    return unsound("count how often a key was added; take kind 'counting' or 'spectral'");
  }
  std::uint64_t most_count() const override { return 0; }

  Result<std::unique_ptr<Held>> clone() const override {
    auto copy = set_.clone();
    if (!copy) return copy.error();
    return hold(std::move(*copy));
  }
  bool equals(const Held& other) const override {
    const auto* same = dynamic_cast<const HeldTyped*>(&other);
    return same != nullptr && set_ == same->set_;
  }
  Result<void> unite(const Held& other) override {
    return beside(other, [&](const Set<K>& set) { return set_.try_unite(set); });
  }
  Result<void> intersect(const Held& other) override {
    return beside(other, [&](const Set<K>& set) { return set_.try_intersect(set); });
  }
  Result<void> subtract(const Held& other) override {
    if constexpr (detail::Subtractable<K>)
      return beside(other, [&](const Set<K>& set) { return set_.try_subtract(set); });
    else
      return unsound(
          "have keys taken out of it: that would clear bits which other keys need; "
          "only exact kinds have a difference");
  }
  Result<void> exclusive(const Held& other) override {
    if constexpr (detail::Exclusive<K>)
      return beside(other, [&](const Set<K>& set) { return set_.try_exclusive(set); });
    else
      return unsound("be combined by exclusive or; only bitmaps can");
  }
  Result<void> clear() override { return set_.try_clear(); }
  Result<void> advance_to(std::uint64_t, std::uint64_t) override {
    return unsound("forget by time; take kind 'window'");
  }
  Result<void> cap_memory(std::uint64_t) override { return {}; }  // it does not grow
  Result<void> save(const std::filesystem::path& path, Overwrite overwrite) const override {
    return set_.try_save(path, {.overwrite = overwrite});
  }
  Result<void> save_live(const std::filesystem::path& path, Overwrite overwrite) const override {
    return create_live(path, set_, {.overwrite = overwrite});
  }
  Result<std::vector<std::byte>> to_bytes() const override { return set_.try_to_bytes(); }

  std::uint64_t bytes() const override { return set_.bytes(); }
  std::uint64_t adds() const override { return set_.adds(); }
  std::uint64_t capacity() const override { return set_.capacity(); }
  double rate_asked() const override { return set_.rate_asked(); }
  double estimate() const override { return set_.estimate(); }
  double rate_now() const override { return set_.rate_now(); }
  double fill_ratio() const override { return set_.fill_ratio(); }
  bool overfull() const override { return set_.overfull(); }
  std::optional<Range> range() const override { return std::nullopt; }

 protected:
  Set<K> set_;

 private:
  static Error unsound(const std::string& what) {
    return {Code::unsound, "a " + std::string(K::id.name) + " set cannot " + what};
  }
  // use(span) for keys that this kind takes.
  template <class Use>
  static Result<std::size_t> with(const KeySpan& keys, Use&& use) {
    return std::visit(
        [&]<class T>(const std::span<const T>& span) -> Result<std::size_t> {
          if constexpr (Set<K>::is_ranged && !std::integral<T>)
            return Error{Code::mismatch, "a " + std::string(K::id.name) +
                                             " holds integers, not texts: give it int keys"};
          else
            return use(span);
        },
        keys);
  }
  template <class Use>
  Result<void> beside(const Held& other, Use&& use) const {
    const auto* same = dynamic_cast<const HeldTyped*>(&other);
    if (same == nullptr)
      return Error{Code::mismatch, "the sets cannot be merged: one is a " +
                                       std::string(K::id.name) + " set, the other a " +
                                       std::string(other.row().id.name) + " set"};
    return use(same->set_);
  }
};

}  // namespace bloomery::python
