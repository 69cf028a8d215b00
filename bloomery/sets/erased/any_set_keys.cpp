// Keys of any type, made ready in detail/sets/any_set_keys.hpp, on their way into the body; whole
// sets copied, compared and cleared.
#include <bloomery/any_set.hpp>

#include <utility>

#include <bloomery/sets/erased/any_body.hpp>
#include <bloomery/sets/erased/noted_form.hpp>

namespace bloomery::inline v0 {

using namespace detail;

Result<AnySet> AnySet::clone() const {
  auto whole = parts();
  if (!whole) return whole.error();
  return from_parts(std::move(*whole), hasher_, rules_);
}

bool AnySet::equals(const AnySet& other) const {
  if (this == &other) return true;
  if (body_ == nullptr || other.body_ == nullptr) return body_ == other.body_;
  if (hasher_ != other.hasher_) return false;
  const auto mine = parts();
  const auto theirs = other.parts();
  return mine && theirs && same_bits(*mine, *theirs);
}

Result<void> AnySet::clear() {
  if (body_ == nullptr) return moved_from_error();
  if (auto cleared = with_promise(*body_, body_->clear()); !cleared) return cleared;
  rules_.form = input() == InputForm::ordinal ? KeyForm::number : KeyForm::none;
  uuid_ = {};  // it names the content that is gone
  return {};
}

bool AnySet::takes_wide_hashes() const { return body_ != nullptr && body_->row().wide_hashes; }

Result<void> AnySet::expect_form(KeyForm form) const {
  if (body_ == nullptr) return moved_from_error();
  if (form == KeyForm::text) return expect_texts();
  if (form != KeyForm::u64) return {};  // the body knows whether it takes them
  if (body_->facts().on_server)
    return Error{
        Code::unsupported,
        "integers go into a set on a Redis server through RedisSet, which notes their form"};
  const KeyForm known = body_->known_form(noted_form(rules_));
  if (forms_meet(known, form)) return {};
  return wrong_form(known, form);
}

Result<std::size_t> AnySet::add_ready(const ReadyKeys& keys, KeyForm form, bool* fresh) {
  if (auto fitting = expect_form(form); !fitting) return fitting.error();
  const bool none = std::visit([](const auto& span) { return span.empty(); }, keys);
  if (form != KeyForm::number)
    if (auto fitting = settle_form(form, none); !fitting) return fitting.error();
  auto added = body_->add(keys, fresh);
  if (form != KeyForm::number) note_form(form, none, added);
  return with_promise(*body_, std::move(added));
}

Result<void> AnySet::ask_ready(const ReadyKeys& keys, KeyForm form, bool* answers) const {
  if (auto fitting = expect_form(form); !fitting) return fitting.error();
  return body_->ask(keys, answers);
}

Result<std::size_t> AnySet::remove_ready(const ReadyKeys& keys, KeyForm form, bool* removed) {
  if (auto fitting = expect_form(form); !fitting) return fitting.error();
  return with_promise(*body_, body_->remove(keys, removed));
}

Result<void> AnySet::count_ready(const ReadyKeys& keys, KeyForm form, std::uint64_t* counts) const {
  if (auto fitting = expect_form(form); !fitting) return fitting.error();
  return body_->count(keys, counts);
}

}  // namespace bloomery::inline v0
