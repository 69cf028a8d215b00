// The longer verbs of Set: opening, saving, merging, counting. set.hpp includes it at its end.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

template <class K>
Result<Set<K>> Set<K>::of(const std::string& name, Result<Image> image) {
  if (!image) return image.error();
  auto body = detail::Body<K>::from_parts(std::move(image->parts));
  if (!body) return Error{body.error().code, name + ": " + body.error().sentence};
  Set set(std::move(*body), image->hasher);
  set.gate_.take(image->rules.form);
  set.notes_ =
      std::make_unique<Notes>(Notes{std::move(image->rules), image->uuid, image->key_is_elsewhere});
  return set;
}

template <class K>
Result<Image> Set<K>::image() const {
  if (!is_here()) return detail::moved_from_error();
  Result<detail::Parts> parts = body_.parts();
  if (!parts) return parts.error();
  const Notes notes = notes_ ? *notes_ : Notes{};
  return Image{std::move(*parts), hasher_, rules(), notes.uuid, notes.key_is_elsewhere};
}

template <class K>
Result<Set<K>> Set<K>::clone() const {
  if (!is_here()) return detail::moved_from_error();
  Result<detail::Parts> parts = body_.parts();
  if (!parts) return parts.error();
  auto body = detail::Body<K>::from_parts(std::move(*parts));
  if (!body) return body.error();
  Set copy(std::move(*body), hasher_);
  copy.gate_.take(gate_.noted());
  if (notes_) copy.notes_ = std::make_unique<Notes>(*notes_);
  return copy;
}

template <class K>
bool Set<K>::equals(const Set& other) const {
  if (this == &other) return true;
  if (!is_here() || !other.is_here() || hasher_ != other.hasher_) return false;
  const Result<detail::Parts> mine = body_.parts();
  const Result<detail::Parts> theirs = other.body_.parts();
  return mine && theirs && detail::same_bits(*mine, *theirs);
}

template <class K>
Result<Set<K>> Set<K>::open(const std::filesystem::path& path, const OpenOptions& options) {
  return of(path.string(), open_image(path, options));
}

template <class K>
Result<Set<K>> Set<K>::open(std::istream& in, const OpenOptions& options) {
  return of("the image on the stream", read_image(in, options));
}

template <class K>
Result<Set<K>> Set<K>::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  return of("the image", read_image(bytes, options));
}

template <class K>
Result<void> Set<K>::try_save(const std::filesystem::path& path, const SaveOptions& options) const {
  const auto whole = image();
  if (!whole) return Error{whole.error().code, path.string() + ": " + whole.error().sentence};
  return save_image(path, *whole, options);
}

template <class K>
Result<void> Set<K>::try_save(std::ostream& out) const {
  const auto whole = image();
  if (!whole) return whole.error();
  return write_image(out, *whole);
}

template <class K>
Result<std::vector<std::byte>> Set<K>::try_to_bytes() const {
  const auto whole = image();
  if (!whole) return whole.error();
  return image_bytes(*whole);
}

template <class K>
KeyRules Set<K>::rules() const {
  if (!is_here()) return {};
  KeyRules rules = notes_ ? notes_->rules : KeyRules{};
  rules.form = gate_.noted();
  return rules;
}

template <class K>
void Set<K>::note(KeyRules rules) {
  if (!notes_) notes_ = std::make_unique<Notes>();
  notes_->rules = std::move(rules);
}

template <class K>
std::uint64_t Set<K>::adds() const {
  if (!is_here()) return 0;
  if constexpr (requires { body_.adds_shared(); })
    return body_.adds_shared();
  else
    return body_.adds();
}

template <class K>
Result<void> Set<K>::fits(const Set& other) const {
  if (!is_here() || !other.is_here()) return detail::moved_from_error();
  return detail::keys_fit(hasher_, rules(), other.hasher_, other.rules());
}

template <class K>
Result<void> Set<K>::try_unite(const Set& other) requires(!detail::Kind<K> ||
                                                          detail::Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting;
  if (auto united = body_.unite(other.body_); !united) return united;
  KeyRules both = rules();
  detail::join_rules(both, other.rules());
  gate_.take(both.form);
  if (notes_) notes_->rules = std::move(both);
  return {};
}

