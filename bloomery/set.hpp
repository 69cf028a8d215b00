// Set<Kind>: the front door of the library. Owns its memory, hashes its keys, saves itself.
//
//    bloomery::Set<bloomery::BlockedBloom> seen({.keys = 10'000'000, .rate = 0.01});
//    if (seen.add(url)) crawl(url);             // true: surely new
//
// When to prefer which kind: docs/kinds.md. Keys are strings, byte spans and integers; a Hash goes
// in as it is, for those who hash themselves (well mixed, please). Exact maps take integers only.
//
// The constructor throws std::invalid_argument for a want that no set can have; make() returns it.
// add() throws Failure when the set is full, std::out_of_range for an integer outside a range;
// add_all and may_contain_all throw std::invalid_argument when the answers have too little room.
// Limits:  a Result<void> that fails and is not looked at throws (error.hpp). A set that was moved
//          from may only be assigned to or destroyed.
// Threads: add_shared, may_contain_shared and overfull may be called by any number at once; nothing
//          else may run beside them. Otherwise one thread changes a set, or any number ask it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/bits/words.hpp>
#include <bloomery/engines/parallel.hpp>
#include <bloomery/sets/batch.hpp>
#include <bloomery/sets/groups.hpp>
#include <bloomery/sets/key_of.hpp>
#include <bloomery/sets/key_source.hpp>
#include <bloomery/sets/kinds.hpp>
#include <bloomery/sets/shard.hpp>
#include <bloomery/sets/short_way.hpp>
#include <bloomery/storage/image.hpp>

namespace bloomery {

template <class K>
class Set {
 public:
  using Input = typename K::Input;
  static constexpr bool is_ranged = std::same_as<Input, Ordinal>;

  explicit Set(const Want& want, Hasher hasher = Hasher{}) : Set(made_body<K>(want), hasher) {}

  static Result<Set> make(const Want& want, Hasher hasher = Hasher{}) {
    auto body = Body<K>::make(want);
    if (!body) return body.error();
    return Set(std::move(*body), hasher);
  }

  // Static kinds: from all their keys at once, which are the keys of the want (set_build.hpp).
  template <KeysOf<K> Keys>
  static Result<Set> build(const Want& want, const Keys& keys, Hasher hasher = Hasher{},
                           Threads threads = {1}) requires Buildable<K>;
  // Cascade: matches every blocked key, no allowed one; a key in both is an Error (set_build.hpp).
  template <KeysOf<K> Keys>
  static Result<Set> build(const Want& want, const Keys& blocked, const Keys& allowed,
                           Hasher hasher = Hasher{}) requires TwoListed<K>;

  // A private copy-on-write mapping of the file: changes stay in memory until saved.
  static Result<Set> open(const std::filesystem::path& path, const OpenOptions& options = {}) {
    auto image = open_image(path, options);
    if (!image) return image.error();
    auto body = Body<K>::from_parts(std::move(image->parts));
    if (!body) return Error{body.error().code, path.string() + ": " + body.error().sentence};
    Set set(std::move(*body), image->hasher);
    set.rules_ = std::move(image->rules);
    set.uuid_ = image->uuid;
    set.key_is_elsewhere_ = image->key_is_elsewhere;
    return set;
  }

  // The file is the old one or the new one, never half of it.
  Result<void> save(const std::filesystem::path& path, const SaveOptions& options = {}) const {
    try {
      return save_image(path, {body_.parts(), hasher_, rules_, uuid_, key_is_elsewhere_}, options);
    } catch (const Failure& failure) {
      return Error{failure.code, path.string() + ": " + failure.what()};
    }
  }

  // True: surely new. False: there before, or (approximate kinds) looks as if.
  template <KeyOf<K> T>
  bool add(const T& key) requires(!TwoListed<K>) {
    return accepted(try_add(key)) == Added::fresh;
  }
  // String literals and arrays of characters.
  bool add(std::string_view key) requires(!is_ranged && !TwoListed<K>) {
    return accepted(try_add(key)) == Added::fresh;
  }
  bool add(std::nullptr_t) = delete;

