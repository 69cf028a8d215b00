// What the administrator decides: defaults of new filters, the engine, the cap of one key.
//
//    loadmodule bloomery.so bf-engine compat bf-error-rate 0.001    words behind the file
//    bf.bf-error-rate 0.001                                         lines of redis.conf
//    CONFIG SET bf.bf-error-rate 0.001                              at run time
//
// Names, ranges and errors are those of RedisBloom 8. From Redis 8 on lines have these names also
// without the "bf." in front; older servers and Valkey put it there. Words give the defaults of
// the lines, so a line wins over a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

enum class Engine { native, compat };

struct Settings {
  Engine engine = Engine::native;  // of new filters
  double bf_rate = 0.01;
  long long bf_capacity = 100;
  long long bf_expansion = 2;
  long long cf_bucket_size = 2;
  long long cf_capacity = 1024;
  long long cf_max_iterations = 20;
  long long cf_expansion = 1;
  long long cf_max_expansions = 32;
  // Holds every filter of 1 % that RedisBloom would make, which takes at most 2^30 keys.
  long long cap_bytes = 2LL << 30;
};

inline constexpr long long most_capacity = 1LL << 30;
inline constexpr long long most_expansion = 32768;

extern Settings settings;

std::string_view name_of(Engine engine);
std::optional<Engine> engine_named(std::string_view name);

// Reads the words behind `loadmodule` and registers the lines of the configuration.
// The reason when a word or value is wrong, else empty.
std::string read_words(Str** words, int count);
bool register_settings(Ctx* ctx);

// A key made or grown by this command may take so many bytes. What the primary or the
// append-only file tells us to do was allowed there and is never refused here.
// To find out who tells takes the server longer than most commands, so those that seldom need it
// try the usual cap first.
std::uint64_t cap_for(Ctx* ctx);
// The same for the sets of our own engine, to which 0 means that there is none.
std::uint64_t native_cap_for(Ctx* ctx);
inline std::uint64_t usual_cap() { return static_cast<std::uint64_t>(settings.cap_bytes); }
bool is_told_by_server(Ctx* ctx);

}  // namespace bloomery::redis
