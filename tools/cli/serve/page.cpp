#include "page.hpp"

#include <string_view>
#include <utility>

namespace bloomery::cli {
namespace {

// The policy in <meta http-equiv="Content-Security-Policy" content="...">: which scripts and styles
// the page may run, by their sums.
constexpr std::string_view policy_begins = "http-equiv=\"Content-Security-Policy\" content=\"";
// From a file the page may ask nobody; here it may ask its server, and so knows that it has one.
constexpr std::string_view ask_nobody = "connect-src 'none'";
constexpr std::string_view ask_server = "connect-src 'self'";

Reply made_reply() {
  std::string page(reinterpret_cast<const char*>(page_bytes), page_size);
  const std::size_t begin = page.find(policy_begins);
  // A page without one may do nothing but be read.
  std::string policy = "default-src 'none'";
  if (begin != std::string::npos) {
    const std::size_t from = begin + policy_begins.size();
    policy = page.substr(from, page.find('"', from) - from);
    const std::size_t length = policy.size();
    if (const std::size_t at = policy.find(ask_nobody); at != std::string::npos)
      policy.replace(at, ask_nobody.size(), ask_server);
    page.replace(from, length, policy);
  }
  Reply reply{.type = "text/html; charset=utf-8",
              .body = std::make_shared<const std::string>(std::move(page))};
  reply.headers.emplace_back("Content-Security-Policy", policy + "; frame-ancestors 'none'");
  return reply;
}

}  // namespace

const Reply& page_reply() {
  static const Reply reply = made_reply();
  return reply;
}

}  // namespace bloomery::cli
