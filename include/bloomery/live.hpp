// Live sets: one file that any number of processes add to and ask at once, and nothing that was
// acknowledged is lost.
//
//    Process A  add_all(keys) -> which of them were new       the same set, in one file;
//    Process B  add(key)      -> false: A had it              each key is new to exactly one
//    Process C  may_contain(key) -> sees what A and B added, at once
//
// Prefer it to open(), changing and save() where several processes share a set, or where rewriting
// the whole set to remember a few keys costs too much: adding costs what is added.
//
// Example:
//    auto empty = Set<BlockedBloom>::make({.keys = 1'000'000, .rate = 0.001});
//    if (!empty) return empty.error();
//    if (auto made = create_live("seen.live", *empty); !made) return made;   // once
//    auto seen = Set<BlockedBloom>::open_live("seen.live", {.durability = Durability::every});
//    if (!seen) return seen.error();
//    if (seen->add(url)) crawl(url);               // new to this process only; on the disk by now
//    const auto fresh = seen->add_all(urls);       // one sync for all of them
//    if (!fresh) return fresh.error();
//    if (auto closed = seen->close(); !closed) return closed;
//
// Kinds whose adds set bits and nothing else (bitmap, classic, blocked, split-block, sharded) lie
// in the file, once in memory for all processes. Every other kind that takes keys (compact,
// hash-set, chain, scalable, counting, spectral, cuckoo, window, two-bit) is a snapshot and a log:
// each process has the set in its own memory, and follows the log before it answers.
// What a process added is in the system's memory at once and survives kill -9. Power cuts:
//    Durability::none      what the system happened to write
//    Durability::interval  all but what came in the last moments (LiveOptions::interval_ms)
//    Durability::every     every add that has returned; adds of several processes share one sync
// If the disk fails a sync, nobody knows what it holds: from then on every add is an Error, in all
// processes, until all have closed the file: the next to open it writes all of it once more.
// Errors:  as AnySet: verbs return a Result, but add() of a LiveSet, which throws as Set does.
// Limits:  one machine, on a local file system. 64-bit systems and one C library: the locks in the
//          file are those of its threads. A live file is not an ordinary set file while it is live:
//          seal_live() makes one of it; programs that only read (open_image) take both.
//          A process that is stopped (SIGSTOP) in the middle of an add holds up the others.
//          All processes are in one PID namespace (containers: share it). A child of fork() opens
//          the file itself: it may destroy the object of its parent, and should not call it.
// Threads: any number may use one object: its verbs take turns. Only one may move, close or destroy
//          it; adds of others after close() are Errors. Several objects of one file in one process
//          are as in several processes, and their adds share syncs.
// See:     docs/live.md; docs/format.md "Live files".
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <bloomery/any_set.hpp>
#include <bloomery/detail/storage/live_options.hpp>
#include <bloomery/file.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/set.hpp>

namespace bloomery::inline v0 {

using detail::Durability;
using detail::LiveCreation;
using detail::LiveOptions;
using detail::Recovery;

// Makes a live file with what is in the set.
Result<void> create_live(const std::filesystem::path& path, const AnySet& set,
                         const LiveCreation& how = {});
template <class K>
Result<void> create_live(const std::filesystem::path& path, const Set<K>& set,
                         const LiveCreation& how = {});
// An ordinary set file in place of the live one, in one step. Processes that have the live one open
// get an Error from their next add. Returns what was found when it was opened.
Result<Recovery> seal_live(const std::filesystem::path& path, const LiveOptions& options = {});
// False when nothing has the name. An Error when it cannot be read: it may be live.
Result<bool> is_live(const std::filesystem::path& path);

namespace detail {
class LiveBody;
class Syncer;
}  // namespace detail

// Of any kind.
class AnyLiveSet {
 public:
  static Result<AnyLiveSet> open(const std::filesystem::path& path,
                                 const LiveOptions& options = {});
  AnyLiveSet(AnyLiveSet&&) noexcept;
  AnyLiveSet& operator=(AnyLiveSet&&) noexcept;
  // Closes; an Error is lost.
  ~AnyLiveSet();

  // All verbs of AnySet: keys that it adds are live, keys that it asks for are those of now.
  AnySet& set() { return set_; }
  const AnySet& set() const { return set_; }

  // When it returns, all that was added so far survives a power cut.
  Result<void> sync();
  // Brings the set itself to the disk and empties the log, so that the next open has little to do.
  Result<void> checkpoint();
  Result<void> close();
  const Recovery& recovery() const { return recovery_; }

 private:
  friend Result<Recovery> seal_live(const std::filesystem::path&, const LiveOptions&);
  AnyLiveSet(AnySet set, detail::LiveBody* body, const Recovery& recovery);
  void end_syncer();

  AnySet set_;
  detail::LiveBody* body_;  // behind set_
  std::unique_ptr<detail::Syncer> syncer_;
  Recovery recovery_;
};

// Of a kind that is known when you compile. Its keys are those of Set<K>.
template <class K>
class LiveSet {
 public:
  static Result<LiveSet> open(const std::filesystem::path& path, const LiveOptions& options = {}) {
    auto live = AnyLiveSet::open(path, options);
    if (!live) return live.error();
    if (live->set().kind().number != K::id.number || live->set().kind().name != K::id.name)
      return Error{Code::mismatch, path.string() + " is a " + std::string(live->set().kind().name) +
                                       " set, not a " + std::string(K::id.name) + " set"};
    return LiveSet(std::move(*live));
  }

#if __cpp_exceptions
  // True: new, and new to this process only. Throws a Failure.
  template <detail::ErasedKey T>
  bool add(const T& key) {
    return try_add(key).value();
  }
  template <detail::ErasedKey T>
  bool may_contain(const T& key) const {
    return live_.set().may_contain(key).value();
  }
#endif
  template <detail::ErasedKey T>
  Result<bool> try_add(const T& key) {
    return live_.set().add(key);
  }
  template <class Keys>
  Result<std::size_t> add_all(const Keys& keys, std::span<bool> fresh = {}) {
    return live_.set().add_all(keys, fresh);
  }
  template <class Keys>
  Result<void> may_contain_all(const Keys& keys, std::span<bool> answers) const {
    return live_.set().may_contain_all(keys, answers);
  }

  std::uint64_t adds() const { return live_.set().adds(); }
  std::uint64_t capacity() const { return live_.set().capacity(); }
  bool overfull() const { return live_.set().overfull(); }
  double estimate() const { return live_.set().estimate(); }
  double rate_now() const { return live_.set().rate_now(); }

  Result<void> sync() { return live_.sync(); }
  Result<void> checkpoint() { return live_.checkpoint(); }
  Result<void> close() { return live_.close(); }
  const Recovery& recovery() const { return live_.recovery(); }
  // Verbs that are not here: counts, removal, shape.
  AnySet& any() { return live_.set(); }
  const AnySet& any() const { return live_.set(); }

 private:
  explicit LiveSet(AnyLiveSet live) : live_(std::move(live)) {}
  AnyLiveSet live_;
};

template <class K>
Result<LiveSet<K>> Set<K>::open_live(const std::filesystem::path& path,
                                     const LiveOptions& options) {
  return LiveSet<K>::open(path, options);
}

template <class K>
Result<void> create_live(const std::filesystem::path& path, const Set<K>& set,
                         const LiveCreation& how) {
  auto bytes = set.try_to_bytes();
  if (!bytes) return bytes.error();
  const auto any = AnySet::from_bytes(*bytes);
  if (!any) return any.error();
  return create_live(path, *any, how);
}

}  // namespace bloomery::inline v0
