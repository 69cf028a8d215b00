// Replies that several commands give.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <bloomery/error.hpp>
#include <bloomery/served/add_outcome.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

inline constexpr const char* not_found = "ERR not found";
inline constexpr const char* item_exists = "ERR item exists";

inline int reply_text(Ctx* ctx, std::string_view text) {
  return api.reply_with_string_buffer(ctx, text.data(), text.size());
}

// Counts from headers may be larger than what a reply can hold.
inline int reply_count(Ctx* ctx, std::uint64_t count) {
  return api.reply_with_long_long(
      ctx, static_cast<long long>(std::min<std::uint64_t>(count, INT64_MAX)));
}

inline bool speaks_resp3(Ctx* ctx) {
  return (api.get_context_flags(ctx) & context_flag::resp3) != 0;
}

// -- what became of an add or of a loaded piece, in RedisBloom's words ----------------------------

enum class AddReply {
  bloom,           // a flag, or an error
  cuckoo,          // a flag, or an error
  cuckoo_flags,    // one of many: a flag; no memory is an error
  cuckoo_numbers,  // one of many: 1, 0, or -1 when it is full; no memory is an error
};
void reply_added(Ctx* ctx, AddOutcome added, AddReply form);

int reply_bloom_not_loaded(Ctx* ctx, const Error& why);
int reply_cuckoo_not_loaded(Ctx* ctx, const Error& why);

inline void announce(Ctx* ctx, const char* event, Str* key) {
  api.notify_keyspace_event(ctx, notify_module, event, key);
}

}  // namespace bloomery::redis
