// The address of a set on a Redis server, with its connection settings, as a URL:
//
//    redis://[user][:password@]host[:port][/database]/name[?timeout=10s&ttl=24h]
//
// Prefer the URL where people write it; fill in a RedisAddress where a program knows the parts.
//
// Example:
//    #include <bloomery/redis/redis_set.hpp>
//    const std::string_view where = "redis://:secret@host:7000/0/seen?timeout=2s&ttl=24h";
//    if (!is_redis_url(where)) return Error{Code::bad_input, "not the URL of a set"};
//    auto address = parse_redis_url(where);
//    if (!address) return address.error();         // shows how it is written; no password
//    address->rules.wait_replicas = 1;
//    const auto set = RedisSet::open(*address);
//    if (!set) crawl("cannot open " + address->shown());  // without the password
//    const RedisAddress local{.name = "seen"};     // 127.0.0.1:6379
//
// Special characters of password and name are written %XX, as in any URL. The parameters:
//    timeout   how long to wait for the answer to a command, and for a server that is gone; 10s
//    ttl       a set that is made now is forgotten by the server after so long; for ever
//    read      replicas: asks may go there, and may miss what was added in the last moments
//    wait      so many replicas must have each batch of adds before they count as done; 0
// Errors:  parse_redis_url names the part that is wrong.
// Limits:  no TLS (rediss://), since hiredis 0.14 has none; no Unix sockets.
// Threads: values.
// See:     docs/scale.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <bloomery/error.hpp>

namespace bloomery::inline v0 {

struct RedisLogin {
  std::string user = {};
  std::string password = {};
  unsigned database = 0;
};

struct RedisRules {
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds ttl{0};  // 0: for ever
  bool read_replicas = false;
  unsigned wait_replicas = 0;
};

struct RedisAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  RedisLogin login = {};
  std::string name = {};
  RedisRules rules = {};

  // Without the password: for sentences.
  std::string shown() const;
  std::string shown_server() const;
};

// Is this the URL of a set on a server, and not a file name?
bool is_redis_url(std::string_view text);
// The Error says which part is wrong and shows how it is written; never the password.
Result<RedisAddress> parse_redis_url(std::string_view text);

}  // namespace bloomery::inline v0
