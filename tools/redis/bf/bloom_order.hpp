// What BF.RESERVE and BF.INSERT ask for, and the filter made of it.
//
//    BF.RESERVE key rate capacity [EXPANSION n] [NONSCALING] [WINDOW n] [LIKE key]
//               [ENGINE native|compat] [SECRET digits]
//
// The second line is what a replica hears: a native filter is replicated with its engine and the
// secret of its hash, one of RedisBloom as BF.LOADCHUNK of its header. Either way a replica makes
// the same filter, whatever its settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <bloomery/hash.hpp>
#include <bloomery/served/bloom_body.hpp>
#include <tools/redis/server/api.hpp>
#include <tools/redis/server/filter_order.hpp>
#include <tools/redis/server/opened_key.hpp>
#include <tools/redis/server/settings.hpp>

namespace bloomery::redis {

struct BloomOrder {
  double rate = settings.bf_rate;
  long long capacity = settings.bf_capacity;
  long long expansion = settings.bf_expansion;
  bool scaling = settings.bf_expansion != 0;
  Engine engine = settings.engine;
  long long window = 0;          // 0: remembers for ever
  Str* like = nullptr;           // the key of a filter that hashes alike
  std::optional<Hasher> hasher;  // else one with a fresh secret
};

// From the arguments of BF.RESERVE. The reason why they are not valid, or nullptr.
const char* read_reserve(Str** argv, int argc, BloomOrder& order);

using BloomInsert = InsertOf<BloomOrder>;
const char* read_insert(Str** argv, int argc, BloomInsert& insert);

// Makes the filter in an empty key. Null when it has replied with an error.
BloomBody* make_bloom(Ctx* ctx, OpenedKey& key, Str* name, BloomOrder order);

// Makes a filter in an empty key from the first piece of a saved one; false if it is not one.
bool make_bloom_from(Ctx* ctx, OpenedKey& key, long long next, std::string_view piece);

BloomBody* bloom_in(const OpenedKey& key);

}  // namespace bloomery::redis
