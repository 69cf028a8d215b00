#include "http_text.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace bloomery::cli {
namespace {

constexpr const char* unreadable = "this request cannot be read";

// What every answer has. The page brings a policy of its own.
const std::vector<std::pair<std::string, std::string>>& safe_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
  };
  return headers;
}

// A connection in memory: the request is there before it is read, the answer is sent later. A body
// is shared, not copied: the library, whose server does not run, leaves it out.
class TextStream : public httplib::Stream {
 public:
  TextStream(std::string_view request, const std::string& local)
      : request_(request), local_(local) {}

  bool is_readable() const override { return read_ < request_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, request_.size() - read_);
    std::memcpy(to, request_.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    if (!body || from != body->data()) head.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& address, int& port) const override {
    address.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& address, int& port) const override {
    address = local_;
    port = 0;
  }
  // Only looked at for its size.
  socket_t socket() const override { return 0; }

  std::string head;
  SharedText body;

 private:
  std::string_view request_;
  std::size_t read_ = 0;
  const std::string& local_;
};

std::vector<std::string> all_of(const httplib::Request& request, const char* name) {
  std::vector<std::string> values;
  const std::size_t count = request.get_header_value_count(name);
  for (std::size_t i = 0; i < count; ++i) values.push_back(request.get_header_value(name, i));
  return values;
}

Request taken_apart(const httplib::Request& request, const std::string& local) {
  Request plain{.method = request.method,
                .path = request.path,
                .token = {},
                .hosts = all_of(request, "Host"),
                .origins = all_of(request, "Origin"),
                .authorization = request.get_header_value("Authorization"),
                .cookies = request.get_header_value("Cookie"),
                .local_address = local};
  if (request.has_param("token")) plain.token = request.get_param_value("token");
  return plain;
}

bool begins_with_name(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), line.begin(), [](char one, char other) {
           return one == (other >= 'A' && other <= 'Z' ? other - 'A' + 'a' : other);
         });
}

// Lines that the library would act on, with a std::regex that takes stack for each letter (Range),
// or with work that local readers have no use for.
std::string without_unwanted(std::string_view head) {
  std::string kept;
  kept.reserve(head.size());
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size() - 1) + 1;
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end);
    if (!begins_with_name(line, "range") && !begins_with_name(line, "accept-encoding"))
      kept += line;
  }
  return kept;
}

// The parser is a server that never listens.
class Parser : public HttpText, httplib::Server {
 public:
  explicit Parser(Replying replying) : replying_(std::move(replying)) {
    // Before any route, of which there are none: no path is ever looked up on a disk.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      fill(response, reply_to(request), request.method == "HEAD");
      return HandlerResponse::Handled;
    });
    set_expect_100_continue_handler(
        [](const httplib::Request&, httplib::Response&) { return 417; });
    // What the library refuses itself, before the handler is asked.
    set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (response.has_header("Content-Security-Policy")) return;
      fill(response, sentence_reply(response.status, unreadable), request.method == "HEAD");
    });
  }

  Answer answer(std::string_view head, const std::string& local) override {
    const std::string wanted = without_unwanted(head);
    TextStream stream(wanted, local);
    stream_ = &stream;
    local_ = &local;
    watches_ = false;
    bool closed = false;
    process_request(stream, true, closed, nullptr);
    stream_ = nullptr;
    if (stream.head.empty()) return refusal(400, unreadable);
    return {std::move(stream.head), std::move(stream.body), watches_};
  }

  Answer refusal(int status, const std::string& sentence) override {
    Reply reply = sentence_reply(status, sentence);
    // Who reads the words behind the number is told more by the sentence.
    std::string head = fmt::format("HTTP/1.1 {} Refused\r\nConnection: close\r\n", status);
    for (const auto& [name, value] : safe_headers()) head += fmt::format("{}: {}\r\n", name, value);
    head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n\r\n", reply.type,
                        reply.body->size());
    return {std::move(head), std::move(reply.body), false};
  }

 private:
  Reply reply_to(const httplib::Request& request) const {
    try {
      return replying_(taken_apart(request, *local_));
    } catch (const std::exception& failure) {
      return sentence_reply(500, failure.what());
    }
  }

  void fill(httplib::Response& response, const Reply& reply, bool head_only) {
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    for (const auto& [name, value] : safe_headers())
      if (!response.has_header(name)) response.set_header(name, value);
    watches_ = reply.watches;
    if (!reply.body) return;
    if (!head_only) stream_->body = reply.body;
    if (reply.watches)
      response.set_content_provider(reply.type,
                                    [body = reply.body](std::size_t, httplib::DataSink& sink) {
                                      const bool written = sink.write(body->data(), body->size());
                                      sink.done();
                                      return written;
                                    });
    else
      response.set_content_provider(
          reply.body->size(), reply.type,
          [body = reply.body](std::size_t from, std::size_t size, httplib::DataSink& sink) {
            return sink.write(body->data() + from, size);
          });
  }

  Replying replying_;
  TextStream* stream_ = nullptr;
  const std::string* local_ = nullptr;
  bool watches_ = false;
};

}  // namespace
}  // namespace bloomery::cli

extern "C" bloomery::cli::HttpText* bloomery_http_text(bloomery::cli::Replying* replying) {
  return new bloomery::cli::Parser(std::move(*replying));
}
