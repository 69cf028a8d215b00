// A set on a Redis server as an AnySet, so that what works with sets of files works with it too.
//
//    auto remote = std::make_shared<RedisSet>(*RedisSet::open(address));
//    AnySet set = any_set_of(remote, KeyForm::text);
//
// A key in doubt counts as fresh: a caller that prints first occurrences prints it, and gets their
// number from the RedisSet. After an Error `fresh` still holds for the keys before it.
// Verbs that can fail return the Error. estimate(), rate_now() and fill_ratio() read from the
// server and are not a number (NaN) when it does not answer: call measure() first, which returns
// the Error. parts() is a copy of the whole set.
// Threads: one; hashing by any number.
#pragma once

#include <memory>

#include <bloomery/any_set.hpp>
#include <bloomery/redis/redis_set.hpp>

namespace bloomery::inline v0::detail {

// Keys are given as `form`: text, or hashes.
AnySet any_set_of(std::shared_ptr<RedisSet> remote, KeyForm form);
// A copy in the memory of this program, as it is now.
Result<AnySet> local_copy_of(RedisSet& remote);
// A local set with the shape that a RedisSet for this want would have, for RedisSet::upload.
Result<AnySet> local_set_for(const RedisLaw& law);

}  // namespace bloomery::inline v0::detail
