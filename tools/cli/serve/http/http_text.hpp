// HTTP as text: takes the head of a request apart, and writes the head of its answer.
//
//    "GET /metrics HTTP/1.1\r\nHost: ..."  --HttpText-->  Request  --replying-->  Reply
//    "HTTP/1.1 200 OK\r\n..."              <-----------   head and body
//
// The texts are parsed and written by cpp-httplib, which only http_text.cpp includes, a module of
// its own. Its server is not used: it has a thread for each connection, and its limits of time are
// those of single reads, so that a client that sends a byte every few seconds keeps its thread
// (http_loop.hpp has ours).
// Limits:  a body is never read; Range is not obeyed, as HTTP allows; nothing is compressed.
// Threads: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "request.hpp"

namespace bloomery::cli {

struct Answer {
  std::string head;
  SharedText body = {};  // sent behind the head
  bool watches = false;
};

using Replying = std::function<Reply(const Request&)>;

class HttpText {
 public:
  virtual ~HttpText() = default;

  // The head up to its empty line. Whatever its bytes are, there is an answer.
  virtual Answer answer(std::string_view head, const std::string& local_address) = 0;
  // For what cannot be parsed, or is not: too long, too late, too many.
  virtual Answer refusal(int status, const std::string& sentence) = 0;
};

// From the module bloomery_http.so, beside the program or where it was installed: cpp-httplib
// brings OpenSSL and five more libraries, and loading them with the program took every verb 1.8 ms,
// as long as all the rest of its start.
std::unique_ptr<HttpText> load_http_text(Replying replying);

}  // namespace bloomery::cli
