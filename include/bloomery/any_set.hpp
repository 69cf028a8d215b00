// A set whose kind is known only at run time: from a file, a flag, a configuration.
//
// Prefer Set<Kind> (set.hpp) where the kind is known when you compile: a single key then costs no
// indirect call. Here each verb is one, for one key as for a whole span.
//
// Example:
//    auto set = AnySet::make("blocked", {.keys = 1'000'000, .rate = 0.01});
//    if (!set) return set.error();                 // its sentence says what to change
//    const auto added = set->add_all(lines);       // one indirect call for all of them
//    if (!added) return added.error();             // full, or keys of another form
//    const auto there = set->may_contain(url);     // a Result<bool>
//    if (there && *there) crawl(url);
//    if (auto saved = set->save("lines.bloom"); !saved) return saved;
//    const auto again = AnySet::open("lines.bloom");  // the file tells the kind
//    if (!again) return again.error();
//
// Hashes text and integers itself, to 64 or 128 bits as its kind needs; exact maps take integers as
// themselves. A text is refused by a set of integers or of hashes, and an integer by one of texts
// (Code::mismatch): it would never be found.
// Errors:  verbs return a Result, nothing is thrown but std::bad_alloc. After a move verbs return
//          an Error and getters tell of an empty set: 0, false, no kind.
// Limits:  those of its kind: docs/kinds.md. What a kind cannot do is an Error that says why.
// Threads: one adds; any number may ask while nobody adds (docs/library.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/detail/sets/concepts.hpp>
#include <bloomery/detail/sets/erased_keys.hpp>
#include <bloomery/detail/sets/parts.hpp>
#include <bloomery/detail/sets/plan.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0 {

using detail::Added;
using detail::KindId;

struct Image;
struct OpenOptions;
struct SaveOptions;
namespace detail {
class Cascade;
}  // namespace detail

// What keys a set takes.
enum class InputForm {
  hashed,   // text or bytes; the set hashes
  ordinal,  // integers in a range
};

// One row of the register, for `plan`, `--kind` and help texts.
struct KindRow {
  KindId id;
  InputForm input;
  bool exact;
  bool whole_hashes;  // keeps whole hashes: their bits fix the rate, it cannot be chosen
  bool wide_hashes;   // takes hashes of 128 bits
  bool grows;         // needs no number of keys in advance
  bool removes;       // keys can be removed; from spectral only when that was planned
  bool counts;        // tells how often a key was added
  bool forgets;       // its oldest keys, to make room for new ones
  bool keeps_copies;  // a key that is added twice must be removed twice
  bool built;         // from all its keys at once, and never added to
  bool two_lists;     // from keys that match and keys that do not at once, and never added to
  bool merges;        // two sets of the same shape can be united
  bool in_place;      // live: adds only set bits, in bytes that any number of processes share
  // Bytes and rate of a set of this kind for this want; completes a want that has memory.
  Result<Want> (*complete)(Want);
  Result<std::uint64_t> (*planned_bytes)(const Want&);
  // A set of this complete want after so many different keys were added; of kinds that are built
  // from all their keys, or keep integers as themselves, up to the number of their plan.
  Result<detail::Grown> (*grown)(const Want&, std::uint64_t keys);
};

// Hashed texts: 64 or 128 bits each, as the kind of the set takes them; the other list is empty.
struct HashedTexts {
  std::vector<Hash> narrow;
  std::vector<WideHash> wide;
};

class AnySet {
 public:
  // Every kind and composite there is, in the order of their numbers.
  static std::span<const KindRow> register_rows();
  static const KindRow* find_row(std::string_view name);

