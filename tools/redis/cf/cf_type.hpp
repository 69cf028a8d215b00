// The data types of CF.*: how the server saves, loads, copies and forgets a filter.
//
//    bloomeryC   encoding 1: the pieces of NativeCuckoo one after the other, then an empty one
//    MBbloomCF   encoding 4: the type of RedisBloom, byte for byte (CompatCuckoo)
//
// Limits:  loading refuses what is damaged, with a line in the log; it never ends the server.
#pragma once

#include <span>

#include <bloomery/served/cuckoo_body.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

bool register_cf_types(Ctx* ctx);

// All types a CF.* command takes.
std::span<Type* const> cf_types();
Type* native_cuckoo_type();
Type* compat_cuckoo_type();

}  // namespace bloomery::redis
