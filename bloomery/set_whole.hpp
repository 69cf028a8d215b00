// What is done to a Set as a whole: opening, saving, merging. set.hpp includes it at its end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <bloomery/set.hpp>

namespace bloomery {

template <class K>
Result<Set<K>> Set<K>::open(const std::filesystem::path& path, const OpenOptions& options) {
  auto image = open_image(path, options);
  if (!image) return image.error();
  auto body = Body<K>::from_parts(std::move(image->parts));
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
  return keys_fit(hasher_, rules(), other.hasher_, other.rules());
}

template <class K>
Result<void> Set<K>::unite(const Set& other) requires(!Kind<K> || Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  if (auto united = body_.unite(other.body_); !united) return united.error();
  KeyRules both = rules();
  join_rules(both, other.rules());
  gate_.take(both.form);
  if (notes_) notes_->rules = std::move(both);
  return {};
}

template <class K>
Result<void> Set<K>::intersect(const Set& other) requires(!Kind<K> || Mergeable<K>) {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.intersect(other.body_);
}

template <class K>
Result<void> Set<K>::subtract(const Set& other) requires Subtractable<K> {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.subtract(other.body_);
}

template <class K>
Result<void> Set<K>::exclusive(const Set& other) requires Exclusive<K> {
  if (auto fitting = fits(other); !fitting) return fitting.error();
  return body_.exclusive(other.body_);
}

}  // namespace bloomery
