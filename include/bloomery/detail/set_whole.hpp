// The longer verbs of Set: opening, saving, merging, counting. set.hpp includes it at its end.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

template <class K>
Result<Set<K>> Set<K>::open(const std::filesystem::path& path, const OpenOptions& options) {
  auto image = open_image(path, options);
  if (!image) return image.error();
  auto body = detail::Body<K>::from_parts(std::move(image->parts));
  if (!body) return Error{body.error().code, path.string() + ": " + body.error().sentence};
  Set set(std::move(*body), image->hasher);
  set.gate_.take(image->rules.form);
  set.notes_ =
      std::make_unique<Notes>(Notes{std::move(image->rules), image->uuid, image->key_is_elsewhere});
  return set;
}

template <class K>
Result<void> Set<K>::save(const std::filesystem::path& path, const SaveOptions& options) const {
  try {
    const Notes notes = notes_ ? *notes_ : Notes{};
    return save_image(path, {here().parts(), hasher_, rules(), notes.uuid, notes.key_is_elsewhere},
                      options);
  } catch (const Failure& failure) {
    return Error{failure.code, path.string() + ": " + failure.what()};
  }
}

template <class K>
KeyRules Set<K>::rules() const {
  gate_.expect_here();
  KeyRules rules = notes_ ? notes_->rules : KeyRules{};
  rules.form = gate_.noted();
  return rules;
}

template <class K>
Result<void> Set<K>::fits(const Set& other) const {
  return detail::keys_fit(hasher_, rules(), other.hasher_, other.rules());
}

template <class K>
Result<void> Set<K>::unite(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto united = body_.unite(other.body_); !united) return united.error();
  KeyRules both = rules();
  detail::join_rules(both, other.rules());
  gate_.take(both.form);
  if (notes_) notes_->rules = std::move(both);
  return {};
}

template <class K>
Result<void> Set<K>::intersect(const Set& other) requires(!detail::Kind<K> ||
                                                          detail::Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.intersect(other.body_);
}

template <class K>
Result<void> Set<K>::subtract(const Set& other) requires detail::Subtractable<K> {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.subtract(other.body_);
}

template <class K>
Result<void> Set<K>::exclusive(const Set& other) requires detail::Exclusive<K> {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.exclusive(other.body_);
}

template <class K>
template <detail::KeyOf<K> T>
auto Set<K>::state(const T& key) const requires detail::Stateful<K> {
  using State = decltype(body_.kind().state({}));
  if (!has_place(key)) return State{};
  return body_.kind().state(body_.kind().locate(unchecked_input_of(key)));
}

template <class K>
template <detail::KeysOf<K> Keys>
void Set<K>::counts(const Keys& keys,
                    std::span<std::uint64_t> counts) const requires detail::Countable<K> {
  const auto all = asked(keys);
  detail::expect_room(counts.size(), all.size());
  detail::count_all(body_.kind(), source(all), counts.data());
}

template <class K>
template <detail::KeysOf<K> Keys>
std::size_t Set<K>::add_all_by_lines(const Keys& keys) requires detail::OneLined<K> {
  const auto all = detail::as_span(keys);
  begin_adding(all);
  return body_.add_all_by_lines(source(all)).value();
}

}  // namespace bloomery::inline v0
