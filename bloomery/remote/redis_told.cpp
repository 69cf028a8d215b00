#include <bloomery/remote/redis_told.hpp>

#include <charconv>
#include <string>

#include <bloomery/redis/redis_router.hpp>
#include <bloomery/redis/slots.hpp>

namespace bloomery::inline v0::detail {
namespace {

// "127.0.0.1:7001", also with colons in the host; Redis 7 adds ",hostname".
std::optional<RedisHost> parse_host(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  RedisHost host{std::string(text.substr(0, colon)), 0};
  const std::string_view port = text.substr(colon + 1);
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), host.port);
  if (failed != std::errc() || end != port.data() + port.size() || host.port == 0)
    return std::nullopt;
  return host;
}

std::optional<RedisHost> node_told(const redisReply& told, const RedisHost& told_by) {
  if (told.type != REDIS_REPLY_ARRAY || told.elements < 2 ||
      told.element[1]->type != REDIS_REPLY_INTEGER || told.element[1]->integer <= 0 ||
      told.element[1]->integer > 65535)
    return std::nullopt;
  RedisHost host{"", static_cast<std::uint16_t>(told.element[1]->integer)};
  if (told.element[0]->type == REDIS_REPLY_STRING)
    host.name.assign(told.element[0]->str, told.element[0]->len);
  // A node that does not know its own address leaves it out.
  if (host.name.empty() || host.name == "?") host.name = told_by.name;
  return host;
}

std::optional<SlotRange> range_told(const redisReply& told, const RedisHost& told_by) {
  if (told.type != REDIS_REPLY_ARRAY || told.elements < 3 ||
      told.element[0]->type != REDIS_REPLY_INTEGER || told.element[1]->type != REDIS_REPLY_INTEGER)
    return std::nullopt;
  const long long first = told.element[0]->integer;
  const long long last = told.element[1]->integer;
  if (first < 0 || first > last || last >= static_cast<long long>(cluster_slots))
    return std::nullopt;
  SlotRange range{static_cast<unsigned>(first), static_cast<unsigned>(last)};
  for (std::size_t n = 2; n < told.elements; ++n) {
    auto host = node_told(*told.element[n], told_by);
    if (!host) return std::nullopt;
    if (n == 2)
      range.master = std::move(*host);
    else
      range.replicas.push_back(std::move(*host));
  }
  return range;
}

}  // namespace

Result<std::vector<SlotRange>> slots_told(const redisReply& reply, const RedisHost& told_by) {
  const auto nonsense = [&] {
    return Error{Code::not_ours,
                 to_string(told_by) + " does not answer CLUSTER SLOTS as Redis does"};
  };
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements > cluster_slots) return nonsense();
  std::vector<SlotRange> ranges;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    auto range = range_told(*reply.element[i], told_by);
    if (!range) return nonsense();
    ranges.push_back(std::move(*range));
  }
  return ranges;
}

std::vector<RedisHost> replicas_told(std::string_view info) {
  std::vector<RedisHost> replicas;
  for (unsigned i = 0; i < 100; ++i) {
    const std::string_view told = info_field(info, "slave" + std::to_string(i));
    if (told.empty()) break;
    if (told.find("state=online") == std::string_view::npos) continue;
    const std::size_t ip = told.find("ip=");
    const std::size_t port = told.find(",port=");
    if (ip == std::string_view::npos || port == std::string_view::npos || port < ip) continue;
    const std::string_view number = told.substr(port + 6, told.find(',', port + 6) - port - 6);
    const auto host =
        parse_host(std::string(told.substr(ip + 3, port - ip - 3)) + ":" + std::string(number));
    if (host) replicas.push_back(*host);
  }
  return replicas;
}

std::optional<Redirection> redirection_told(std::string_view said) {
  const std::size_t first = said.find(' ');
  const std::size_t second = said.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  Redirection where;
  const std::string_view slot = said.substr(first + 1, second - first - 1);
  if (std::from_chars(slot.data(), slot.data() + slot.size(), where.slot).ec != std::errc() ||
      where.slot >= cluster_slots)
    return std::nullopt;
  const auto host = parse_host(said.substr(second + 1));
  if (!host) return std::nullopt;
  where.to = *host;
  return where;
}

}  // namespace bloomery::inline v0::detail
