#include <bloomery/sets/any_set.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <bloomery/sets/build.hpp>
#include <bloomery/sets/fold.hpp>
#include <bloomery/sets/groups.hpp>
#include <bloomery/sets/kinds.hpp>

namespace bloomery {

// One virtual call per span of keys; below it everything is typed.
struct AnySet::Body {
  virtual ~Body() = default;
  virtual const KindRow& row() const = 0;
  virtual Result<std::size_t> add_texts(const Hasher& hasher,
                                        std::span<const std::string_view> keys, bool* fresh) = 0;
  virtual Result<std::size_t> add_hashes(std::span<const Hash> hashes, bool* fresh) = 0;
  virtual Result<std::size_t> add_ordinals(std::span<const Ordinal> ordinals, bool* fresh) = 0;
  virtual Result<void> ask_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                 bool* answers) const = 0;
  virtual Result<void> ask_hashes(std::span<const Hash> hashes, bool* answers) const = 0;
  virtual Result<void> ask_ordinals(std::span<const Ordinal> ordinals, bool* answers) const = 0;
  virtual Result<std::size_t> remove_texts(const Hasher& hasher,
                                           std::span<const std::string_view> keys,
                                           bool* removed) = 0;
  virtual Result<std::size_t> remove_hashes(std::span<const Hash> hashes, bool* removed) = 0;
  virtual Result<std::size_t> remove_ordinals(std::span<const Ordinal> ordinals, bool* removed) = 0;
  virtual Result<void> count_texts(const Hasher& hasher, std::span<const std::string_view> keys,
                                   std::uint64_t* counts) const = 0;
  virtual Result<void> count_hashes(std::span<const Hash> hashes, std::uint64_t* counts) const = 0;
  virtual Result<void> count_ordinals(std::span<const Ordinal> ordinals,
                                      std::uint64_t* counts) const = 0;
  virtual std::uint64_t most_count() const = 0;
  virtual Result<void> unite(const Body& other) = 0;
  virtual Result<void> intersect(const Body& other) = 0;
  virtual Result<void> subtract(const Body& other) = 0;
  virtual Result<void> exclusive(const Body& other) = 0;
  virtual Result<std::uint64_t> best_fold(double rate) const = 0;
  virtual Result<std::unique_ptr<Body>> folded(std::uint64_t factor, double rate) const = 0;
  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t adds() const = 0;
  virtual std::uint64_t capacity() const = 0;
  virtual double rate_asked() const = 0;
  virtual double estimate() const = 0;
  virtual double rate_now() const = 0;
  virtual double expected_rate_now() const = 0;
  virtual double fill_ratio() const = 0;
  virtual bool overfull() const = 0;
  virtual std::optional<Range> range() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> shape_facts() const = 0;
  virtual std::optional<std::uint64_t> stuck() const = 0;
  virtual Parts parts() const = 0;
};

namespace {

template <class K>
constexpr bool takes_ordinals = std::same_as<typename K::Input, Ordinal>;

template <class K>
constexpr bool takes_hashes = std::same_as<typename K::Input, Hash>;

template <class K>
constexpr KindRow row_of{
    .id = K::id,
    .input = takes_ordinals<K> ? InputForm::ordinal : InputForm::hashed,
    .exact = Exact<K>,
    .grows = !Kind<K>,
    .removes = Removable<K>,
    .counts = Countable<K>,
    .built = Buildable<K>,
    .complete = [](Want want) { return complete<K>(want); },
    .planned_bytes = [](const Want& want) -> Result<std::uint64_t> {
      const auto shape = K::plan(want);
      if (!shape) return shape.error();
      return K::bytes(*shape);
    },
};

template <class... K>
std::array<KindRow, sizeof...(K)> rows_of(KindList<K...>) {
  std::array<KindRow, sizeof...(K)> rows{row_of<K>...};
  std::ranges::sort(rows, {}, [](const KindRow& row) { return row.id.number; });
  return rows;
}

Error wrong_input(std::string_view kind, const char* wanted) {
  return {Code::mismatch, "a " + std::string(kind) + " set takes " + wanted};
}

Error no_such_kind(std::string_view kind) {
  return {Code::impossible, "there is no kind of set called " + std::string(kind)};
}

Error takes_no_more(std::string_view kind) {
  return {Code::unsupported,
          "a " + std::string(kind) +
              " set holds the keys it was built from and takes no more; build it anew from all "
              "keys, or choose a kind that can be added to, such as blocked"};
}

}  // namespace

