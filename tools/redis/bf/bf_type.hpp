// The data types of BF.*: how the server saves, loads, copies and forgets a filter.
//
//    bloomery-   encoding 1: the pieces of NativeBloom one after the other, then an empty one
//    MBbloom--   encoding 4: the type of RedisBloom, byte for byte (CompatBloom)
//
// Limits:  loading refuses what is damaged, with a line in the log; it never ends the server.
#pragma once

#include <span>

#include <bloomery/served/bloom_body.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

bool register_bf_types(Ctx* ctx);

// All types a BF.* command takes.
std::span<Type* const> bf_types();
Type* native_bloom_type();
Type* compat_bloom_type();

}  // namespace bloomery::redis
