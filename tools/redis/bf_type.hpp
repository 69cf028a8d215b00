// The data types of BF.*: how the server saves, loads, copies and forgets a filter.
//
//    MBbloom--   encoding 4: the type of RedisBloom, byte for byte (CompatBloom)
//
// Limits:  loading refuses what is damaged, with a line in the log; it never ends the server.
#pragma once

#include <memory>
#include <span>

#include <tools/redis/api.hpp>
#include <tools/redis/bloom_body.hpp>

namespace bloomery::redis {

bool register_bf_types(Ctx* ctx);

// All types a BF.* command takes.
std::span<Type* const> bf_types();
Type* compat_bloom_type();

// A new filter of RedisBloom's type from its header; null when it is damaged or above the cap.
std::unique_ptr<BloomBody> bloom_from_header(std::string_view header, std::uint64_t cap_bytes);

}  // namespace bloomery::redis
