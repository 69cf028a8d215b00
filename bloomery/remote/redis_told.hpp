// What a Redis server says of itself and of its cluster: who has which slots, who copies whom, who
// is to be asked instead. Checked here, believed only then; nothing is connected to.
//
//    CLUSTER SLOTS     first, last, master, replicas ...          slots_told
//    INFO              slave0:ip=127.0.0.1,port=7001,...          replicas_told
//    an error          MOVED 3999 127.0.0.1:6381                  redirection_told
//
// Threads: values.
#pragma once

#include <hiredis/hiredis.h>

#include <optional>
#include <string_view>
#include <vector>

#include <bloomery/detail/remote/redis_link.hpp>
#include <bloomery/error.hpp>

namespace bloomery::inline v0::detail {

struct SlotRange {
  unsigned first = 0;
  unsigned last = 0;
  RedisHost master = {};
  std::vector<RedisHost> replicas = {};
};
// `told_by` is the host of a node that does not know its own address.
Result<std::vector<SlotRange>> slots_told(const redisReply& reply, const RedisHost& told_by);

// Those that are online.
std::vector<RedisHost> replicas_told(std::string_view info);

struct Redirection {
  unsigned slot = 0;
  RedisHost to = {};
};
// Of "MOVED 3999 127.0.0.1:6381" or "ASK 3999 127.0.0.1:6381".
std::optional<Redirection> redirection_told(std::string_view said);

}  // namespace bloomery::inline v0::detail
