// What became of a key that was added to a RedisSet.
//
//    if (seen.add(url).value() == RemoteAdd::fresh) crawl(url);
//
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