  static Result<AnySet> make(std::string_view kind, const Want& want, Hasher hasher = Hasher{});
  // A set of these keys. Static kinds are built, by the crew. Any other kind is made, for this
  // number of keys unless the want gives another, and the keys are added.
  static Result<AnySet> build(std::string_view kind, const Want& want,
                              std::span<const std::string_view> keys, Hasher hasher = Hasher{},
                              const detail::Crew& crew = {});
  static Result<AnySet> build(std::string_view kind, const Want& want, std::span<const Hash> hashes,
                              Hasher hasher = Hasher{}, const detail::Crew& crew = {});
  // A set that was built from two lists (cascade_builder.hpp).
  static AnySet of(detail::Cascade cascade, Hasher hasher, KeyRules rules);
  // A set that lives elsewhere (remote/redis_any_set.hpp).
  struct Body;
  static AnySet of(std::unique_ptr<Body> body, Hasher hasher, KeyRules rules);
  const std::unique_ptr<Body>& body() const { return body_; }
  // Puts together what storage opened; refuses parts that do not fit each other.
  static Result<AnySet> from_parts(detail::Parts parts, Hasher hasher, KeyRules rules);
  // Checks one part without reading its payload: the kind is known, the shape is valid, and the
  // payload has exactly this length.
  static Result<void> check_part(const detail::Part& part, std::uint64_t payload_bytes);

  // Files, bytes and streams (image.hpp): the image tells the kind. A file is mapped privately:
  // changes stay in memory until they are saved. What is read from bytes or a stream is copied.
  static Result<AnySet> open(const std::filesystem::path& path);
  static Result<AnySet> open(const std::filesystem::path& path, const OpenOptions& options);
  static Result<AnySet> open(std::istream& in);
  static Result<AnySet> open(std::istream& in, const OpenOptions& options);
  static Result<AnySet> from_bytes(std::span<const std::byte> bytes);
  static Result<AnySet> from_bytes(std::span<const std::byte> bytes, const OpenOptions& options);
  // Of an image that was opened before (open_image); Errors begin with the name.
  static Result<AnySet> of(const std::string& name, Result<Image> image);
  // The file is the old one or the new one, never half of it.
  Result<void> save(const std::filesystem::path& path) const;
  Result<void> save(const std::filesystem::path& path, const SaveOptions& options) const;
  Result<void> save(std::ostream& out) const;
  // What the file would hold: for blocks of other files, messages, object stores.
  Result<std::vector<std::byte>> to_bytes() const;

  AnySet(AnySet&&) noexcept;
  AnySet& operator=(AnySet&&) noexcept;
  ~AnySet();

  KindId kind() const;
  InputForm input() const;
  bool exact() const;
  // True for a set that other programs use at the same time: added keys stay in it even if this
  // program fails. After an Error of add_all, `fresh` then tells which keys were new before it.
  bool shared() const;
  const Hasher& hasher() const { return hasher_; }
  KeyRules& rules() { return rules_; }
  const KeyRules& rules() const { return rules_; }

  // Adds every key in order; returns how many were surely new. `fresh`, if not empty, is as long
  // as the keys and tells which. Code::full: the set may not grow further, or memory is refused.
  Result<std::size_t> add_all(std::span<const std::string_view> keys, std::span<bool> fresh = {});
  Result<std::size_t> add_all(std::span<const Hash> hashes, std::span<bool> fresh = {});
  Result<std::size_t> add_all(std::span<const Ordinal> ordinals, std::span<bool> fresh = {});
  // Ordinals outside the range of an exact map are surely absent.
  Result<void> may_contain_all(std::span<const std::string_view> keys,
                               std::span<bool> answers) const;
  Result<void> may_contain_all(std::span<const Hash> hashes, std::span<bool> answers) const;
  Result<void> may_contain_all(std::span<const Ordinal> ordinals, std::span<bool> answers) const;

  // One key: text, bytes, an integer, a type with a bloomery_key (hash.hpp), a Hash or an Ordinal.
  // add returns whether it was surely new, remove whether it was there; contains is refused where
  // answers are not exact (Code::unsound).
  template <detail::ErasedKey T>
  Result<bool> add(const T& key);
  template <detail::ErasedKey T>
  Result<bool> may_contain(const T& key) const;
  template <detail::ErasedKey T>
  Result<bool> contains(const T& key) const;
  template <detail::ErasedKey T>
  Result<bool> remove(const T& key);
  template <detail::ErasedKey T>
  Result<std::uint64_t> count_of(const T& key) const;

