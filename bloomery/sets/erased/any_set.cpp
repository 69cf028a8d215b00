#include <bloomery/any_set.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <bloomery/detail/bits/memory.hpp>
#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/kinds.hpp>
#include <bloomery/sets/erased/any_holder.hpp>
#include <bloomery/sets/erased/noted_form.hpp>

namespace bloomery::inline v0 {

using namespace detail;

namespace {

template <class... K>
constexpr bool all_are_kinds(KindList<K...>) {
  return (Kind<K> && ...);
}
static_assert(all_are_kinds(PlainKinds{}), "a kind of the register lacks a name of concepts.hpp");

using detail::row_of;
using detail::takes_ordinals;
using detail::wrong_input;

template <class... K>
std::array<KindRow, sizeof...(K)> rows_of(KindList<K...>) {
  std::array<KindRow, sizeof...(K)> rows{row_of<K>...};
  std::ranges::sort(rows, {}, [](const KindRow& row) { return row.id.number; });
  return rows;
}

Error no_such_kind(std::string_view kind) {
  return {Code::impossible, "unknown kind of set: " + std::string(kind)};
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
  if (!made)
    return Error{Code::unsupported,
                 "the image holds a kind of set that this version does not know"};
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

KindId AnySet::kind() const { return body_ ? body_->row().id : KindId{}; }
InputForm AnySet::input() const { return body_ ? body_->row().input : InputForm{}; }
bool AnySet::exact() const { return body_ && body_->row().exact; }
bool AnySet::shared() const { return body_ && body_->facts().shared; }

// The form of the keys is noted when some may have been added: not when all were refused, but also
// when the set became full on the way.
void AnySet::note_form(KeyForm form, bool none, const Result<std::size_t>& added) {
  const bool refused =
      !added && (added.error().code == Code::mismatch || added.error().code == Code::unsupported);
  if (!none && !refused) join_noted_form(rules_, form);
}

Result<void> AnySet::expect_texts() const {
  if (!body_) return moved_from_error();
  if (input() == InputForm::ordinal) return wrong_input(kind().name, "integers, not text");
  const KeyForm known = body_->known_form(noted_form(rules_));
  if (forms_meet(known, KeyForm::text)) return {};
  return wrong_form(known, KeyForm::text);
}

// Before keys are added: to a set of our own their form is noted afterwards.
Result<void> AnySet::settle_form(KeyForm form, bool none) {
  if (none || noted_form(rules_) == form) return {};
  return body_->settle_form(form);
}

// -- texts become hashes --------------------------------------------------------------------------

namespace {

// The hashes of texts, slice by slice, of the width that a kind takes. There is always a first
// slice, be it empty, since a body may refuse any.
class TextSlices {
 public:
  TextSlices(std::span<const std::string_view> texts, const Hasher& hasher, bool wide)
      : texts_(texts), hasher_(hasher), wide_(wide) {}

  // All in one slice, if there is memory for the hashes.
  void join() {
    auto room = Memory::make(texts_.size() * (wide_ ? sizeof(WideHash) : sizeof(Hash)));
    if (!room) return;
    room_ = std::move(*room);
    most_ = texts_.size();
  }

  // Hashes the next slice; false when there is none.
  bool next() {
    first_ += count_;
    if (first_ == texts_.size() && is_begun_) return false;
    is_begun_ = true;
    count_ = std::min(most_, texts_.size() - first_);
    if (wide_)
      hash(wide_room_);
    else
      hash(room_of_narrow_);
    return true;
  }
  std::size_t first() const { return first_; }  // text of the slice
  std::size_t end() const { return first_ + count_; }
  const AnyInputs& hashes() const { return hashes_; }

 private:
  // Enough that a body seldom begins again, few enough that their hashes stay in the L1 cache.
  static constexpr std::size_t slice_texts = 2048;

  template <class Input>
  void hash(Input* near_room) {
    Input* const room =
        room_.size() == 0 ? near_room : reinterpret_cast<Input*>(room_.bytes().data());
    Texts<std::string_view, Input>(texts_, hasher_).make(first_, count_, room);
    hashes_ = std::span<const Input>(room, count_);
  }

  std::span<const std::string_view> texts_;
  const Hasher& hasher_;
  const bool wide_;
  bool is_begun_ = false;
  std::size_t most_ = slice_texts;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  AnyInputs hashes_;
  Memory room_;
  union {
    Hash room_of_narrow_[slice_texts];
    WideHash wide_room_[slice_texts];
  };
};

// From here on a body may partition the keys by cache line, which needs all of them at once
// (sets/partition.hpp).
constexpr std::size_t join_texts = std::size_t{1} << 20;

bool* or_null(std::span<bool> answers) { return answers.empty() ? nullptr : answers.data(); }

bool* or_null(std::span<bool> answers, std::size_t first) {
  return answers.empty() ? nullptr : answers.data() + first;
}

}  // namespace

// -- the verbs ------------------------------------------------------------------------------------

Result<std::size_t> AnySet::add_all(std::span<const std::string_view> keys, std::span<bool> fresh) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  if (auto fitting = settle_form(KeyForm::text, keys.empty()); !fitting) return fitting.error();
  TextSlices slices(keys, hasher_, body_->row().wide_hashes);
  if (fresh.empty() && keys.size() >= join_texts) slices.join();
  Result<std::size_t> count = std::size_t{0};
  while (count && slices.next()) {
    const auto added = body_->add(slices.hashes(), or_null(fresh, slices.first()));
    if (added)
      *count += *added;
    else
      count = added.error();
  }
  // Nothing after a slice that was refused was added.
  if (!count && slices.end() < fresh.size()) std::ranges::fill(fresh.subspan(slices.end()), false);
  note_form(KeyForm::text, keys.empty(), count);
  return with_promise(*body_, std::move(count));
}

Result<std::size_t> AnySet::add_all(std::span<const Hash> hashes, std::span<bool> fresh) {
  if (!body_) return moved_from_error();
  if (auto fitting = settle_form(KeyForm::hash, hashes.empty()); !fitting) return fitting.error();
  auto added = body_->add(hashes, or_null(fresh));
  note_form(KeyForm::hash, hashes.empty(), added);
  return with_promise(*body_, std::move(added));
}

Result<std::size_t> AnySet::add_all(std::span<const Ordinal> ordinals, std::span<bool> fresh) {
  if (!body_) return moved_from_error();
  return with_promise(*body_, body_->add(ordinals, or_null(fresh)));
}

Result<void> AnySet::may_contain_all(std::span<const std::string_view> keys,
                                     std::span<bool> answers) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  TextSlices slices(keys, hasher_, body_->row().wide_hashes);
  while (slices.next())
    if (auto asked = body_->ask(slices.hashes(), answers.data() + slices.first()); !asked)
      return asked.error();
  return {};
}

Result<void> AnySet::may_contain_all(std::span<const Hash> hashes, std::span<bool> answers) const {
  if (!body_) return moved_from_error();
  return body_->ask(hashes, answers.data());
}

Result<void> AnySet::may_contain_all(std::span<const Ordinal> ordinals,
                                     std::span<bool> answers) const {
  if (!body_) return moved_from_error();
  return body_->ask(ordinals, answers.data());
}

Result<std::size_t> AnySet::remove_all(std::span<const std::string_view> keys,
                                       std::span<bool> removed) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  TextSlices slices(keys, hasher_, body_->row().wide_hashes);
  Result<std::size_t> count = std::size_t{0};
  while (count && slices.next()) {
    const auto gone = body_->remove(slices.hashes(), or_null(removed, slices.first()));
    if (gone)
      *count += *gone;
    else
      count = gone.error();
  }
  return with_promise(*body_, std::move(count));
}

