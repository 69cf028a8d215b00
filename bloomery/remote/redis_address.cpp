#include <bloomery/redis/redis_address.hpp>

#include <uriparser/Uri.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

namespace bloomery::inline v0 {
namespace {

constexpr std::string_view pattern = "redis://[user][:password@]host[:port][/database]/name";
constexpr std::size_t most_name_bytes = 512;

Error wrong(std::string what) {
  return {Code::bad_input, std::move(what) + "; write " + std::string(pattern)};
}

std::string range_text(const UriTextRangeA& range) {
  return range.first == nullptr ? std::string() : std::string(range.first, range.afterLast);
}

std::string unescaped(std::string text) {
  const char* end = uriUnescapeInPlaceA(text.data());
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

std::optional<std::chrono::milliseconds> duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> units = {
      {{"min", 60'000}, {"ms", 1}, {"s", 1000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  constexpr std::uint64_t most_units = 100'000'000;
  for (const auto& [unit, each] : units) {
    if (!text.ends_with(unit)) continue;
    const auto count = whole<std::uint64_t>(text.substr(0, text.size() - unit.size()));
    if (!count || *count == 0 || *count > most_units) return std::nullopt;
    return std::chrono::milliseconds(*count * each);
  }
  return std::nullopt;
}

// Braces would choose the slot of a Redis Cluster; spaces end a field of the meta hash.
bool good_name(std::string_view name) {
  return !name.empty() && name.size() <= most_name_bytes &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ' || c == '{' || c == '}' || c == '\x7f';
         });
}

Result<void> take_parameter(RedisRules& rules, std::string_view key, std::string_view value) {
  const auto refused = [&](const char* accepted) {
    return Error{Code::bad_input, std::string(key) + "=" + std::string(value) +
                                      " of a redis:// URL is not understood; it takes " + accepted};
  };
  if (key == "timeout" || key == "ttl") {
    const auto time = duration(value);
    if (!time) return refused("a time with its unit, such as 500ms, 10s, 5min, 24h or 7d");
    (key == "ttl" ? rules.ttl : rules.timeout) = *time;
    return {};
  }
  if (key == "read") {
    if (value != "replicas" && value != "masters") return refused("replicas or masters");
    rules.read_replicas = value == "replicas";
    return {};
  }
  if (key == "wait") {
    const auto replicas = whole<unsigned>(value);
    if (!replicas || *replicas > 1000) return refused("a number of replicas");
    rules.wait_replicas = *replicas;
    return {};
  }
  return Error{Code::bad_input, "a redis:// URL has no parameter '" + std::string(key) +
                                    "'; there are timeout, ttl, read and wait"};
}

Result<void> take_parameters(RedisRules& rules, const UriTextRangeA& query) {
  if (query.first == nullptr || query.first == query.afterLast) return {};
  // No parameter has an '@'. A password with a '?' in it ends there, and must not be shown.
  if (std::find(query.first, query.afterLast, '@') != query.afterLast)
    return wrong("an '@' behind the '?' (odd characters of a password are written %XX)");
  UriQueryListA* list = nullptr;
  int count = 0;
  if (uriDissectQueryMallocA(&list, &count, query.first, query.afterLast) != URI_SUCCESS)
    return wrong("the part behind '?' is not key=value&key=value");
  const std::unique_ptr<UriQueryListA, void (*)(UriQueryListA*)> owner(list, uriFreeQueryListA);
  for (const UriQueryListA* one = list; one != nullptr; one = one->next)
    if (auto taken = take_parameter(rules, one->key, one->value == nullptr ? "" : one->value);
        !taken)
      return taken.error();
  return {};
}

Result<void> take_path(RedisAddress& address, const UriUriA& uri) {
  // What is wrong is not shown: a password with a '/' in it falls apart into host, port and path.
  std::vector<std::string> segments;
  for (const UriPathSegmentA* one = uri.pathHead; one != nullptr; one = one->next)
    segments.push_back(unescaped(range_text(one->text)));
  if (segments.size() == 2) {
    const auto database = whole<unsigned>(segments[0]);
    if (!database || *database > 1'000'000) return wrong("the database is not a number");
    address.login.database = *database;
    segments.erase(segments.begin());
  }
  if (segments.size() == 1 && whole<std::uint64_t>(segments[0]))
    return wrong("the name of the set is missing, or is a number without its database before it");
  if (segments.size() != 1) return wrong("the name of the set is missing, or has a '/' in it");
  if (!good_name(segments[0]))
    return wrong("the name of the set must have 1 to " + std::to_string(most_name_bytes) +
                 " characters, and no spaces or braces");
  address.name = segments[0];
  return {};
}

}  // namespace

std::string RedisAddress::shown_server() const {
  const bool six = host.find(':') != std::string::npos;
  return "redis://" + (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string RedisAddress::shown() const {
  return shown_server() + "/" + std::to_string(login.database) + "/" + name;
}

bool is_redis_url(std::string_view text) {
  std::string begin(text.substr(0, 9));
  for (char& c : begin) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return begin.starts_with("redis://") || begin.starts_with("rediss://");
}

Result<RedisAddress> parse_redis_url(std::string_view text) {
  if (text.size() > 5 && (text[5] == 's' || text[5] == 'S'))
    return Error{Code::unsupported,
                 "rediss:// is Redis over TLS, which this build cannot speak; put a TLS tunnel "
                 "(stunnel) before the server and write redis:// with its address"};
  const std::string copy(text);
  UriUriA uri{};
  const char* error_at = nullptr;
  // With its end: a zero byte is a character that no URL has, and ends nothing.
  if (uriParseSingleUriExA(&uri, copy.data(), copy.data() + copy.size(), &error_at) != URI_SUCCESS)
    return wrong("that is not a URL (odd characters of a password are written %XX)");
  const std::unique_ptr<UriUriA, void (*)(UriUriA*)> owner(&uri, uriFreeUriMembersA);
  RedisAddress address;
  if (const std::string host = range_text(uri.hostText); !host.empty())
    address.host = unescaped(host);
  else
    return wrong("the host is missing");
  if (const std::string port = range_text(uri.portText); !port.empty()) {
    const auto number = whole<std::uint16_t>(port);
    if (!number || *number == 0) return wrong("the port is not a number from 1 to 65535");
    address.port = *number;
  }
  const std::string who = range_text(uri.userInfo);
  const std::size_t colon = who.find(':');
  address.login.user = unescaped(who.substr(0, colon));
  if (colon != std::string::npos) address.login.password = unescaped(who.substr(colon + 1));
  if (range_text(uri.fragment) != "") return wrong("a '#' must be written %23");
  if (auto taken = take_path(address, uri); !taken) return taken.error();
  if (auto taken = take_parameters(address.rules, uri.query); !taken) return taken.error();
  return address;
}

}  // namespace bloomery::inline v0
