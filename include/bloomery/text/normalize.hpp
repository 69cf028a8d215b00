// Keys in one spelling: profiles with a version, stored with a set, so that all who build and ask
// it use the same one.
//
//    trim/1    no ASCII blanks around it
//    case/1    trim/1, then A to Z as a to z; all other bytes as they are, valid UTF-8 or not
//    email/1   trim/1, then A to Z as a to z on both sides of the @
//    url/1     one spelling for one URL (url.hpp)
//    crawl/1   one spelling for one page, as crawlers see it (url.hpp)
//
// Prefer it where one thing is spelled in several ways: normalise before add, and before asking.
//
// Example:
//    #include <bloomery/any_set.hpp>
//    auto set = AnySet::open("pages.bloom");
//    if (!set) return set.error();
//    const auto profile = Normalizer::find(set->rules().normalisation);  // "url/1"
//    if (!profile) return profile.error();         // this version does not know it
//    UrlScratch scratch;
//    KeyRoom room;                                 // clear() it now and then
//    const Normalized page = (*profile)("HTTP://Example.org:80/a", scratch, room);
//    const auto there = set->may_contain(page.key);  // http://example.org/a
//    if (there && !*there && page.fits) crawl(page.key);
//
// A profile never changes: sets on disks depend on it. Whatever would give another key for any
// input is a new version, and the old one stays. For the same reason no profile depends on a table
// that others change, such as that of Unicode.
// If a key is not what the profile is for (not a URL, not an address), it is only trimmed.
// Normalising twice is normalising once.
// Errors:  find() refuses a profile that is not known, and names those that are.
// Limits:  a key is good as long as what was given and the room that holds it.
// Threads: a Normalizer is never changed: any number may use it, each with its own scratch.
// See:     docs/normalize.md; tests/engines/normalize_test.cpp pins the keys.
#pragma once

#include <string>
#include <string_view>

#include <bloomery/detail/engines/keys/key_room.hpp>
#include <bloomery/detail/engines/keys/url.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0 {

using detail::KeyRoom;     // where a normalised key lies
using detail::UrlScratch;  // kept between keys, so that none allocates

struct Normalized {
  std::string_view key;  // in what was given or in the room
  bool fits = true;      // false: not what the profile is for
};

class Normalizer {
 public:
  // "url/1", or "url" for its newest version.
  static Result<Normalizer> find(std::string_view name);

  // With the version: what is stored.
  std::string_view name() const { return name_; }

  Normalized operator()(std::string_view key, detail::UrlScratch& scratch,
                        detail::KeyRoom& room) const {
    return apply_(key, scratch, room);
  }

 private:
  using Apply = Normalized (*)(std::string_view, detail::UrlScratch&, detail::KeyRoom&);
  struct Row {
    std::string_view name;
    Apply apply;
  };
  static const Row rows[];

  Normalizer(std::string_view name, Apply apply) : name_(name), apply_(apply) {}

  std::string_view name_;
  Apply apply_;
};

}  // namespace bloomery::inline v0