Result<std::size_t> AnySet::remove_all(std::span<const Hash> hashes, std::span<bool> removed) {
  if (!body_) return moved_from_error();
  return with_promise(*body_, body_->remove(hashes, or_null(removed)));
}

Result<std::size_t> AnySet::remove_all(std::span<const Ordinal> ordinals, std::span<bool> removed) {
  if (!body_) return moved_from_error();
  return with_promise(*body_, body_->remove(ordinals, or_null(removed)));
}

Result<void> AnySet::counts(std::span<const std::string_view> keys,
                            std::span<std::uint64_t> counts) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  TextSlices slices(keys, hasher_, body_->row().wide_hashes);
  while (slices.next())
    if (auto counted = body_->count(slices.hashes(), counts.data() + slices.first()); !counted)
      return counted.error();
  return {};
}

Result<void> AnySet::counts(std::span<const Hash> hashes, std::span<std::uint64_t> counts) const {
  if (!body_) return moved_from_error();
  return body_->count(hashes, counts.data());
}

Result<void> AnySet::counts(std::span<const Ordinal> ordinals,
                            std::span<std::uint64_t> counts) const {
  if (!body_) return moved_from_error();
  return body_->count(ordinals, counts.data());
}

std::uint64_t AnySet::most_count() const { return body_ ? body_->facts().most_count : 0; }

Result<void> AnySet::fits(const AnySet& other) const {
  if (!body_ || !other.body_) return moved_from_error();
  if (kind() != other.kind())
    return Error{Code::mismatch, "one set is " + std::string(kind().name) + ", the other " +
                                     std::string(other.kind().name)};
  if (auto fitting = keys_fit(hasher_, rules_, other.hasher_, other.rules_); !fitting)
    return fitting.error();
  return {};
}

