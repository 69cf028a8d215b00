// What a browser asks, and what it is answered: plain values, so that the door and the pages know
// no HTTP library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bloomery::cli {

using SharedText = std::shared_ptr<const std::string>;

struct Request {
  std::string method;
  std::string path;                  // decoded, without what follows '?'
  std::optional<std::string> token;  // of ?token=
  std::vector<std::string> hosts;    // a well-made request has one
  std::vector<std::string> origins;  // none, or one
  std::string authorization;
  std::string cookies;
  std::string local_address;  // the end of the connection that is ours, without its port
};

struct Reply {
  int status = 200;
  std::string type = {};
  SharedText body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool watches = false;  // the connection stays open, and gets every event
};

// One sentence.
inline Reply sentence_reply(int status, std::string sentence) {
  return {.status = status,
          .type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(sentence) + "\n")};
}

}  // namespace bloomery::cli