namespace detail {

template <class K>
struct Holder : AnySet::Body {
  using Held = bloomery::Body<K>;
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
    } else if constexpr (Buildable<K>) {
      return Error{Code::unsound, "a " + std::string(K::id.name) +
                                      " set can not let go of a key; build it anew from the "
                                      "remaining keys, or use a counting set"};
    } else if constexpr (Exact<K>) {
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
                                 " sets can not be told from their bits; build one from the "
                                 "remaining keys, or use a bitmap for integers"};
    if constexpr (Exact<K>)
      return {Code::unsound,
              std::string(K::id.name) + " sets have no " + what + "; use bitmaps for integers"};
    return {Code::unsound, std::string("the ") + what + " of two " + std::string(K::id.name) +
                               " sets would clear bits that other keys need, and forget them; "
                               "use a bitmap for integers, or build from the remaining keys"};
  }

  static Error no_fold() {
    return {Code::unsound,
            std::string(K::id.name) +
                " sets can not be folded; only classic, blocked and split-block have bits whose "
                "neighbours can be joined: build a smaller set from the keys"};
  }
  Result<std::uint64_t> best_fold(double rate) const override {
    if constexpr (Foldable<K>)
      return bloomery::best_fold(held, rate);
    else
      return no_fold();
  }
  Result<std::unique_ptr<AnySet::Body>> folded(std::uint64_t factor, double rate) const override {
    if constexpr (Foldable<K>) {
      auto smaller = bloomery::folded(held, factor, rate);
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
    else
      return {};
  }

  std::optional<std::uint64_t> stuck() const override {
    if constexpr (requires { held.kind().stuck(); })
      return held.kind().stuck();
    else
      return std::nullopt;
  }

  Parts parts() const override { return held.parts(); }

  Held held;
};

}  // namespace detail

std::span<const KindRow> AnySet::register_rows() {
  static const auto rows = rows_of(AllKinds{});
  return rows;
}

const KindRow* AnySet::find_row(std::string_view name) {
  for (const KindRow& row : register_rows())
    if (row.id.name == name) return &row;
  return nullptr;
}

Result<AnySet> AnySet::make(std::string_view kind, const Want& want, Hasher hasher) {
  if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
  std::optional<Result<AnySet>> made;
  AllKinds::for_each([&]<class K>() {
    if (K::id.name != kind) return;
    if constexpr (Buildable<K>) {
      made.emplace(Error{Code::unsupported,
                         "a " + std::string(kind) +
                             " set is built from all its keys at once and can not begin empty; "
                             "build it from the keys, or choose a kind that can be added to, such "
                             "as blocked"});
    } else {
      auto body = bloomery::Body<K>::make(want);
      if (!body) {
        made.emplace(body.error());
        return;
      }
      KeyRules rules;
      if (takes_ordinals<K>) rules.form = KeyForm::number;
      made.emplace(AnySet(std::make_unique<detail::Holder<K>>(std::move(*body)), hasher, rules));
    }
  });
  if (!made) return no_such_kind(kind);
  return std::move(*made);
}

std::optional<Result<AnySet>> AnySet::built(std::string_view kind, const Want& want,
                                            const HashSource& source, Hasher hasher,
                                            const Crew& crew) {
  std::optional<Result<AnySet>> made;
  AllKinds::for_each([&]<class K>() {
    if constexpr (Buildable<K>) {
      if (K::id.name != kind) return;
      auto body = build_owned<K>(source, want, crew);
      if (!body)
        made.emplace(body.error());
      else
        made.emplace(
            AnySet(std::make_unique<detail::Holder<K>>(std::move(*body)), hasher, KeyRules{}));
    }
  });
  return made;
}

Result<AnySet> AnySet::from_parts(Parts parts, Hasher hasher, KeyRules rules) {
  if (const char* refused = kernels_refused()) return Error{Code::unsupported, refused};
  if (parts.parts.empty()) return Error{Code::damaged, "the image holds no part"};
  const Form form = parts.form;
  const std::uint16_t first_kind = parts.parts[0].kind;
  std::optional<Result<AnySet>> made;
  AllKinds::for_each([&]<class K>() {
    bool mine = form == Form::single && first_kind == K::id.number;
    if constexpr (requires { K::form; }) mine = form == K::form;
    if (!mine) return;
    auto body = bloomery::Body<K>::from_parts(std::move(parts));
    if (!body)
      made.emplace(body.error());
    else
      made.emplace(AnySet(std::make_unique<detail::Holder<K>>(std::move(*body)), hasher, rules));
  });
  if (!made) return Error{Code::unsupported, "the image holds a sort of set this version lacks"};
  return std::move(*made);
}

Result<void> AnySet::check_part(const Part& part, std::uint64_t payload_bytes) {
  std::optional<Result<void>> checked;
  AllKinds::for_each([&]<class K>() {
    if constexpr (requires { K::check; }) {
      if (K::id.number != part.kind) return;
      auto shape = decode_shape<K>(part.shape);
      checked.emplace(shape ? K::check(*shape, payload_bytes) : Result<void>(shape.error()));
    }
  });
  if (!checked)
    return Error{Code::unsupported, "kind number " + std::to_string(part.kind) +
                                        " is unknown to this version; a newer one wrote it"};
  return std::move(*checked);
}

AnySet::AnySet(std::unique_ptr<Body> body, Hasher hasher, KeyRules rules)
    : body_(std::move(body)), hasher_(hasher), rules_(std::move(rules)) {}
AnySet::AnySet(AnySet&&) noexcept = default;
AnySet& AnySet::operator=(AnySet&&) noexcept = default;
AnySet::~AnySet() = default;