Result<void> AnySet::unite(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto united = body_->merge(Merge::unite, *other.body_); !united) return united.error();
  join_rules(rules_, other.rules_);
  return {};
}

Result<void> AnySet::intersect(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto done = body_->merge(Merge::intersect, *other.body_); !done) return done;
  if (rules_.made_from != other.rules_.made_from) rules_.made_from.clear();
  return {};
}

Result<void> AnySet::subtract(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_->merge(Merge::subtract, *other.body_);
}

Result<void> AnySet::exclusive(const AnySet& other) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_->merge(Merge::exclusive, *other.body_);
}

void AnySet::hash_all(std::span<const std::string_view> keys, HashedTexts& hashed) const {
  hashed.narrow.clear();
  hashed.wide.clear();
  if (!body_) return;
  if (body_->row().wide_hashes) {
    hashed.wide.reserve(keys.size());
    for (const std::string_view key : keys) hashed.wide.push_back(hasher_.wide(key));
  } else {
    hashed.narrow.reserve(keys.size());
    for (const std::string_view key : keys) hashed.narrow.push_back(hasher_(key));
  }
}

namespace {

AnyInputs inputs_of(const HashedTexts& hashed, bool wide, std::size_t first, std::size_t count) {
  if (wide) return std::span(hashed.wide).subspan(first, count);
  return std::span(hashed.narrow).subspan(first, count);
}

}  // namespace

Result<std::size_t> AnySet::add_all(const HashedTexts& hashed, std::size_t first, std::size_t count,
                                    std::span<bool> fresh) {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  if (auto fitting = settle_form(KeyForm::text, count == 0); !fitting) return fitting.error();
  const bool wide = body_->row().wide_hashes;
  auto added = body_->add(inputs_of(hashed, wide, first, count), or_null(fresh));
  note_form(KeyForm::text, count == 0, added);
  return with_promise(*body_, std::move(added));
}

Result<void> AnySet::may_contain_all(const HashedTexts& hashed, std::span<bool> answers) const {
  if (auto fitting = expect_texts(); !fitting) return fitting.error();
  const bool wide = body_->row().wide_hashes;
  const std::size_t count = wide ? hashed.wide.size() : hashed.narrow.size();
  return body_->ask(inputs_of(hashed, wide, 0, count), answers.data());
}

Result<void> AnySet::advance_to(std::uint64_t time, std::uint64_t span) {
  if (!body_) return moved_from_error();
  return with_promise(*body_, body_->advance_to(time, span));
}

std::uint64_t AnySet::time_span() const { return body_ ? body_->facts().time_span : 0; }
std::uint64_t AnySet::time_told() const { return body_ ? body_->facts().time_told : 0; }

void AnySet::cap_memory(std::uint64_t bytes) {
  if (body_) body_->cap_memory(bytes);
}

Result<std::uint64_t> AnySet::best_fold(double rate) const {
  if (!body_) return moved_from_error();
  return body_->best_fold(rate);
}

Result<AnySet> AnySet::folded(std::uint64_t factor, double rate) const {
  if (!body_) return moved_from_error();
  auto smaller = body_->folded(factor, rate);
  if (!smaller) return smaller.error();
  return AnySet(std::move(*smaller), hasher_, rules_);
}

std::uint64_t AnySet::bytes() const { return body_ ? body_->facts().bytes : 0; }
std::uint64_t AnySet::adds() const { return body_ ? body_->facts().adds : 0; }
std::uint64_t AnySet::capacity() const { return body_ ? body_->facts().capacity : 0; }
double AnySet::rate_asked() const { return body_ ? body_->facts().rate_asked : 0; }
double AnySet::estimate() const { return body_ ? body_->estimate() : 0; }
double AnySet::rate_now() const { return body_ ? body_->rate_now() : 0; }
double AnySet::expected_rate_now() const { return body_ ? body_->expected_rate_now() : 0; }
double AnySet::fill_ratio() const { return body_ ? body_->fill_ratio() : 0; }
bool AnySet::overfull() const { return body_ && body_->overfull(); }
std::optional<Range> AnySet::range() const { return body_ ? body_->facts().range : std::nullopt; }
std::vector<std::pair<std::string, std::string>> AnySet::shape_facts() const {
  if (!body_) return {};
  return body_->shape_facts();
}
std::optional<std::uint64_t> AnySet::stuck() const { return body_ ? body_->stuck() : std::nullopt; }
std::optional<AnySet::Lists> AnySet::lists() const {
  return body_ ? body_->facts().lists : std::nullopt;
}
Result<Parts> AnySet::parts() const {
  if (!body_) return moved_from_error();
  return body_->parts();
}

Result<void> AnySet::measure() const {
  if (!body_) return moved_from_error();
  return body_->measure();
}

}  // namespace bloomery::inline v0
