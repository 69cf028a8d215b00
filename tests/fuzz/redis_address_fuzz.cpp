// redis:// addresses: one that is read can be written and read back, and no Error shows a password.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <bloomery/redis/redis_address.hpp>

#include <tests/fuzz/byte_feed.hpp>
#include <tests/fuzz/must.hpp>

namespace bloomery::fuzz {
namespace {

// Every byte as %XX: nothing has a meaning.
std::string escaped(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

// The largest unit that divides it: numbers are short.
std::string written(std::chrono::milliseconds time) {
  constexpr std::pair<const char*, std::int64_t> units[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"min", 60'000}, {"s", 1000}, {"ms", 1}};
  for (const auto& [unit, each] : units)
    if (time.count() % each == 0) return std::to_string(time.count() / each) + unit;
  return {};
}

std::string written(const RedisAddress& address) {
  const RedisRules& rules = address.rules;
  std::string url = "redis://" + escaped(address.login.user);
  url += ":" + escaped(address.login.password) + "@" + escaped(address.host);
  url += ":" + std::to_string(address.port) + "/" + std::to_string(address.login.database);
  url += "/" + escaped(address.name) + "?timeout=" + written(rules.timeout);
  if (rules.ttl.count() != 0) url += "&ttl=" + written(rules.ttl);
  if (rules.read_replicas) url += "&read=replicas";
  return url + "&wait=" + std::to_string(rules.wait_replicas);
}

bool same(const RedisAddress& a, const RedisAddress& b) {
  return a.host == b.host && a.port == b.port && a.login.user == b.login.user &&
         a.login.password == b.login.password && a.login.database == b.login.database &&
         a.name == b.name && a.rules.timeout == b.rules.timeout && a.rules.ttl == b.rules.ttl &&
         a.rules.read_replicas == b.rules.read_replicas &&
         a.rules.wait_replicas == b.rules.wait_replicas;
}

void check(std::string_view text) {
  const auto address = parse_redis_url(text);
  if (!address) return;
  const auto again = parse_redis_url(written(*address));
  must(again && same(*address, *again), "an address that is written is read back");
  must(is_redis_url(address->shown()), "an address is shown as one");
}

// redis://before:...secret...@behind, where people forget to escape what is odd in a password.
void check_secrecy(std::string_view before, std::string_view odd, std::string_view behind) {
  constexpr std::string_view secret = "hunter2secret";
  if (before.find_first_of("@?#/") != before.npos) return;
  if (odd.find(secret) != odd.npos || behind.find(secret) != behind.npos) return;
  const std::string url = "redis://" + std::string(before) + ":" + std::string(odd) +
                          std::string(secret) + "@" + std::string(behind);
  const auto address = parse_redis_url(url);
  if (address) return;
  must(address.error().sentence.find(secret) == std::string::npos, "no Error shows a password",
       address.error().sentence);
}

}  // namespace
}  // namespace bloomery::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomery::fuzz;
  ByteFeed feed(data, size);
  if (feed.byte() % 2 == 0) {
    const std::string_view text = feed.rest();
    if (bloomery::is_redis_url(text)) check(text);
  } else {
    const auto before = feed.short_text();
    const auto odd = feed.short_text();
    check_secrecy(before, odd, feed.rest());
  }
  return 0;
}
