// What became of a key that was added to a RedisSet.
//
// Look at all four where a key that is used twice does harm; where one that is lost does harm,
// whatever is not `seen` counts as new.
//
// Example:
//    #include <bloomery/redis/redis_set.hpp>
//    auto seen = RedisSet::open({.name = "seen"});
//    if (!seen) return seen.error();
//    const auto added = seen->add(url);
//    if (!added) return added.error();             // surely not added, or nobody knows
//    switch (*added) {
//      case RemoteAdd::fresh: crawl(url); break;   // no other client gets this
//      case RemoteAdd::in_doubt: crawl(url); break;  // perhaps for the second time
//      case RemoteAdd::seen: break;
//      case RemoteAdd::not_done: break;            // only in the answers of add_all, with an Error
//    }
//
// Errors:  none; `not_done` comes beside one.
// Limits:  `seen` may be a false positive, at the rate of the set.
// Threads: a value.
#pragma once

#include <cstdint>

namespace bloomery::inline v0 {

enum class RemoteAdd : std::uint8_t {
  seen,      // was there, or is a false positive
  fresh,     // surely new, and now there; no other client gets this for the same key
  in_doubt,  // there now, but the answer that said whether it was new is lost
  not_done,  // only beside an Error: surely not added by this call
};

}  // namespace bloomery::inline v0
