// What CF.RESERVE and CF.INSERT ask for, and the filter made of it.
//
//    CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [ERROR rate]
//               [ENGINE native|compat] [SECRET digits]
//
// Replicated as in bloom_order.hpp. A native filter keeps the rate asked, so bucket size and
// iterations are only remembered; one of RedisBloom has no rate to ask for.
#pragma once

#include <optional>
#include <string_view>

#include <bloomery/hash.hpp>
#include <bloomery/served/cuckoo_body.hpp>
#include <tools/redis/server/api.hpp>
#include <tools/redis/server/filter_order.hpp>
#include <tools/redis/server/opened_key.hpp>
#include <tools/redis/server/settings.hpp>

namespace bloomery::redis {

struct CuckooOrder {
  long long capacity = settings.cf_capacity;
  long long bucket_size = settings.cf_bucket_size;
  long long max_iterations = settings.cf_max_iterations;
  long long expansion = settings.cf_expansion;
  Engine engine = settings.engine;
  std::optional<double> rate;    // else bf-error-rate
  std::optional<Hasher> hasher;  // else one with a fresh secret
};

// From the arguments of CF.RESERVE. The reason why they are not valid, or nullptr.
const char* read_reserve(Str** argv, int argc, CuckooOrder& order);

using CuckooInsert = InsertOf<CuckooOrder>;
const char* read_insert(Str** argv, int argc, CuckooInsert& insert);

// Makes the filter in an empty key. Null when it has replied with an error.
CuckooBody* make_cuckoo(Ctx* ctx, OpenedKey& key, Str* name, CuckooOrder order);

// Makes a filter in an empty key from the first piece of a saved one; nullptr, or the error.
const char* make_cuckoo_from(Ctx* ctx, OpenedKey& key, std::string_view piece);

CuckooBody* cuckoo_in(const OpenedKey& key);

}  // namespace bloomery::redis