KindId AnySet::kind() const { return body_->row().id; }
InputForm AnySet::input() const { return body_->row().input; }
bool AnySet::exact() const { return body_->row().exact; }

// Keys that were refused leave no trace; those before the set was full do.
void AnySet::note_form(KeyForm form, bool none, const Result<std::size_t>& added) {
  const bool refused =
      !added && (added.error().code == Code::mismatch || added.error().code == Code::unsupported);
  if (!none && !refused) rules_.form = joined(rules_.form, form);
}

Result<std::size_t> AnySet::add_all(std::span<const std::string_view> keys, std::span<bool> fresh) {
  auto added = body_->add_texts(hasher_, keys, fresh.empty() ? nullptr : fresh.data());
  note_form(KeyForm::text, keys.empty(), added);
  return added;
}

Result<std::size_t> AnySet::add_all(std::span<const Hash> hashes, std::span<bool> fresh) {
  auto added = body_->add_hashes(hashes, fresh.empty() ? nullptr : fresh.data());
  note_form(KeyForm::hash, hashes.empty(), added);
  return added;
}

Result<std::size_t> AnySet::add_all(std::span<const Ordinal> ordinals, std::span<bool> fresh) {
  return body_->add_ordinals(ordinals, fresh.empty() ? nullptr : fresh.data());
}

Result<void> AnySet::may_contain_all(std::span<const std::string_view> keys,
                                     std::span<bool> answers) const {
  return body_->ask_texts(hasher_, keys, answers.data());
}

Result<void> AnySet::may_contain_all(std::span<const Hash> hashes, std::span<bool> answers) const {
  return body_->ask_hashes(hashes, answers.data());
}

Result<void> AnySet::may_contain_all(std::span<const Ordinal> ordinals,
                                     std::span<bool> answers) const {
  return body_->ask_ordinals(ordinals, answers.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const std::string_view> keys,
                                       std::span<bool> removed) {
  return body_->remove_texts(hasher_, keys, removed.empty() ? nullptr : removed.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const Hash> hashes, std::span<bool> removed) {
  return body_->remove_hashes(hashes, removed.empty() ? nullptr : removed.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const Ordinal> ordinals, std::span<bool> removed) {
  return body_->remove_ordinals(ordinals, removed.empty() ? nullptr : removed.data());
}

Result<void> AnySet::counts(std::span<const std::string_view> keys,
                            std::span<std::uint64_t> counts) const {
  return body_->count_texts(hasher_, keys, counts.data());
}

Result<void> AnySet::counts(std::span<const Hash> hashes, std::span<std::uint64_t> counts) const {
  return body_->count_hashes(hashes, counts.data());
}

Result<void> AnySet::counts(std::span<const Ordinal> ordinals,
                            std::span<std::uint64_t> counts) const {
  return body_->count_ordinals(ordinals, counts.data());
}

std::uint64_t AnySet::most_count() const { return body_->most_count(); }

Result<void> AnySet::fits(const AnySet& other) const {
  if (kind() != other.kind())
    return Error{Code::mismatch, "one set is " + std::string(kind().name) + ", the other " +
                                     std::string(other.kind().name)};
  if (auto fitting = keys_fit(hasher_, rules_, other.hasher_, other.rules_); !fitting)
    return fitting.error();
  return {};
}

Result<void> AnySet::unite(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto united = body_->unite(*other.body_); !united) return united.error();
  rules_.form = joined(rules_.form, other.rules_.form);
  return {};
}

Result<void> AnySet::intersect(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_->intersect(*other.body_);
}

Result<void> AnySet::subtract(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_->subtract(*other.body_);
}

Result<void> AnySet::exclusive(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_->exclusive(*other.body_);
}

Result<std::uint64_t> AnySet::best_fold(double rate) const { return body_->best_fold(rate); }

Result<AnySet> AnySet::folded(std::uint64_t factor, double rate) const {
  auto smaller = body_->folded(factor, rate);
  if (!smaller) return smaller.error();
  return AnySet(std::move(*smaller), hasher_, rules_);
}

std::uint64_t AnySet::bytes() const { return body_->bytes(); }
std::uint64_t AnySet::adds() const { return body_->adds(); }
std::uint64_t AnySet::capacity() const { return body_->capacity(); }
double AnySet::rate_asked() const { return body_->rate_asked(); }
double AnySet::estimate() const { return body_->estimate(); }
double AnySet::rate_now() const { return body_->rate_now(); }
double AnySet::expected_rate_now() const { return body_->expected_rate_now(); }
double AnySet::fill_ratio() const { return body_->fill_ratio(); }
bool AnySet::overfull() const { return body_->overfull(); }
std::optional<Range> AnySet::range() const { return body_->range(); }
std::vector<std::pair<std::string, std::string>> AnySet::shape_facts() const {
  return body_->shape_facts();
}
std::optional<std::uint64_t> AnySet::stuck() const { return body_->stuck(); }
Parts AnySet::parts() const { return body_->parts(); }

}  // namespace bloomery