  // The verbs for many keys with any other forward range of such keys: spans of integers, lists,
  // views. The spans above are read where they lie; these are gathered 1024 at a time.
  template <detail::GatheredKeys Keys>
  Result<std::size_t> add_all(const Keys& keys, std::span<bool> fresh = {});
  template <detail::GatheredKeys Keys>
  Result<void> may_contain_all(const Keys& keys, std::span<bool> answers) const;
  template <detail::GatheredKeys Keys>
  Result<std::size_t> remove_all(const Keys& keys, std::span<bool> removed = {});
  template <detail::GatheredKeys Keys>
  Result<void> counts(const Keys& keys, std::span<std::uint64_t> counts) const;
  // One answer for each key, to be kept or read; answers in a span of bool are faster to get.
  template <detail::ErasedKeys Keys>
  Result<std::vector<bool>> may_contain_all(const Keys& keys) const;

  // Adding texts in two steps: any number of threads may hash while one adds. Replaces what is in
  // `hashed`; the hashes fit this set, and others with its hasher and kind.
  void hash_all(std::span<const std::string_view> keys, HashedTexts& hashed) const;
  // The keys [first, first + count) of those that were hashed. Exact maps take no text.
  Result<std::size_t> add_all(const HashedTexts& hashed, std::size_t first, std::size_t count,
                              std::span<bool> fresh = {});
  Result<void> may_contain_all(const HashedTexts& hashed, std::span<bool> answers) const;

  // Removes one copy of every key, in order (exact maps: the key itself); returns how many were
  // there, and `removed`, if not empty, tells which. A key that is not there changes nothing.
  // Code::unsound on kinds that cannot remove: the Error says why. Remove only what was added: on
  // approximate kinds, removing a false positive lowers counts that other keys need.
  Result<std::size_t> remove_all(std::span<const std::string_view> keys,
                                 std::span<bool> removed = {});
  Result<std::size_t> remove_all(std::span<const Hash> hashes, std::span<bool> removed = {});
  Result<std::size_t> remove_all(std::span<const Ordinal> ordinals, std::span<bool> removed = {});

  // counts[i] is how often key i was added: never too low, perhaps too high; most_count() means
  // that often or more. Code::unsound on kinds that do not count; their most_count() is 0.
  Result<void> counts(std::span<const std::string_view> keys,
                      std::span<std::uint64_t> counts) const;
  Result<void> counts(std::span<const Hash> hashes, std::span<std::uint64_t> counts) const;
  Result<void> counts(std::span<const Ordinal> ordinals, std::span<std::uint64_t> counts) const;
  std::uint64_t most_count() const;

  // A set of the same bits in memory of its own, or an Error when memory is refused. Of a set on a
  // server: a local copy. A cap of memory is not copied, as it is not saved.
  Result<AnySet> clone() const;
  // The same kind, shape, hash and bits: both answer every key alike. Sets of the same keys may
  // differ where the order of adds decides the bits (cuckoo). False if the bits cannot be read.
  friend bool operator==(const AnySet& one, const AnySet& other) { return one.equals(other); }

  // Both need equal shape, hash, key form and normalisation; the Error names what differs.
  Result<void> unite(const AnySet& other);
  Result<void> intersect(const AnySet& other);
  Result<void> subtract(const AnySet& other);   // exact maps only; unsound on Bloom filters
  Result<void> exclusive(const AnySet& other);  // xor; exact maps only
  // Forgets every key, and the time of a window: the set is as when it was made, with the same plan
  // (size, rate, range), hash and rules, and takes keys of any form again. On a server: for all
  // clients. Code::unsupported on kinds that are built from all their keys. On an Error of memory
  // nothing has changed.
  Result<void> clear();

