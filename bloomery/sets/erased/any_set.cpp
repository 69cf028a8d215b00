#include <bloomery/any_set.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/kinds.hpp>
#include <bloomery/sets/erased/any_holder.hpp>

namespace bloomery::inline v0 {

using namespace detail;

namespace {

using detail::row_of;
using detail::takes_ordinals;

template <class... K>
std::array<KindRow, sizeof...(K)> rows_of(KindList<K...>) {
  std::array<KindRow, sizeof...(K)> rows{row_of<K>...};
  std::ranges::sort(rows, {}, [](const KindRow& row) { return row.id.number; });
  return rows;
}

Error no_such_kind(std::string_view kind) {
  return {Code::impossible, "there is no kind of set called " + std::string(kind)};
}

}  // namespace

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
                             " set is built from all its keys at once and cannot begin empty; "
                             "build it from the keys, or choose a kind that can be added to, such "
                             "as blocked"});
    } else if constexpr (TwoListed<K>) {
      made.emplace(Error{Code::unsupported,
                         "a " + std::string(kind) +
                             " is built from a block list and an allow list at once and cannot "
                             "begin empty"});
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

AnySet AnySet::of(Cascade cascade, Hasher hasher, KeyRules rules) {
  return AnySet(std::make_unique<detail::Holder<Cascade>>(std::move(cascade)), hasher,
                std::move(rules));
}

AnySet AnySet::of(std::unique_ptr<Body> body, Hasher hasher, KeyRules rules) {
  return AnySet(std::move(body), hasher, std::move(rules));
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
      // Equal sets side by side are checked as one of them.
      if (part.count == 0 || payload_bytes % part.count != 0)
        checked.emplace(Error{
            Code::damaged, std::to_string(part.count) + " equal sets do not have that many bytes"});
      else
        checked.emplace(shape ? K::check(*shape, payload_bytes / part.count)
                              : Result<void>(shape.error()));
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

AnySet::Body& AnySet::here() const {
  if (body_ == nullptr)
    throw std::logic_error("the set was moved from; only assign to it or destroy it");
  return *body_;
}

KindId AnySet::kind() const { return here().row().id; }
InputForm AnySet::input() const { return here().row().input; }
bool AnySet::exact() const { return here().row().exact; }
bool AnySet::shared() const { return here().shared(); }

// The form of the keys is noted when some may have been added: not when all were refused, but also
// when the set became full on the way.
void AnySet::note_form(KeyForm form, bool none, const Result<std::size_t>& added) {
  const bool refused =
      !added && (added.error().code == Code::mismatch || added.error().code == Code::unsupported);
  if (!none && !refused) rules_.form = joined(rules_.form, form);
}

Result<void> AnySet::expect_texts() const {
  if (rules_.form == KeyForm::number || forms_meet(rules_.form, KeyForm::text)) return {};
  return wrong_form(rules_.form, KeyForm::text);
}

Result<std::size_t> AnySet::add_all(std::span<const std::string_view> keys, std::span<bool> fresh) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  auto added = here().add_texts(hasher_, keys, fresh.empty() ? nullptr : fresh.data());
  note_form(KeyForm::text, keys.empty(), added);
  return added;
}

Result<std::size_t> AnySet::add_all(std::span<const Hash> hashes, std::span<bool> fresh) {
  auto added = here().add_hashes(hashes, fresh.empty() ? nullptr : fresh.data());
  note_form(KeyForm::hash, hashes.empty(), added);
  return added;
}

Result<std::size_t> AnySet::add_all(std::span<const Ordinal> ordinals, std::span<bool> fresh) {
  return here().add_ordinals(ordinals, fresh.empty() ? nullptr : fresh.data());
}

Result<void> AnySet::may_contain_all(std::span<const std::string_view> keys,
                                     std::span<bool> answers) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  return here().ask_texts(hasher_, keys, answers.data());
}

Result<void> AnySet::may_contain_all(std::span<const Hash> hashes, std::span<bool> answers) const {
  return here().ask_hashes(hashes, answers.data());
}

