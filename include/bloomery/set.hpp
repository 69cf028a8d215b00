// Set<Kind>: the front door of the library. Owns its memory, hashes its keys, saves itself.
//
// Prefer it where the kind is known when you compile; AnySet (any_set.hpp) elsewhere. Which kind
// when: docs/kinds.md; how to use it: docs/library.md.
//
// Example:
//    bloomery::Set<bloomery::BlockedBloom> seen({.keys = 10'000'000, .rate = 0.01});
//    if (seen.add(url)) crawl(url);                // true: surely new
//    const std::size_t fresh = seen.add_all(urls);  // many at once: several times as fast
//    if (fresh > 0 && !seen.overfull()) seen.save("seen.bloom");
//    if (!seen.may_contain("http://example.org/")) crawl("surely absent");
//    seen.clear();                                 // empty again, as it was planned
//
// Keys: strings, byte spans, integers; a Hash goes in as it is (well mixed). Exact maps: integers.
// Errors:  verbs throw; try_ forms, make(), build() and open() return; getters do neither. They
//          throw std::invalid_argument for a want that no set can have, or too little room for
//          answers, std::out_of_range for an integer outside a range, Failure for all else. Without
//          exceptions only the try_ forms are there, and any other misuse ends the program.
// Limits:  a set that was moved from may only be assigned to or destroyed. Its verbs throw
//          std::logic_error, its try_ forms return an Error, its getters tell of an empty set.
// Threads: add_shared, may_contain_shared, adds, capacity and overfull may be called by any number
//          at once; nothing else may run beside them. Otherwise one thread changes a set, or any
//          number ask it. docs/library.md has one table for all classes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <bloomery/detail/bits/this_cpu.hpp>
#include <bloomery/detail/bits/words.hpp>
#include <bloomery/detail/engines/parallel.hpp>
#include <bloomery/detail/sets/bulk/batch.hpp>
#include <bloomery/detail/sets/bulk/groups.hpp>
#include <bloomery/detail/sets/bulk/key_source.hpp>
#include <bloomery/detail/sets/bulk/key_spans.hpp>
#include <bloomery/detail/sets/key_gate.hpp>
#include <bloomery/detail/sets/key_of.hpp>
#include <bloomery/detail/sets/shard.hpp>
#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/image.hpp>
#include <bloomery/kinds.hpp>

namespace bloomery::inline v0 {

using detail::Added;
template <class K>
class LiveSet;

template <class K>
class Set {
 public:
  using Input = typename K::Input;
  static constexpr bool is_ranged = std::same_as<Input, Ordinal>;
  static constexpr bool is_hashed = std::same_as<Input, Hash>;  // to 64 bits

#if __cpp_exceptions
  explicit Set(const Want& want, Hasher hasher = Hasher{})
      : Set(detail::made_body<K>(want), hasher) {}
#endif

  static Result<Set> make(const Want& want, Hasher hasher = Hasher{}) {
    auto body = detail::Body<K>::make(want);
    if (!body) return body.error();
    return Set(std::move(*body), hasher);
  }

  // Static kinds: from all their keys at once, which are the keys of the want (set_build.hpp).
  template <detail::KeysOf<K> Keys>
  static Result<Set> build(const Want& want, const Keys& keys, Hasher hasher = Hasher{},
                           Threads threads = {1}) requires detail::Buildable<K>;
  // Cascade: matches every blocked key, no allowed one; a key in both is an Error (set_build.hpp).
  template <detail::KeysOf<K> Keys>
  static Result<Set> build(const Want& want, const Keys& blocked, const Keys& allowed,
                           Hasher hasher = Hasher{}) requires detail::TwoListed<K>;

