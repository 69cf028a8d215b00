// A program that links bloomery::redis: opening a set on a missing server gives an Error.
#include <bloomery/redis/redis_set.hpp>
#include <iostream>

int main() {
  const auto address = bloomery::parse_redis_url("redis://127.0.0.1:1/0/seen?timeout=1s");
  const auto set = bloomery::RedisSet::open(address.value());
  if (set) return 1;
  std::cout << set.error().sentence << '\n';
  return set.error().code == bloomery::Code::io ? 0 : 1;
}
