// What was done to the keys of a set before they were hashed. Stored with the set, so that a
// program that prepares its keys differently from the builder gets an Error.
//
// Look at them where a set comes from somebody else: they say how to prepare a key before asking.
//
// Example:
//    #include <bloomery/any_set.hpp>
//    auto set = AnySet::open("blocked.bloom");
//    if (!set) return set.error();
//    if (set->rules().form != KeyForm::text)       // it holds integers or hashes
//      return Error{Code::mismatch, std::string(name_of(set->rules().form))};
//    if (set->rules().normalisation == "url/1")    // normalise before you ask (normalize.hpp)
//      crawl(set->rules().made_from);
//
//    set->rules().normalisation = "case/1";        // a promise to those who open it later
//    if (auto saved = set->save("other.bloom"); !saved) return saved;
//
// Errors:  none here; verbs that are given a key of another form return Code::mismatch.
// Limits:  the form is checked by every verb; normalisation and strip_cr only where sets are merged
//          and by the command: a program that asks must prepare its keys itself.
// Threads: values.
// See:     docs/library.md "Keys"; docs/normalize.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>

namespace bloomery::inline v0 {

// Written into files. Never renumber.
enum class KeyForm : std::uint16_t {
  none = 0,    // no key yet
  text = 1,    // bytes as they came
  u64 = 2,     // integers, hashed as 8 little-endian bytes
  number = 3,  // integers as themselves (exact maps)
  hash = 4,    // hashes that the caller made
  mixed = 5,   // more than one of these: only a program that knows its keys can ask
};

constexpr std::string_view name_of(KeyForm form) {
  switch (form) {
    case KeyForm::none: return "none";
    case KeyForm::text: return "text";
    case KeyForm::u64: return "u64";
    case KeyForm::number: return "number";
    case KeyForm::hash: return "hash";
    case KeyForm::mixed: return "mixed";
  }
  return "unknown";
}

namespace detail {

// What a key of this type is hashed as: what bloomery_key returns, or the key itself.
template <class T>
struct PlainKeyOf {
  using type = T;
};
template <UserKey T>
struct PlainKeyOf<T> {
  using type = std::remove_cvref_t<decltype(bloomery_key(std::declval<const T&>()))>;
};
template <class T>
using PlainKey = typename PlainKeyOf<T>::type;

template <UserKey T>
decltype(auto) plain_key(const T& key) {
  return bloomery_key(key);
}
template <class T>
const T& plain_key(const T& key) {
  return key;
}

// What a set notes of keys of this type that it hashes.
template <Hashable T>
inline constexpr KeyForm hashed_form = IntegerKey<PlainKey<T>> ? KeyForm::u64 : KeyForm::text;

// The form of a set that held `before` and is given one more.
constexpr KeyForm joined(KeyForm before, KeyForm added) {
  if (before == added || added == KeyForm::none) return before;
  return before == KeyForm::none ? added : KeyForm::mixed;
}

// May keys of one form be asked of, or added to, a set of another? A Hash may always: the caller is
// responsible for it being the hash of a key.
constexpr bool forms_meet(KeyForm held, KeyForm given) {
  return held == given || held == KeyForm::none || held == KeyForm::mixed || given == KeyForm::hash;
}

inline Error wrong_form(KeyForm held, KeyForm given) {
  return {Code::mismatch, "the keys of this set have the form '" + std::string(name_of(held)) +
                              "', not '" + std::string(name_of(given)) +
                              "': they would never match; give it keys of its form, or the Hash of "
                              "a key"};
}

// Of a verb of a set that was moved from.
inline Error moved_from_error() {
  return {Code::unsound, "the set was moved from; only assign to it or destroy it"};
}

}  // namespace detail

struct KeyRules {
  KeyForm form = KeyForm::none;
  bool strip_cr = false;           // one carriage return before the end of a line was dropped
  std::string normalisation = {};  // profile and version, such as "url/1"; empty: none
  // Which part of a line the keys are, as the flags of the command line say it, such as
  // "--csv --column id"; "lines" for whole ones; empty: unknown. Sets that differ here may be
  // merged, and asked with keys from elsewhere: it only lets a later run use the same flags again.
  std::string made_from = {};
  friend bool operator==(const KeyRules&, const KeyRules&) = default;
};

namespace detail {

// What is known of the keys of two sets that became one.
inline void join_rules(KeyRules& rules, const KeyRules& other) {
  rules.form = joined(rules.form, other.form);
  if (rules.made_from != other.made_from) rules.made_from.clear();
}

// May sets of keys made in these two ways be merged? The Error names what differs.
inline Result<void> keys_fit(const Hasher& one_hash, const KeyRules& one, const Hasher& other_hash,
                             const KeyRules& other) {
  const auto differ = [](std::string what) {
    return Error{Code::mismatch, "the sets cannot be merged: " + std::move(what)};
  };
  if (one_hash.mode() != other_hash.mode()) return differ("one is hashed fast, the other hardened");
  if (one_hash.seed() != other_hash.seed())
    return differ("seed " + std::to_string(one_hash.seed()) + " in one, " +
                  std::to_string(other_hash.seed()) + " in the other");
  if (one_hash != other_hash) return differ("they are hardened with different keys");
  if (one.form != other.form && one.form != KeyForm::none && other.form != KeyForm::none)
    return differ("keys are " + std::string(name_of(one.form)) + " in one, " +
                  std::string(name_of(other.form)) + " in the other");
  if (one.strip_cr != other.strip_cr) return differ("only one drops carriage returns");
  if (one.normalisation != other.normalisation)
    return differ("normalisation '" + one.normalisation + "' in one, '" + other.normalisation +
                  "' in the other");
  return {};
}

}  // namespace detail
}  // namespace bloomery::inline v0
