// All kinds but the two that are held by their type; and which of the three holds what.
#include <algorithm>
#include <memory>
#include <utility>

#include "held/held.hpp"

namespace bloomery::python {
namespace {

class HeldAny final : public Held {
 public:
  explicit HeldAny(AnySet set) : set_(std::move(set)) {}

  const KindRow& row() const override { return *AnySet::find_row(set_.kind().name); }
  const Hasher& hasher() const override { return set_.hasher(); }
  KeyRules rules() const override { return set_.rules(); }
  void note(KeyRules rules) override {
    rules.form = set_.rules().form;
    set_.rules() = std::move(rules);
  }

  Result<std::size_t> add_all(const KeySpan& keys, std::span<bool> fresh, Threads) override {
    return std::visit([&](const auto& span) { return set_.add_all(span, fresh); }, keys);
  }
  Result<std::size_t> ask_all(const KeySpan& keys, std::span<bool> answers,
                              Threads) const override {
    const std::size_t size = size_of(keys);
    // Answers that nobody asked for need room all the same, and keys beyond it another call.
    if (answers.size() < size) return count_in_steps(keys);
    const auto asked =
        std::visit([&](const auto& span) { return set_.may_contain_all(span, answers); }, keys);
    if (!asked) return asked.error();
    std::size_t there = 0;
    for (std::size_t i = 0; i < size; ++i) there += answers[i];
    return there;
  }
  Result<std::size_t> remove_all(const KeySpan& keys, std::span<bool> removed) override {
    return std::visit([&](const auto& span) { return set_.remove_all(span, removed); }, keys);
  }
  Result<void> counts(const KeySpan& keys, std::span<std::uint64_t> counts) const override {
    return std::visit([&](const auto& span) { return set_.counts(span, counts); }, keys);
  }
  std::uint64_t most_count() const override { return set_.most_count(); }

  Result<std::unique_ptr<Held>> clone() const override {
    auto copy = set_.clone();
    if (!copy) return copy.error();
    return hold(std::move(*copy));
  }
  bool equals(const Held& other) const override {
    const auto* same = dynamic_cast<const HeldAny*>(&other);
    return same != nullptr && set_ == same->set_;
  }
  Result<void> unite(const Held& other) override {
    return beside(other, [&](const AnySet& set) { return set_.unite(set); });
  }
  Result<void> intersect(const Held& other) override {
    return beside(other, [&](const AnySet& set) { return set_.intersect(set); });
  }
  Result<void> subtract(const Held& other) override {
    return beside(other, [&](const AnySet& set) { return set_.subtract(set); });
  }
  Result<void> exclusive(const Held& other) override {
    return beside(other, [&](const AnySet& set) { return set_.exclusive(set); });
  }
  Result<void> clear() override { return set_.clear(); }
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) override {
    return set_.advance_to(time, span);
  }
  Result<void> cap_memory(std::uint64_t bytes) override {
    set_.cap_memory(bytes);
    return {};
  }
  Result<void> save(const std::filesystem::path& path, Overwrite overwrite) const override {
    return set_.save(path, SaveOptions{.overwrite = overwrite});
  }
  Result<std::vector<std::byte>> to_bytes() const override { return set_.to_bytes(); }

  std::uint64_t bytes() const override { return set_.bytes(); }
  std::uint64_t adds() const override { return set_.adds(); }
  std::uint64_t capacity() const override { return set_.capacity(); }
  double rate_asked() const override { return set_.rate_asked(); }
  double estimate() const override { return set_.estimate(); }
  double rate_now() const override { return set_.rate_now(); }
  double fill_ratio() const override { return set_.fill_ratio(); }
  bool overfull() const override { return set_.overfull(); }
  std::optional<Range> range() const override { return set_.range(); }

 private:
  Result<std::size_t> count_in_steps(const KeySpan& keys) const {
    constexpr std::size_t step = 4096;
    bool room[step];
    return std::visit(
        [&](const auto& span) -> Result<std::size_t> {
          std::size_t there = 0;
          for (std::size_t done = 0; done < span.size(); done += step) {
            const std::size_t n = std::min(step, span.size() - done);
            const auto asked = set_.may_contain_all(span.subspan(done, n), std::span(room, n));
            if (!asked) return asked.error();
            for (std::size_t i = 0; i < n; ++i) there += room[i];
          }
          return there;
        },
        keys);
  }
  template <class Use>
  Result<void> beside(const Held& other, Use&& use) const {
    const auto* same = dynamic_cast<const HeldAny*>(&other);
    if (same == nullptr)
      return Error{Code::mismatch, "the sets cannot be merged: one is a " +
                                       std::string(set_.kind().name) + " set, the other a " +
                                       std::string(other.row().id.name) + " set"};
    return use(same->set_);
  }

  AnySet set_;
};

template <class S>
Result<std::unique_ptr<Held>> held(Result<S> set) {
  if (!set) return set.error();
  return hold(std::move(*set));
}

// The image tells the kind.
Result<std::unique_ptr<Held>> held_image(const std::string& name, Result<Image> image) {
  if (!image) return image.error();
  const auto is = [&](const KindId& kind) {
    const detail::Parts& parts = image->parts;
    return parts.form == detail::Form::single && parts.parts.size() == 1 &&
           parts.parts.front().kind == kind.number;
  };
  if (is(BlockedBloom::id)) return held(Set<BlockedBloom>::of(name, std::move(image)));
  if (is(Bitmap::id)) return held(Set<Bitmap>::of(name, std::move(image)));
  return held(AnySet::of(name, std::move(image)));
}

}  // namespace

Result<std::unique_ptr<Held>> open_held(const std::filesystem::path& path,
                                        const OpenOptions& options) {
  return held_image(path.string(), open_image(path, options));
}

Result<std::unique_ptr<Held>> read_held(std::span<const std::byte> bytes,
                                        const OpenOptions& options) {
  return held_image("the image", read_image(bytes, options));
}

std::unique_ptr<Held> hold(AnySet set) { return std::make_unique<HeldAny>(std::move(set)); }

Result<std::unique_ptr<Held>> make_held(std::string_view kind, const Want& want, Hasher hasher) {
  if (kind == BlockedBloom::id.name) return held(Set<BlockedBloom>::make(want, hasher));
  if (kind == Bitmap::id.name) return held(Set<Bitmap>::make(want, hasher));
  return held(AnySet::make(kind, want, hasher));
}

Result<std::unique_ptr<Held>> build_held(std::string_view kind, const Want& want,
                                         std::span<const Hash> hashes, KeyForm form,
                                         Hasher hasher) {
  auto set = AnySet::build(kind, want, hashes, hasher);
  if (set) set->rules().form = form;  // not that of hashes: they may be asked for by their keys
  return held(std::move(set));
}

}  // namespace bloomery::python