  // A private copy-on-write mapping of the file: changes stay in memory until saved.
  static Result<Set> open(const std::filesystem::path& path, const OpenOptions& options = {});
  // A file that processes add to and ask at once; include live.hpp.
  static Result<LiveSet<K>> open_live(const std::filesystem::path& path,
                                      const detail::LiveOptions& options = {});
  static Result<Set> of(const std::string& name, Result<Image> image);  // see open_image
  // The file is the old one or the new one, never half of it.
  Result<void> try_save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  // A set of the same bits in memory of its own, or an Error when memory is refused.
  Result<Set> clone() const;
  // The same shape, hash and bits: both answer every key alike. Sets of the same keys may differ
  // where the order of adds decides the bits (cuckoo).
  friend bool operator==(const Set& one, const Set& other) { return one.equals(other); }
  // The bytes of such a file, and streams of them. What is read is copied, and nothing behind it.
  static Result<Set> from_bytes(std::span<const std::byte> bytes, const OpenOptions& options = {});
  static Result<Set> open(std::istream& in, const OpenOptions& options = {});
  Result<std::vector<std::byte>> try_to_bytes() const;
  Result<void> try_save(std::ostream& out) const;

  // True: surely new. False: there before, or (approximate kinds) a false positive.
  // Leave `Cpu` out (this_cpu.hpp).
  template <detail::KeyOf<K> T, class Cpu = detail::ThisCpu>
  bool add(const T& key) requires(!detail::TwoListed<K>) {
    return detail::accepted(try_add<T, Cpu>(key)) == Added::fresh;
  }
  // String literals and arrays of characters.
  template <class Cpu = detail::ThisCpu>
  bool add(std::string_view key) requires(!is_ranged && !detail::TwoListed<K>) {
    return detail::accepted(try_add<std::string_view, Cpu>(key)) == Added::fresh;
  }
  bool add(std::nullptr_t) = delete;
  template <detail::NotKeyOf<K> T>
  bool add(const T&) = delete;  // the type needs a function bloomery_key, see hash.hpp

  template <detail::KeyOf<K> T, class Cpu = detail::ThisCpu>
  Added try_add(const T& key) {
    if constexpr (is_hashed)
      return gate_.is_open(detail::form_of<T, K>)
                 ? detail::add_open<Cpu>(body_, detail::fast_input<Input>(key, hasher_))
                 : add_at_first<T, Cpu>(key);
    if constexpr (!is_ranged) gate_.note(detail::form_of<T, K>);
    return body_.add(input_of(key));
  }

  template <detail::KeyOf<K> T, class Cpu = detail::ThisCpu>
  bool may_contain(const T& key) const {
    if constexpr (is_hashed)
      return gate_.is_open(detail::form_of<T, K>)
                 ? detail::ask_open<Cpu>(body_, detail::fast_input<Input>(key, hasher_))
                 : ask_at_first<T, Cpu>(key);
    if constexpr (!is_ranged) gate_.expect(detail::form_of<T, K>);
    return has_place(key) && body_.may_contain(unchecked_input_of(key));
  }
  template <class Cpu = detail::ThisCpu>
  bool may_contain(std::string_view key) const requires(!is_ranged) {
    return may_contain<std::string_view, Cpu>(key);
  }
  bool may_contain(std::nullptr_t) const = delete;
  template <detail::NotKeyOf<K> T>
  bool may_contain(const T&) const = delete;  // the type needs a bloomery_key, see hash.hpp

  // Sharded: where a key lies; a shard for one thread to add to (shard.hpp).
  template <detail::KeyOf<K> T>
  std::uint64_t shard_of(const T& key) const requires detail::Sharding<K> {
    return here().kind().shard_of(unchecked_input_of(key));
  }
  auto shard(std::uint64_t number) requires detail::Sharding<K> {
    return detail::Shard<K>(here(), gate_, hasher_, number);
  }

  // Exact kinds only: their answer is certain.
  template <detail::KeyOf<K> T>
  bool contains(const T& key) const requires detail::Exact<K> {
    return may_contain(key);
  }

  // By any number of threads; no key is lost. Two that add one key at once may both get true.
  template <detail::KeyOf<K> T>
  bool add_shared(const T& key) {
    if constexpr (!is_ranged) gate_.note_shared(detail::form_of<T, K>);
    return detail::accepted(body_.add_shared(input_of(key))) == Added::fresh;
  }
  template <detail::KeyOf<K> T>
  bool may_contain_shared(const T& key) const {
    if constexpr (!is_ranged) gate_.expect_shared(detail::form_of<T, K>);
    return has_place(key) && body_.may_contain_shared(unchecked_input_of(key));
  }