template <class K>
Result<void> Set<K>::try_intersect(const Set& other) requires(!detail::Kind<K> ||
                                                              detail::Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting;
  return body_.intersect(other.body_);
}

template <class K>
Result<void> Set<K>::try_subtract(const Set& other) requires detail::Subtractable<K> {
  if (auto fitting = fits(other); !fitting) return fitting;
  return body_.subtract(other.body_);
}

template <class K>
Result<void> Set<K>::try_exclusive(const Set& other) requires detail::Exclusive<K> {
  if (auto fitting = fits(other); !fitting) return fitting;
  return body_.exclusive(other.body_);
}

template <class K>
Result<void> Set<K>::try_clear() requires detail::Clearable<K> {
  if (!is_here()) return detail::moved_from_error();
  if (auto cleared = body_.clear(); !cleared) return cleared;
  gate_.clear();
  if (notes_) notes_->uuid = {};  // it names the content that is gone
  return {};
}

template <class K>
template <class T, class Cpu>
Added Set<K>::add_at_first(detail::PassedKey<T> key) {
  gate_.note(detail::form_of<T, K>);
  if constexpr (detail::SimplyShaped<K>)
    return body_.template add_lone<Cpu>(unchecked_input_of(key));
  else
    return body_.add(unchecked_input_of(key));
}

template <class K>
template <class T, class Cpu>
bool Set<K>::ask_at_first(detail::PassedKey<T> key) const {
  gate_.expect(detail::form_of<T, K>);
  if constexpr (detail::SimplyAsked<K>)
    return body_.kind().template has_lone<Cpu>(unchecked_input_of(key));
  else
    return body_.may_contain(unchecked_input_of(key));
}

template <class K>
template <detail::KeyOf<K> T>
auto Set<K>::state(const T& key) const requires detail::Stateful<K> {
  using State = decltype(body_.kind().state({}));
  if (!has_place(key)) return State{};
  return body_.kind().state(body_.kind().locate(unchecked_input_of(key)));
}

template <class K>
Result<void> Set<K>::try_advance_to(std::uint64_t time,
                                    std::uint64_t span) requires detail::Forgetting<K> {
  if (!is_here()) return detail::moved_from_error();
  return body_.kind().advance_to(time, span);
}

template <class K>
template <detail::KeyOf<K> T>
std::uint64_t Set<K>::count_of(const T& key) const requires detail::Countable<K> {
  gate_.expect(detail::form_of<T, K>);
  const K& kind = body_.kind();
  return has_place(key) ? kind.count(kind.locate(unchecked_input_of(key))) : 0;
}

#if __cpp_exceptions

template <class K>
void Set<K>::advance_to(std::uint64_t time, std::uint64_t span) requires detail::Forgetting<K> {
  gate_.expect_here();
  try_advance_to(time, span).value();
}

template <class K>
void Set<K>::save(const std::filesystem::path& path, const SaveOptions& options) const {
  gate_.expect_here();
  try_save(path, options).value();
}

template <class K>
void Set<K>::save(std::ostream& out) const {
  gate_.expect_here();
  try_save(out).value();
}

template <class K>
std::vector<std::byte> Set<K>::to_bytes() const {
  gate_.expect_here();
  return try_to_bytes().value();
}

template <class K>
void Set<K>::unite(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>) {
  expect_here(other);
  try_unite(other).value();
}

template <class K>
void Set<K>::intersect(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>) {
  expect_here(other);
  try_intersect(other).value();
}

template <class K>
void Set<K>::subtract(const Set& other) requires detail::Subtractable<K> {
  expect_here(other);
  try_subtract(other).value();
}

template <class K>
void Set<K>::exclusive(const Set& other) requires detail::Exclusive<K> {
  expect_here(other);
  try_exclusive(other).value();
}

template <class K>
void Set<K>::clear() requires detail::Clearable<K> {
  gate_.expect_here();
  try_clear().value();
}

#endif

}  // namespace bloomery::inline v0