  template <KeyOf<K> T>
  Added try_add(const T& key) {
    if constexpr (SimplyShaped<K>)
      return way_.can_add(form_of<T, K>) ? body_.add_simple(fast_input<Input>(key, hasher_))
                                         : add_at_first<T>(key);
    if (rules_.form != form_of<T, K>) note_form<T>();  // shorter than its atomic load
    return body_.add(input_of(key));
  }

  template <KeyOf<K> T>
  bool may_contain(const T& key) const {
    if constexpr (SimplyShaped<K>)
      if (way_.can_ask()) return body_.kind().has_simple(fast_input<Input>(key, hasher_));
    return has_place(key) && body_.may_contain(unchecked_input_of(key));
  }
  bool may_contain(std::string_view key) const requires(!is_ranged) {
    return may_contain<std::string_view>(key);
  }
  bool may_contain(std::nullptr_t) const = delete;

  // Sharded: where a key lies, and a shard for one thread to add to (sets/shard.hpp).
  template <KeyOf<K> T>
  std::uint64_t shard_of(const T& key) const requires Sharding<K> {
    return body_.kind().shard_of(unchecked_input_of(key));
  }
  auto shard(std::uint64_t number) requires Sharding<K> {
    return Shard<K>(body_, rules_.form, hasher_, number);
  }

  // Exact kinds earn the stronger word.
  template <KeyOf<K> T>
  bool contains(const T& key) const requires Exact<K> {
    return may_contain(key);
  }

  // By any number of threads at once; no key is lost. If two threads add the same key to a Bloom
  // filter at the same moment, both calls may return true.
  template <KeyOf<K> T>
  bool add_shared(const T& key) {
    note_form<T>();
    return accepted(body_.add_shared(input_of(key))) == Added::fresh;
  }
  template <KeyOf<K> T>
  bool may_contain_shared(const T& key) const {
    return has_place(key) && body_.may_contain_shared(unchecked_input_of(key));
  }

  // Takes one copy away (exact maps: the key altogether); returns whether it was there, and changes
  // nothing if not. Remove only what was added: on approximate kinds a stranger that passes takes
  // counts away that others need. Throws Failure on a set that was not planned for removal.
  template <KeyOf<K> T>
  bool remove(const T& key) requires Removable<K> {
    body_.expect_removable();
    return has_place(key) && body_.remove(unchecked_input_of(key));
  }
  bool remove(std::string_view key) requires(!is_ranged && Removable<K>) {
    return remove<std::string_view>(key);
  }
  // Returns how many were there; `removed`, if not empty, is as long as the keys and tells which.
  template <KeysOf<K> Keys>
  std::size_t remove_all(const Keys& keys, std::span<bool> removed = {}) requires Removable<K> {
    body_.expect_removable();
    const auto all = as_span(keys);
    if (!removed.empty()) expect_room(removed.size(), all.size());
    return removed.empty() ? body_.remove_all(source(all), CountOnly{})
                           : body_.remove_all(source(all), ToBools(removed.data()));
  }

  // How often the key was added: never too low, perhaps too high. An answer of most_count() means
  // that often or more.
  template <KeyOf<K> T>
  std::uint64_t count_of(const T& key) const requires Countable<K> {
    const K& kind = body_.kind();
    return has_place(key) ? kind.count(kind.locate(unchecked_input_of(key))) : 0;
  }
  std::uint64_t count_of(std::string_view key) const requires(!is_ranged && Countable<K>) {
    return count_of<std::string_view>(key);
  }
  // counts[i] tells of keys[i].
  template <KeysOf<K> Keys>
  void counts(const Keys& keys, std::span<std::uint64_t> counts) const requires Countable<K> {
    const auto all = as_span(keys);
    expect_room(counts.size(), all.size());
    count_all(body_.kind(), source(all), counts.data());
  }
  std::uint64_t most_count() const requires Countable<K> { return body_.kind().most_count(); }