  // Removes one copy (exact maps: the key itself); returns whether it was there, and changes
  // nothing if not. Remove only what was added: on approximate kinds, removing a false positive
  // lowers counts that other keys need. Throws Failure on a set that was not planned for removal.
  template <detail::KeyOf<K> T>
  bool remove(const T& key) requires detail::Removable<K> {
    gate_.expect(detail::form_of<T, K>);
    body_.expect_removable();
    return has_place(key) && body_.remove(unchecked_input_of(key));
  }
  bool remove(std::string_view key) requires(!is_ranged && detail::Removable<K>) {
    return remove<std::string_view>(key);
  }
  // Returns how many were there; `removed`, if not empty, is as long as the keys and tells which.
  template <detail::KeysOf<K> Keys>
  std::size_t remove_all(const Keys& keys,
                         std::span<bool> removed = {}) requires detail::Removable<K> {
    return told(try_remove_all(keys, removed));
  }
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_remove_all(const Keys& keys,
                                     std::span<bool> removed = {}) requires detail::Removable<K>;

  // How often the key was added: never too low, perhaps too high. An answer of most_count() means
  // that often or more.
  template <detail::KeyOf<K> T>
  std::uint64_t count_of(const T& key) const requires detail::Countable<K>;
  std::uint64_t count_of(std::string_view key) const requires(!is_ranged && detail::Countable<K>) {
    return count_of<std::string_view>(key);
  }
  // counts[i] tells of keys[i].
  template <detail::KeysOf<K> Keys>
  void counts(const Keys& keys,
              std::span<std::uint64_t> counts) const requires detail::Countable<K> {
    told(try_counts(keys, counts));
  }
  template <detail::KeysOf<K> Keys>
  Result<void> try_counts(const Keys& keys,
                          std::span<std::uint64_t> counts) const requires detail::Countable<K>;
  std::uint64_t most_count() const requires detail::Countable<K> {
    return is_here() ? body_.kind().most_count() : 0;
  }

  // Keys of the bulk verbs are any forward range. A vector, span or array is read where it lies;
  // others, and types with a bloomery_key, are gathered 1024 at a time (key_spans.hpp): slower.
  // Adds every key in order. Returns how many were surely new; `fresh`, if not empty, is as long as
  // the keys and tells which: a bool or a bit a key (bit i % 64 of word i / 64). An integer outside
  // a range throws std::out_of_range before any is added; a full set keeps those before (Failure).
  template <detail::KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, std::span<bool> fresh = {});
  template <detail::KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, std::span<std::uint64_t> fresh);
  // `fresh` becomes as long as the keys. Slower: its bits are written one by one.
  template <detail::KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, std::vector<bool>& fresh);
  // The same with several threads: same bytes, same count. Kinds that cannot be added to in this
  // way (parallel.hpp, and composites) and gathered keys are added by one.
  template <detail::KeysOf<K> Keys>
  std::size_t add_all(const Keys& keys, Threads threads);
  template <detail::NotKeysOf<K> Keys, class... Rest>
  void add_all(const Keys&, Rest&&...) = delete;  // needs a forward range of keys, see hash.hpp

  // The same with an Error instead of an exception: Code::full (the keys before are in the set),
  // and before any is added mismatch (keys of another form), out_of_range, bad_input (`fresh` is
  // shorter than the keys).
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_add_all(const Keys& keys, std::span<bool> fresh = {});
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_add_all(const Keys& keys, std::span<std::uint64_t> fresh);
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_add_all(const Keys& keys, std::vector<bool>& fresh);
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_add_all(const Keys& keys, Threads threads);

  // By one thread, with the keys partitioned by cache line at any size (partition.hpp).
  template <detail::KeysOf<K> Keys>
  std::size_t add_all_by_lines(const Keys& keys) requires detail::OneLined<K> {
    return told(try_add_all_by_lines(keys));
  }
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_add_all_by_lines(const Keys& keys) requires detail::OneLined<K>;

  // answers[i], or bit i % 64 of answers[i / 64], tells of keys[i]. Returns how many may be there.
  template <detail::KeysOf<K> Keys>
  std::size_t may_contain_all(const Keys& keys, std::span<bool> answers,
                              Threads threads = {1}) const;
  template <detail::KeysOf<K> Keys>
  std::size_t may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                              Threads threads = {1}) const;
  // One answer for each key. Slower than the others, which write into memory that is there.
  template <detail::KeysOf<K> Keys>
  std::vector<bool> may_contain_all(const Keys& keys) const;
  // How many of the keys may be there. One thread partitions the keys by cache line where it pays.
  template <detail::KeysOf<K> Keys>
  std::size_t count_may_contain(const Keys& keys, Threads threads = {1}) const;

  // The same with an Error instead of an exception: Code::mismatch, bad_input.
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_may_contain_all(const Keys& keys, std::span<bool> answers,
                                          Threads threads = {1}) const;
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_may_contain_all(const Keys& keys, std::span<std::uint64_t> answers,
                                          Threads threads = {1}) const;
  template <detail::KeysOf<K> Keys>
  Result<std::vector<bool>> try_may_contain_all(const Keys& keys) const;
  template <detail::KeysOf<K> Keys>
  Result<std::size_t> try_count_may_contain(const Keys& keys, Threads threads = {1}) const;

  // Equal shape, hash, form of keys, or an Error.
  Result<void> try_unite(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>);
  // On Bloom filters: holds every common key, at a worse rate than a filter of those keys.
  Result<void> try_intersect(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>);
  // Difference and exclusive or: exact kinds only. On a Bloom filter they would clear bits that
  // other keys need, so there they are refused.
  Result<void> try_subtract(const Set& other) requires detail::Subtractable<K>;
  Result<void> try_exclusive(const Set& other) requires detail::Exclusive<K>;
  // Forgets every key, and the time of a window: the set is as when it was made, with the same plan
  // (size, rate, range), hash and rules, and takes keys of any form again. What grew gives memory
  // back. An Error if the system refuses the memory to begin again; then nothing has changed.
  Result<void> try_clear() requires detail::Clearable<K>;