  // Of kinds that forget by time (window_bloom.hpp); others refuse. Any unit of time.
  Result<void> advance_to(std::uint64_t time, std::uint64_t span);
  std::uint64_t time_span() const;  // span of advance_to; 0: not called, or not kept by time
  std::uint64_t time_told() const;  // latest time told, rounded down to its generation's beginning
  // A growing set grows no further than this from now on; others never grow. 0: no cap. A cap is
  // not saved with the set.
  void cap_memory(std::uint64_t bytes);

  // Folding (sets/fold.hpp): the largest factor at which the set still holds its keys at this rate,
  // 1 if it cannot be folded; and the folded set. Code::unsound on other kinds: the Error says why.
  Result<std::uint64_t> best_fold(double rate) const;
  Result<AnySet> folded(std::uint64_t factor, double rate) const;

  std::uint64_t bytes() const;     // of payload
  std::uint64_t adds() const;      // keys that were surely new when added
  std::uint64_t capacity() const;  // keys it was planned for, over all links; range for maps
  double rate_asked() const;
  // A set that lives elsewhere is read there, so that the three numbers that follow are those of
  // now; a local set has nothing to read.
  Result<void> measure() const;
  double estimate() const;  // keys, from the bits alone; infinity when every bit is set
  double rate_now() const;  // false-positive rate, from the bits alone
  // The rate by the formula for the keys added so far: cheap, for asking often.
  double expected_rate_now() const;
  double fill_ratio() const;  // ones / bits
  bool overfull() const;      // holds more keys than it was planned for
  std::optional<Range> range() const;
  // Its shape in words: {"blocks", "163840"}, {"probes", "6"}, ...
  std::vector<std::pair<std::string, std::string>> shape_facts() const;

  // Saturated counters, which are never lowered again; only kinds with counters have them.
  std::optional<std::uint64_t> stuck() const;

  // Of a set that was built from two lists.
  struct Lists {
    std::uint64_t allowed = 0;     // keys of the allow list
    std::uint64_t exceptions = 0;  // those of them that are listed, since the filter matches them
  };
  std::optional<Lists> lists() const;

  // Borrows the payload: valid until the set changes or is destroyed.
  Result<detail::Parts> parts() const;

 private:
  AnySet(std::unique_ptr<Body> body, Hasher hasher, KeyRules rules);

  // What both builds share; no value if the kind is not static.
  static std::optional<Result<AnySet>> built(std::string_view kind, const Want& want,
                                             const detail::HashSource& source, Hasher hasher,
                                             const detail::Crew& crew);

  friend Result<Image> image_of(const AnySet& set);
  Result<Image> image() const;  // bloomery/storage/any_set_files.cpp

  // Same kind and same sort of keys, or an Error that names what differs.
  Result<void> fits(const AnySet& other) const;
  Result<void> settle_form(KeyForm form, bool none);
  void note_form(KeyForm form, bool none, const Result<std::size_t>& added);
  // Keys that were made ready for the body (detail/sets/any_set_keys.hpp), all of this form.
  Result<std::size_t> add_ready(const detail::ReadyKeys& keys, KeyForm form, bool* fresh);
  Result<void> ask_ready(const detail::ReadyKeys& keys, KeyForm form, bool* answers) const;
  Result<std::size_t> remove_ready(const detail::ReadyKeys& keys, KeyForm form, bool* removed);
  Result<void> count_ready(const detail::ReadyKeys& keys, KeyForm form,
                           std::uint64_t* counts) const;
  Result<void> expect_form(KeyForm form) const;
  bool equals(const AnySet& other) const;
  bool takes_wide_hashes() const;
  // Texts, asked of or added to a set of other keys, are refused.
  Result<void> expect_texts() const;

  std::unique_ptr<Body> body_;
  Hasher hasher_;
  KeyRules rules_;
  std::array<std::uint8_t, 16> uuid_ = {};  // of the image it was opened from; zero: none
  bool key_is_elsewhere_ = false;           // the secret key was not in that image
};

// What save() writes; borrows from the set.
Result<Image> image_of(const AnySet& set);

}  // namespace bloomery::inline v0

#include <bloomery/detail/sets/any_set_keys.hpp>
