// The verbs of a Held whose set is an AnySet, wherever that lies: in the object (held_any.cpp) or
// in a live file (held_live.cpp).
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "held/held.hpp"

namespace bloomery::python {

class HeldErased : public Held {
 public:
  const KindRow& row() const override { return *AnySet::find_row(set().kind().name); }
  const Hasher& hasher() const override { return set().hasher(); }
  KeyRules rules() const override { return set().rules(); }
  void note(KeyRules rules) override {
    rules.form = set().rules().form;
    set().rules() = std::move(rules);
  }

  Result<std::size_t> add_all(const KeySpan& keys, std::span<bool> fresh, Threads) override {
    return std::visit([&](const auto& span) { return set().add_all(span, fresh); }, keys);
  }
  Result<std::size_t> ask_all(const KeySpan& keys, std::span<bool> answers,
                              Threads) const override {
    const std::size_t size = size_of(keys);
    // Answers that nobody asked for need room all the same, and keys beyond it another call.
    if (answers.size() < size) return count_in_steps(keys);
    const auto asked =
        std::visit([&](const auto& span) { return set().may_contain_all(span, answers); }, keys);
    if (!asked) return asked.error();
    std::size_t there = 0;
    for (std::size_t i = 0; i < size; ++i) there += answers[i];
    return there;
  }
  Result<std::size_t> remove_all(const KeySpan& keys, std::span<bool> removed) override {
    return std::visit([&](const auto& span) { return set().remove_all(span, removed); }, keys);
  }
  Result<void> counts(const KeySpan& keys, std::span<std::uint64_t> counts) const override {
    return std::visit([&](const auto& span) { return set().counts(span, counts); }, keys);
  }
  std::uint64_t most_count() const override { return set().most_count(); }

  bool equals(const Held& other) const override {
    const auto* same = dynamic_cast<const HeldErased*>(&other);
    return same != nullptr && set() == same->set();
  }
  Result<void> unite(const Held& other) override {
    return beside(other, [&](const AnySet& with) { return set().unite(with); });
  }
  Result<void> intersect(const Held& other) override {
    return beside(other, [&](const AnySet& with) { return set().intersect(with); });
  }
  Result<void> subtract(const Held& other) override {
    return beside(other, [&](const AnySet& with) { return set().subtract(with); });
  }
  Result<void> exclusive(const Held& other) override {
    return beside(other, [&](const AnySet& with) { return set().exclusive(with); });
  }
  Result<void> clear() override { return set().clear(); }
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) override {
    return set().advance_to(time, span);
  }
  Result<void> cap_memory(std::uint64_t bytes) override {
    set().cap_memory(bytes);
    return {};
  }
  Result<void> save(const std::filesystem::path& path, Overwrite overwrite) const override {
    return set().save(path, SaveOptions{.overwrite = overwrite});
  }
  Result<void> save_live(const std::filesystem::path& path, Overwrite overwrite) const override {
    return create_live(path, set(), {.overwrite = overwrite});
  }
  Result<std::vector<std::byte>> to_bytes() const override { return set().to_bytes(); }

  std::uint64_t bytes() const override { return set().bytes(); }
  std::uint64_t adds() const override { return set().adds(); }
  std::uint64_t capacity() const override { return set().capacity(); }
  double rate_asked() const override { return set().rate_asked(); }
  double estimate() const override { return set().estimate(); }
  double rate_now() const override { return set().rate_now(); }
  double fill_ratio() const override { return set().fill_ratio(); }
  bool overfull() const override { return set().overfull(); }
  std::optional<Range> range() const override { return set().range(); }

 protected:
  virtual AnySet& set() = 0;
  virtual const AnySet& set() const = 0;

 private:
  Result<std::size_t> count_in_steps(const KeySpan& keys) const {
    constexpr std::size_t step = 4096;
    bool room[step];
    return std::visit(
        [&](const auto& span) -> Result<std::size_t> {
          std::size_t there = 0;
          for (std::size_t done = 0; done < span.size(); done += step) {
            const std::size_t n = std::min(step, span.size() - done);
            const auto asked = set().may_contain_all(span.subspan(done, n), std::span(room, n));
            if (!asked) return asked.error();
            for (std::size_t i = 0; i < n; ++i) there += room[i];
          }
          return there;
        },
        keys);
  }
  template <class Use>
  Result<void> beside(const Held& other, Use&& use) const {
    const auto* same = dynamic_cast<const HeldErased*>(&other);
    if (same == nullptr)
      return Error{Code::mismatch, "the sets cannot be merged: one is a " +
                                       std::string(set().kind().name) + " set, the other a " +
                                       std::string(other.row().id.name) + " set"};
    return use(same->set());
  }
};

}  // namespace bloomery::python
