#include "server.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <utility>

#include <tools/cli/report/refuse.hpp>

#include "blocked_signals.hpp"
#include "metrics.hpp"
#include "page.hpp"

namespace bloomery::cli {
namespace {

constexpr auto patience = std::chrono::milliseconds(200);
constexpr const char* json_type = "application/json";

// Browsers come back after so many milliseconds when the stream breaks.
constexpr std::string_view stream_begin = "retry: 3000\n\n";
constexpr std::string_view stream_end = "event: end\ndata: {}\n\n";

std::vector<std::string> names_of(const ServeWish& wish) {
  std::vector<std::string> names = wish.names;
  if (wish.address.is_loopback()) return names;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0')
    names.emplace_back(host.data());
  return names;
}

}  // namespace

void expect_guarded(std::string_view flag, const ServeWish& wish) {
  if (wish.address.is_loopback() || !wish.token.empty()) return;
  refuse(
      fmt::format("{} {} can be reached from other machines, and everybody there would see what "
                  "is shown; give a token with --token-file, or listen on 127.0.0.1",
                  flag, wish.address.shown()));
}

Server::Server(ServeWish wish, std::vector<std::shared_ptr<Source>> sources)
    : wish_(std::move(wish)),
      listener_(listen_on(wish_.address)),
      board_(std::move(sources)),
      door_(wish_.token, names_of(wish_), wish_.address.port),
      loop_(std::move(listener_),
            {.reply = [this](const Request& request) { return reply(request); },
             .event = [this] { return board_.status_event(); },
             .last_event = std::make_shared<const std::string>(stream_end)}) {}

Server::~Server() {
  // The thread that looks wakes the loop.
  board_.end(std::chrono::hours(1));
  if (!answering_.joinable()) return;
  loop_.stop();
  answering_.join();
}

std::string Server::url() const { return fmt::format("http://{}/", wish_.address.shown()); }

std::string Server::address_line() const {
  return fmt::format("bloomery: serving on {}{}\n", url(),
                     wish_.token.empty() ? "" : "?token=... with its token");
}

Reply Server::reply(const Request& request) const {
  if (auto refused = door_.refusal(request)) return std::move(*refused);
  if (request.path == "/") return page_reply();
  if (request.path == "/api/status.json") return {.type = json_type, .body = board_.status()};
  if (request.path == "/api/history.json") return {.type = json_type, .body = board_.history()};
  if (request.path == "/metrics") return {.type = metrics_type, .body = board_.metrics()};
  if (request.path != "/api/events")
    return sentence_reply(404,
                          "this server has /, /api/status.json, /api/history.json, "
                          "/api/events and /metrics");
  return {.type = "text/event-stream",
          .body = std::make_shared<const std::string>(std::string(stream_begin) +
                                                      *board_.status_event()),
          .watches = request.method == "GET"};
}

void Server::begin_looking() {
  board_.begin({.every = wish_.every,
                .watchers = [this] { return loop_.watchers(); },
                .changed = [this] { loop_.wake(); }});
}

bool Server::run_until(int end) {
  begin_looking();
  loop_.run(end);
  return board_.end(patience);
}

void Server::begin() {
  board_.look_once();
  begin_looking();
  const BlockedSignals blocked;
  answering_ = std::thread([this] { loop_.run(-1); });
  // Tools that list threads tell them from those of the run.
  pthread_setname_np(answering_.native_handle(), "serve-answers");
}

void Server::end() {
  // A run is looked at without waiting for anybody.
  board_.end(std::chrono::hours(1));
  board_.look_once();
  loop_.stop();
  if (answering_.joinable()) answering_.join();
}

}  // namespace bloomery::cli
