// The server of `serve` and of `dedup --serve`: what is looked at (board.hpp), who may come in
// (door.hpp), and the connections (http_loop.hpp).
//
//    /                   the page
//    /api/status.json    what was seen last
//    /api/history.json   the numbers of a day
//    /api/events         what is seen, as server-sent events
//    /metrics            the same for Prometheus
//
// Read only: nothing that comes in changes a set, a file or a run, and no path leads to a file.
// Threads: two, the one that looks and, with begin(), the one of the connections.
// See:     docs/serve.md.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "board.hpp"
#include "http/door.hpp"
#include "http/http_loop.hpp"
#include "http/listen_address.hpp"
#include "seen.hpp"

namespace bloomery::cli {

struct ServeWish {
  ListenAddress address;
  std::string token = {};               // empty: none is needed
  std::vector<std::string> names = {};  // of this machine, that requests may be for
  std::chrono::milliseconds every{2'000};
};

// Refuses an address that others reach without a token.
void expect_guarded(std::string_view flag, const ServeWish& wish);

class Server {
 public:
  // Listens; nobody is answered yet.
  Server(ServeWish wish, std::vector<std::shared_ptr<Source>> sources);
  // Says to all watchers that it is the end.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:8787/"
  std::string url() const;
  // The sentence that tells it, with its newline.
  std::string address_line() const;
  Board& board() { return board_; }

  // Answers in this thread until this descriptor can be read. False: see Board::end.
  bool run_until(int end);
  // Answers in a thread of its own.
  void begin();
  // The last state goes to all watchers.
  void end();

 private:
  Reply reply(const Request& request) const;
  void begin_looking();

  ServeWish wish_;
  Descriptor listener_;
  Board board_;
  Door door_;
  HttpLoop loop_;
  std::thread answering_;
};

}  // namespace bloomery::cli
