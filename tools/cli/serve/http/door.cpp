#include "door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string_view>
#include <utility>

#include "listen_address.hpp"

namespace bloomery::cli {
namespace {

std::string lower(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

// "[::1]:8787" as "::1", "localhost:8787" as "localhost"; nothing if that is not its form.
std::optional<std::string> name_in(const std::string& host) {
  std::string name = host;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string::npos) return std::nullopt;
    name = host.substr(1, end - 1);
    port = std::string_view(host).substr(end + 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string::npos) {
    name = host.substr(0, colon);
    port = std::string_view(host).substr(colon);
  }
  if (!port.empty() && (port.front() != ':' || port.size() > 6 ||
                        !std::all_of(port.begin() + 1, port.end(),
                                     [](unsigned char digit) { return std::isdigit(digit); })))
    return std::nullopt;
  if (name.empty()) return std::nullopt;
  return lower(name);
}

std::string drawn_number() {
  std::random_device random;  // the system's
  std::string text;
  for (int word = 0; word < 4; ++word) text += fmt::format("{:08x}", random());
  return text;
}

}  // namespace

bool equal_secrets(const std::string& one, const std::string& other) {
  // The length of a secret is not secret.
  if (one.size() != other.size()) return false;
  volatile unsigned char differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differs = static_cast<unsigned char>(
        differs | (static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i])));
  return differs == 0;
}

Door::Door(std::string token, std::vector<std::string> names, std::uint16_t port)
    : token_(std::move(token)),
      names_(std::move(names)),
      cookie_name_(fmt::format("bloomery_{}", port)),
      cookie_(drawn_number()) {
  for (std::string& name : names_) name = lower(std::move(name));
}

bool Door::is_ours(const std::string& host, const Request& request) const {
  const auto name = name_in(host);
  if (!name) return false;
  return *name == "localhost" || is_loopback_address(*name) || *name == request.local_address ||
         std::find(names_.begin(), names_.end(), *name) != names_.end();
}

bool Door::has_token(const Request& request) const {
  constexpr std::string_view scheme = "Bearer ";
  const std::string& given = request.authorization;
  if (given.starts_with(scheme) && equal_secrets(given.substr(scheme.size()), token_)) return true;
  std::string_view rest = request.cookies;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(cookie_name_) && one.substr(cookie_name_.size()).starts_with('=') &&
        equal_secrets(std::string(one.substr(cookie_name_.size() + 1)), cookie_))
      return true;
  }
  return false;
}

std::optional<Reply> Door::refusal(const Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    Reply reply = sentence_reply(405, "this server only shows; use GET or HEAD");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  if (request.hosts.size() != 1)
    return sentence_reply(400, "a request must say which host it is for, once");
  if (!is_ours(request.hosts.front(), request))
    return sentence_reply(421, "this server is not the one that the request names as its host");
  if (request.origins.size() > 1 ||
      (!request.origins.empty() &&
       lower(request.origins.front()) != "http://" + lower(request.hosts.front())))
    return sentence_reply(403, "pages of other sites may not ask this server");
  if (token_.empty() || has_token(request)) return std::nullopt;
  if (request.token && equal_secrets(*request.token, token_)) {
    // Programs need no cookie; from the line of a browser the token must go.
    if (request.path != "/") return std::nullopt;
    Reply reply = sentence_reply(303, "the token is good");
    reply.headers.emplace_back("Location", "/");
    reply.headers.emplace_back("Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/",
                                                         cookie_name_, cookie_));
    return reply;
  }
  Reply reply{.status = 401,
              .type = "application/json",
              .body = std::make_shared<const std::string>(
                  "{\"error\":\"this server wants its token: Authorization: Bearer, or ?token= "
                  "behind its address\"}\n")};
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace bloomery::cli
