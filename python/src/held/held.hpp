// The set inside an object of Python: every verb for spans of keys, whatever its kind.
//
//    held_blocked.cpp   Set<BlockedBloom>, whose single keys need no indirect call (set_object.hpp)
//    held_bitmap.cpp    Set<Bitmap>, which lists its members
//    held_any.cpp       AnySet: all other kinds
//    held_live.cpp      AnyLiveSet, of any kind: in a file that other processes change too
//
// Errors:  a Result; std::bad_alloc and Failure are thrown. No verb touches an object of Python.
// Threads: as Set and AnySet; Uses (uses.hpp) keeps threads of Python apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>
#include <bloomery/live.hpp>
#include <bloomery/set.hpp>

#include "keys/key_span.hpp"

namespace bloomery::python {

// What only a set in a live file can do. Even asking changes the object: it follows what other
// processes have logged, so that threads take turns.
class Live {
 public:
  virtual ~Live() = default;

  // What a verb must do before it may tell what it added, and as often as once a call.
  virtual Result<void> keep_promise() = 0;
  virtual Result<void> sync() = 0;
  virtual Result<void> checkpoint() = 0;
  // An ordinary file in place of this one.
  virtual Result<void> seal() = 0;
  virtual Result<void> close() = 0;
  virtual const Recovery& recovery() const = 0;
};

class Held {
 public:
  virtual ~Held() = default;

  virtual const KindRow& row() const = 0;
  virtual const Hasher& hasher() const = 0;
  virtual KeyRules rules() const = 0;
  virtual void note(KeyRules rules) = 0;  // all but the form of the keys

  // Without room for answers only the count is returned, and several threads may work.
  virtual Result<std::size_t> add_all(const KeySpan& keys, std::span<bool> fresh,
                                      Threads threads) = 0;
  virtual Result<std::size_t> ask_all(const KeySpan& keys, std::span<bool> answers,
                                      Threads threads) const = 0;
  virtual Result<std::size_t> remove_all(const KeySpan& keys, std::span<bool> removed) = 0;
  virtual Result<void> counts(const KeySpan& keys, std::span<std::uint64_t> counts) const = 0;
  virtual std::uint64_t most_count() const = 0;

  virtual Result<std::unique_ptr<Held>> clone() const = 0;
  // The others are held in the same way, or the answer is false or an Error.
  virtual bool equals(const Held& other) const = 0;
  virtual Result<void> unite(const Held& other) = 0;
  virtual Result<void> intersect(const Held& other) = 0;
  virtual Result<void> subtract(const Held& other) = 0;
  virtual Result<void> exclusive(const Held& other) = 0;
  virtual Result<void> clear() = 0;
  virtual Result<void> advance_to(std::uint64_t time, std::uint64_t span) = 0;
  virtual Result<void> cap_memory(std::uint64_t bytes) = 0;
  virtual Result<void> save(const std::filesystem::path& path, Overwrite overwrite) const = 0;
  // Makes a live file with what is in the set.
  virtual Result<void> save_live(const std::filesystem::path& path, Overwrite overwrite) const = 0;
  virtual Result<std::vector<std::byte>> to_bytes() const = 0;

  virtual std::uint64_t bytes() const = 0;
  virtual std::uint64_t adds() const = 0;
  virtual std::uint64_t capacity() const = 0;
  virtual double rate_asked() const = 0;
  virtual double estimate() const = 0;
  virtual double rate_now() const = 0;
  virtual double fill_ratio() const = 0;
  virtual bool overfull() const = 0;
  virtual std::optional<Range> range() const = 0;

  // The set by its type, for what is too fast for an indirect call or only one kind can do.
  virtual Set<BlockedBloom>* blocked() { return nullptr; }
  virtual const Set<Bitmap>* bitmap() const { return nullptr; }
  // Not nullptr: the set is in a live file.
  virtual Live* live() { return nullptr; }
};

Result<std::unique_ptr<Held>> make_held(std::string_view kind, const Want& want, Hasher hasher);
// A static kind, of the hashes of keys of this form.
Result<std::unique_ptr<Held>> build_held(std::string_view kind, const Want& want,
                                         std::span<const Hash> hashes, KeyForm form, Hasher hasher);
Result<std::unique_ptr<Held>> open_held(const std::filesystem::path& path,
                                        const OpenOptions& options);
Result<std::unique_ptr<Held>> open_live(const std::filesystem::path& path,
                                        const LiveOptions& options);
Result<std::unique_ptr<Held>> read_held(std::span<const std::byte> bytes,
                                        const OpenOptions& options);
// The image tells the kind.
Result<std::unique_ptr<Held>> held_image(const std::string& name, Result<Image> image);
std::unique_ptr<Held> hold(AnySet set);
std::unique_ptr<Held> hold(Set<BlockedBloom> set);
std::unique_ptr<Held> hold(Set<Bitmap> set);

}  // namespace bloomery::python