  // Adds every key in order, with many memory waits in flight. Returns how many were surely new;
  // `fresh`, if not empty, is as long as the keys and tells which: one bool per key, or one bit
  // (bit i % 64 of word i / 64 for key i). An integer outside the range of a map throws
  // std::out_of_range before any is added; a full set throws Failure and keeps those before.
  template <KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, std::span<bool> fresh = {}) {
    const auto all = as_span(keys);
    if (!fresh.empty()) expect_room(fresh.size(), all.size());
    begin_adding(all);
    return fresh.empty() ? add_source(all, CountOnly{}) : add_source(all, ToBools(fresh.data()));
  }
  template <KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, std::span<std::uint64_t> fresh) {
    const auto all = as_span(keys);
    if (!fresh.empty()) expect_room(fresh.size(), words_for(all.size()));
    begin_adding(all);
    return fresh.empty() ? add_source(all, CountOnly{}) : add_source(all, ToMask(fresh.data()));
  }
  // The same with several threads: same bytes, same count. Kinds that can not be added to in this
  // way (engines/parallel.hpp, and composites) are added to by one.
  template <KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, Threads threads) {
    const auto all = as_span(keys);
    begin_adding(all);
    if constexpr (OneLined<K>)
      if (const auto fresh = add_by_threads(body_, source(all), threads)) return *fresh;
    return add_source(all, CountOnly{});
  }

  // The same by one thread, bringing the keys together by lines first (sets/partition.hpp) whatever
  // the size; add_all does so by itself where it pays.
  template <KeysOf<K> Keys>
  std::size_t add_all_by_lines(const Keys& keys) requires OneLined<K> {
    const auto all = as_span(keys);
    begin_adding(all);
    return body_.add_all_by_lines(source(all)).value();
  }

  // answers[i], or bit i % 64 of answers[i / 64], tells of keys[i]. Returns how many may be there.
  template <KeysOf<K> Keys>
  std::size_t may_contain_all(const Keys& keys, std::span<bool> answers,
                              Threads threads = {1}) const {
    const auto all = as_span(keys);
    expect_room(answers.size(), all.size());
    return ask_all_parallel(all.size(), threads, [&](std::size_t first, std::size_t n) {
      return ask_source(all.subspan(first, n), ToBools(answers.data() + first));
    });
  }
  template <KeysOf<K> Keys>
  std::size_t may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                              Threads threads = {1}) const {
    const auto all = as_span(keys);
    expect_room(answers.size(), words_for(all.size()));
    return ask_all_parallel(all.size(), threads, [&](std::size_t first, std::size_t n) {
      return ask_source(all.subspan(first, n), ToMask(answers.data() + first / 64));
    });
  }
  // How many of the keys may be there, without telling which. One thread brings the keys together
  // by lines where that pays; several ask in the order of the keys.
  template <KeysOf<K> Keys>
  std::size_t count_may_contain(const Keys& keys, Threads threads = {1}) const {
    const auto all = as_span(keys);
    if (wanted_threads(threads) == 1) return ask_source(all, CountOnly{});
    return ask_all_parallel(all.size(), threads, [&](std::size_t first, std::size_t n) {
      return ask_source(all.subspan(first, n), [](std::size_t, std::size_t, std::uint64_t) {});
    });
  }

  // Equal shape and hash, or an Error that names what differs.
  Result<void> unite(const Set& other) requires(!Kind<K> || Mergeable<K>) {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    if (auto united = body_.unite(other.body_); !united) return united.error();
    join_rules(rules_, other.rules_);
    return {};
  }
  // On Bloom filters: holds every common key, at a worse rate than a filter of those keys.
  Result<void> intersect(const Set& other) requires(!Kind<K> || Mergeable<K>) {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    return body_.intersect(other.body_);
  }
  // Difference and exclusive or: exact kinds only. On a Bloom filter they would clear bits that
  // other keys need, so there they are refused.
  Result<void> subtract(const Set& other) requires requires(Body<K> body) { body.subtract(body); }
  {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    return body_.subtract(other.body_);
  }
  Result<void> exclusive(const Set& other) requires requires(Body<K> body) { body.exclusive(body); }
  {
    if (auto fitting = fits(other); !fitting) return fitting.error();
    return body_.exclusive(other.body_);
  }

  double estimate() const { return body_.estimate(); }  // keys, from the bits; infinity when full
  double rate_now() const { return body_.rate_now(); }  // false-positive rate, from the bits
  double fill_ratio() const { return body_.fill_ratio(); }
  double rate_asked() const { return body_.rate_asked(); }
  std::uint64_t bytes() const { return body_.bytes(); }
  std::uint64_t adds() const { return body_.adds(); }  // keys that were surely new when added
  std::uint64_t capacity() const { return body_.capacity(); }
  bool overfull() const { return body_.overfull(); }  // more keys than it was planned for
  const Hasher& hasher() const { return hasher_; }
  const KeyRules& rules() const { return rules_; }

  // The set of everything.
  void fill() requires requires(Body<K> body) { body.fill(); }
  { body_.fill(); }

  // Windows: forgets the oldest generation; or tells the time, and only the last `span` is kept.
  void advance() requires Forgetting<K> { body_.kind().advance(); }
  Result<void> advance_to(std::uint64_t time, std::uint64_t span) requires Forgetting<K> {
    return body_.kind().advance_to(time, span);
  }

  std::uint64_t count() const requires Exact<K> { return core().count(); }

  // Members in rising order.
  template <class Each>
  void for_each(Each&& each) const requires Exact<K> {
    core().for_each(std::forward<Each>(each));
  }

  // What else a kind can do, such as Bitmap::rank or TwoBitMap::for_each_once.
  const K& kind() const requires Kind<K> { return body_.kind(); }

  // Seen::never, once or many.
  template <KeyOf<K> T>
  auto state(const T& key) const requires Stateful<K> {
    using State = decltype(body_.kind().state({}));
    if (!has_place(key)) return State{};
    return body_.kind().state(body_.kind().locate(unchecked_input_of(key)));
  }

 private:
  Set(Body<K> body, Hasher hasher) : body_(std::move(body)), hasher_(hasher), way_(core(), hasher) {
    if (is_ranged) rules_.form = KeyForm::number;
  }

  // The object that holds the keys: the kind, or the composite.
  const auto& core() const {
    if constexpr (Kind<K>)
      return body_.kind();
    else
      return body_;
  }

  Result<void> fits(const Set& other) const {
    KeyRules same_form = other.rules_;
    same_form.form = rules_.form;  // a program may mix forms; it knows its keys
    return keys_fit(hasher_, rules_, other.hasher_, same_form);
  }

  template <class T>
  void note_form() {
    if constexpr (!is_ranged) join_shared(rules_.form, form_of<T, K>);
  }

  template <class T>
  bool has_place(const T& key) const {
    return key_has_place(core(), key);
  }

  template <class T>
  Input unchecked_input_of(const T& key) const {
    return input_from<Input>(key, hasher_);
  }

  // The slow path (sets/short_way.hpp); not inlined, so that the fast path stays short.
  template <class T>
  [[gnu::noinline]] Added add_at_first(PassedKey<T> key) {
    note_form<T>();
    way_.open_for(form_of<T, K>);
    return body_.add(input_of(key));
  }

  template <class T>
  Input input_of(const T& key) const {
    expect_place(core(), key);
    return unchecked_input_of(key);
  }

  template <class T>
  void begin_adding(std::span<const T> keys) {
    for (const T& key : keys) expect_place(core(), key);
    if (!keys.empty()) note_form<T>();
  }

  template <class T>
  auto source(std::span<const T> keys) const {
    return source_of(core(), keys, hasher_);
  }

  template <class T, class Sink>
  std::size_t add_source(std::span<const T> keys, Sink&& sink) {
    if constexpr (Kind<K> && !Bounded<K>)
      return body_.add_all(source(keys), sink);
    else
      return add_in_groups(body_, source(keys), sink).value();
  }

  template <class T, class Sink>
  std::size_t ask_source(std::span<const T> keys, Sink&& sink) const {
    if constexpr (Kind<K>)
      return body_.may_contain_all(source(keys), sink);
    else
      return ask_in_groups(body_, source(keys), sink);
  }

  Body<K> body_;
  Hasher hasher_;
  ShortWay<K> way_;
  KeyRules rules_;
  Uuid uuid_{};
  bool key_is_elsewhere_ = false;
};

}  // namespace bloomery