#if __cpp_exceptions
  // The same, with the Error thrown as a Failure.
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  void save(std::ostream& out) const;
  std::vector<std::byte> to_bytes() const;
  void unite(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>);
  void intersect(const Set& other) requires(!detail::Kind<K> || detail::Mergeable<K>);
  void subtract(const Set& other) requires detail::Subtractable<K>;
  void exclusive(const Set& other) requires detail::Exclusive<K>;
  void clear() requires detail::Clearable<K>;
  void advance_to(std::uint64_t time, std::uint64_t span) requires detail::Forgetting<K>;
#endif

  // From the bits: keys (infinity when full), and false-positive rate.
  double estimate() const { return is_here() ? body_.estimate() : 0; }
  double rate_now() const { return is_here() ? body_.rate_now() : 0; }
  double fill_ratio() const { return is_here() ? body_.fill_ratio() : 0; }
  double rate_asked() const { return is_here() ? body_.rate_asked() : 0; }
  std::uint64_t bytes() const { return is_here() ? body_.bytes() : 0; }
  // Keys that were surely new when added.
  std::uint64_t adds() const;
  std::uint64_t capacity() const { return is_here() ? body_.capacity() : 0; }
  bool overfull() const { return is_here() && body_.overfull(); }  // more keys than planned for
  const Hasher& hasher() const { return hasher_; }
  KeyRules rules() const;
  void note(KeyRules rules);  // for those who open it later; the form stays the set's own

  // The set of everything.
  void fill() requires requires(detail::Body<K> body) { body.fill(); }
  { here().fill(); }

  // Windows: forgets the oldest generation; or tells the time, and only the last `span` is kept.
  void advance() requires detail::Forgetting<K> { here().kind().advance(); }
  Result<void> try_advance_to(std::uint64_t time,
                              std::uint64_t span) requires detail::Forgetting<K>;

  std::uint64_t count() const requires detail::Exact<K> { return is_here() ? core().count() : 0; }

  // Members of a map of integers in ascending order: for (std::uint64_t n : set). Valid until the
  // set changes, moves or goes.
  auto begin() const requires(detail::Exact<K>&& is_ranged) { return here().kind().begin(); }
  auto end() const requires(detail::Exact<K>&& is_ranged) { return here().kind().end(); }
  // Calls each(member) in ascending order; stops when it returns false.
  template <class Each>
  void for_each(Each&& each) const requires detail::Exact<K> {
    core_of(here()).for_each(std::forward<Each>(each));
  }
  // Writes the members of a bitmap from `from` on, in ascending order, as many as `to` holds, and
  // returns how many: fewer mean that there are no more. std::out_of_range when the range of the
  // map does not fit into 32 bits.
  std::size_t copy_members(std::span<std::uint64_t> to,
                           std::uint64_t from = 0) const requires std::same_as<K, Bitmap> {
    return here().kind().copy_members(to, from);
  }
  std::size_t copy_members(std::span<std::uint32_t> to,
                           std::uint64_t from = 0) const requires std::same_as<K, Bitmap>;

  // What else a kind can do, such as Bitmap::rank or TwoBitMap::for_each_once.
  const K& kind() const requires detail::Kind<K> { return here().kind(); }

  // Seen::never, once or many.
  template <detail::KeyOf<K> T>
  auto state(const T& key) const requires detail::Stateful<K>;

 private:
  Result<Image> image() const;
  bool equals(const Set& other) const;

  // What an image holds beside the set and its hash.
  struct Notes {
    KeyRules rules = {};  // without the form, which gate_ knows
    Uuid uuid = {};
    bool key_is_elsewhere = false;
  };

  Set(detail::Body<K> body, Hasher hasher)
      : body_(std::move(body)), hasher_(hasher), gate_(core(), hasher) {}

  bool is_here() const { return gate_.is_here(); }
  // Throws std::logic_error when the set was moved from.
  const detail::Body<K>& here() const {
    gate_.expect_here();
    return body_;
  }
  detail::Body<K>& here() { return const_cast<detail::Body<K>&>(std::as_const(*this).here()); }
  // The object that holds the keys: the kind, or the composite.
  static const auto& core_of(const detail::Body<K>& body) {
    if constexpr (detail::Kind<K>)
      return body.kind();
    else
      return body;
  }
  const auto& core() const { return core_of(body_); }

  Result<void> fits(const Set& other) const;
  void expect_here(const Set& other) const {
    gate_.expect_here();
    other.gate_.expect_here();
  }

  template <class T>
  bool has_place(const T& key) const {
    if (detail::key_has_place(core(), key)) return true;
    gate_.expect_here();  // a map that was moved from has no range
    return false;
  }

  template <class T>
  Input unchecked_input_of(const T& key) const {
    return detail::input_from<Input>(key, hasher_);
  }

  // The slow path (key_gate.hpp); not inlined, so that the fast path stays short.
  template <class T, class Cpu>
  [[gnu::noinline]] Added add_at_first(detail::PassedKey<T> key);
  template <class T, class Cpu>
  [[gnu::noinline]] bool ask_at_first(detail::PassedKey<T> key) const;

  template <class T>
  Input input_of(const T& key) const {
    if (!has_place(key)) detail::throw_outside();
    return unchecked_input_of(key);
  }

  // The value, or the Error thrown as an exception.
  template <class T>
  T told(Result<T> result) const;
  template <class Keys>
  Result<void> check_form_of() const {
    return gate_.check(detail::form_of<std::ranges::range_value_t<Keys>, K>);
  }
  template <class Keys>
  Result<void> begin_adding(const Keys& keys);
  template <class Keys, class SinkAt>
  Result<std::size_t> add_spans(const Keys& keys, SinkAt&& sink_at);
  template <class Keys, class SinkAt>
  std::size_t ask_spans(const Keys& keys, Threads threads, SinkAt&& sink_at) const;
  template <class T>
  auto source(std::span<const T> keys) const {
    return detail::source_of(core(), keys, hasher_);
  }
  template <class T, class Sink>
  Result<std::size_t> add_source(std::span<const T> keys, Sink&& sink);
  template <class T, class Sink>
  std::size_t ask_source(std::span<const T> keys, Sink&& sink) const;

  detail::Body<K> body_;
  Hasher hasher_;
  detail::KeyGate<K> gate_;
  std::unique_ptr<Notes> notes_;  // none until it was saved: most sets never are
};

}  // namespace bloomery::inline v0

#include <bloomery/detail/set_build.hpp>
#include <bloomery/detail/set_bulk.hpp>
#include <bloomery/detail/set_whole.hpp>
