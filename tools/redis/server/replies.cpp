#include <tools/redis/server/replies.hpp>

namespace bloomery::redis {
namespace {

const char* error_of(AddOutcome added, AddReply form) {
  if (form == AddReply::bloom) {
    return added == AddOutcome::full ? "ERR non scaling filter is full"
                                     : "ERR problem inserting into filter";
  }
  return added == AddOutcome::no_memory ? "ERR Insufficient memory" : "Filter is full";
}

}  // namespace

void reply_added(Ctx* ctx, AddOutcome added, AddReply form) {
  const bool fresh = added == AddOutcome::fresh;
  const bool alone = form == AddReply::bloom || form == AddReply::cuckoo;
  if (!is_there(added) && (alone || added == AddOutcome::no_memory)) {
    api.reply_with_error(ctx, error_of(added, form));
  } else if (form == AddReply::cuckoo_numbers) {
    api.reply_with_long_long(ctx, is_there(added) ? fresh : -1);
  } else {
    api.reply_with_bool(ctx, fresh);
  }
}

int reply_bloom_not_loaded(Ctx* ctx, const Error& why) {
  switch (why.code) {
    case Code::out_of_range: return api.reply_with_error(ctx, "ERR invalid offset - no link found");
    case Code::mismatch:
      return api.reply_with_error(ctx, "ERR invalid chunk - Too big for current filter");
    case Code::no_memory:
      return api.reply_with_error(ctx, "ERR Insufficient memory to create filter");
    default: return api.reply_with_error(ctx, "ERR received bad data");
  }
}

// RedisBloom tells no reason.
int reply_cuckoo_not_loaded(Ctx* ctx, const Error&) {
  return api.reply_with_error(ctx, "Couldn't load chunk!");
}

}  // namespace bloomery::redis
