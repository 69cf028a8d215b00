// Who may come in: decides it from the request alone, before any page is looked for.
//
//    method   GET or HEAD                                        else 405
//    Host     one; localhost, a loopback address, the address    else 421: others' names may
//             that was reached, or a name of --host              point here (DNS rebinding)
//    Origin   none, or http:// and that Host                     else 403: another site's script
//    token    if there is one: Authorization: Bearer, the        else 401
//             cookie, or ?token=, which the page exchanges for it
//
// The cookie is not the token but a number drawn at the start: it opens this server only, until it
// ends. It is named after the port, since browsers give cookies to all ports of a host.
// Limits:  http only; across a network that others listen to, put TLS before it (docs/serve.md).
// See:     tests/tools/serve/hostile_requests_test.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "request.hpp"

namespace bloomery::cli {

class Door {
 public:
  // An empty token: none is needed.
  Door(std::string token, std::vector<std::string> names, std::uint16_t port);

  // What a request that may not come in is answered, or the way in with the cookie.
  std::optional<Reply> refusal(const Request& request) const;

 private:
  bool is_ours(const std::string& host, const Request& request) const;
  bool has_token(const Request& request) const;

  std::string token_;
  std::vector<std::string> names_;
  std::string cookie_name_;
  std::string cookie_;
};

// In a time that tells nothing of where they differ.
bool equal_secrets(const std::string& one, const std::string& other);

}  // namespace bloomery::cli