Result<void> AnySet::may_contain_all(std::span<const Ordinal> ordinals,
                                     std::span<bool> answers) const {
  return here().ask_ordinals(ordinals, answers.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const std::string_view> keys,
                                       std::span<bool> removed) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  return here().remove_texts(hasher_, keys, removed.empty() ? nullptr : removed.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const Hash> hashes, std::span<bool> removed) {
  return here().remove_hashes(hashes, removed.empty() ? nullptr : removed.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const Ordinal> ordinals, std::span<bool> removed) {
  return here().remove_ordinals(ordinals, removed.empty() ? nullptr : removed.data());
}

Result<void> AnySet::counts(std::span<const std::string_view> keys,
                            std::span<std::uint64_t> counts) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  return here().count_texts(hasher_, keys, counts.data());
}

Result<void> AnySet::counts(std::span<const Hash> hashes, std::span<std::uint64_t> counts) const {
  return here().count_hashes(hashes, counts.data());
}

Result<void> AnySet::counts(std::span<const Ordinal> ordinals,
                            std::span<std::uint64_t> counts) const {
  return here().count_ordinals(ordinals, counts.data());
}

std::uint64_t AnySet::most_count() const { return here().most_count(); }

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
  if (auto united = here().unite(other.here()); !united) return united.error();
  join_rules(rules_, other.rules_);
  return {};
}

Result<void> AnySet::intersect(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto done = here().intersect(other.here()); !done) return done;
  if (rules_.made_from != other.rules_.made_from) rules_.made_from.clear();
  return {};
}

Result<void> AnySet::subtract(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return here().subtract(other.here());
}

Result<void> AnySet::exclusive(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return here().exclusive(other.here());
}

void AnySet::hash_all(std::span<const std::string_view> keys, HashedTexts& hashed) const {
  hashed.narrow.clear();
  hashed.wide.clear();
  if (here().takes_wide_hashes()) {
    hashed.wide.reserve(keys.size());
    for (const std::string_view key : keys) hashed.wide.push_back(hasher_.wide(key));
  } else {
    hashed.narrow.reserve(keys.size());
    for (const std::string_view key : keys) hashed.narrow.push_back(hasher_(key));
  }
}

Result<std::size_t> AnySet::add_all(const HashedTexts& hashed, std::size_t first, std::size_t count,
                                    std::span<bool> fresh) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  bool* const told = fresh.empty() ? nullptr : fresh.data();
  auto added = here().takes_wide_hashes()
                   ? here().add_wide(std::span(hashed.wide).subspan(first, count), told)
                   : here().add_hashes(std::span(hashed.narrow).subspan(first, count), told);
  note_form(KeyForm::text, count == 0, added);
  return added;
}

Result<void> AnySet::may_contain_all(const HashedTexts& hashed, std::span<bool> answers) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  return here().takes_wide_hashes() ? here().ask_wide(hashed.wide, answers.data())
                                    : here().ask_hashes(hashed.narrow, answers.data());
}

Result<void> AnySet::advance_to(std::uint64_t time, std::uint64_t span) {
  return here().advance_to(time, span);
}

std::uint64_t AnySet::time_span() const { return here().time_span(); }
std::uint64_t AnySet::time_told() const { return here().time_told(); }

void AnySet::cap_memory(std::uint64_t bytes) { here().cap_memory(bytes); }

Result<std::uint64_t> AnySet::best_fold(double rate) const { return here().best_fold(rate); }

Result<AnySet> AnySet::folded(std::uint64_t factor, double rate) const {
  auto smaller = here().folded(factor, rate);
  if (!smaller) return smaller.error();
  return AnySet(std::move(*smaller), hasher_, rules_);
}

std::uint64_t AnySet::bytes() const { return here().bytes(); }
std::uint64_t AnySet::adds() const { return here().adds(); }
std::uint64_t AnySet::capacity() const { return here().capacity(); }
double AnySet::rate_asked() const { return here().rate_asked(); }
double AnySet::estimate() const { return here().estimate(); }
double AnySet::rate_now() const { return here().rate_now(); }
double AnySet::expected_rate_now() const { return here().expected_rate_now(); }
double AnySet::fill_ratio() const { return here().fill_ratio(); }
bool AnySet::overfull() const { return here().overfull(); }
std::optional<Range> AnySet::range() const { return here().range(); }
std::vector<std::pair<std::string, std::string>> AnySet::shape_facts() const {
  return here().shape_facts();
}
std::optional<std::uint64_t> AnySet::stuck() const { return here().stuck(); }
std::optional<AnySet::Lists> AnySet::lists() const { return here().lists(); }
Parts AnySet::parts() const { return here().parts(); }

}  // namespace bloomery::inline v0
