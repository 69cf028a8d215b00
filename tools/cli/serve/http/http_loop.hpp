// The connections of a server, all in one thread: none of them can make the others wait, and what
// all of them take is bounded.
//
//    accept --> reading --> answering --> leaving --> closed
//               the head    the answer    what the client still sends is read and forgotten
//                       \-> watching      every event, for as long as the client takes them
//
//    in all            256 connections; the one that has waited longest makes room for a new one,
//                      watchers do not
//    watchers          192; more get 503
//    a request         16 KiB, else 431; 5 s for all of it, else 408
//    an answer         30 s; an event: 10 s, or the watcher is dropped
//
// A connection is for one request. So a client that sends a byte every second, or ten thousand that
// send nothing, hold what 256 connections hold, for 5 s; who sends a whole request is answered in
// the same turn.
// Limits:  answers are made in this thread: they must be ready texts.
// Threads: run() in one; wake() and stop() from any.
// See:     tests/tools/serve.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <bloomery/file.hpp>
#include <tools/inside.hpp>

#include "http_text.hpp"

namespace bloomery::cli {

class HttpLoop {
 public:
  // `event` is what watchers get when the loop is woken, or nullptr; `last_event` when it ends.
  struct Speaking {
    Replying reply;
    std::function<SharedText()> event;
    SharedText last_event;
  };

  HttpLoop(Descriptor listener, Speaking speaking);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Until stop(), or until `end` (a descriptor; -1: none) can be read.
  void run(int end);
  void wake();
  void stop();
  std::size_t watchers() const { return watchers_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { reading, answering, watching, leaving, closed };
  struct Piece {
    SharedText text;
    std::size_t sent = 0;
  };
  struct Connection {
    Descriptor socket;
    State state = State::reading;
    Clock::time_point until;  // then it is closed, or told that it was too slow
    std::string head = {};
    std::list<Piece> out = {};
    std::size_t waiting_bytes = 0;
    std::size_t forgotten = 0;
    bool watches_next = false;
  };
  using Connections = std::list<Connection>;

  // False: it is the end.
  bool turn(int end);
  void drop_all();
  void accept_all();
  void make_room();
  void read_some(Connection& one);
  void read_head(Connection& one, const char* bytes, std::size_t count);
  void answer(Connection& one, Answer answer);
  void push(Connection& one, SharedText text);
  void send_some(Connection& one);
  void all_sent(Connection& one);
  void tell_watchers(const SharedText& event);
  void look_at_clock();
  void leave(Connection& one);
  void close(Connection& one);
  int milliseconds_left() const;

  Descriptor listener_;
  Descriptor awake_;
  Speaking speaking_;
  std::unique_ptr<HttpText> text_;
  Connections connections_;
  Clock::time_point accept_from_{};
  Clock::time_point quiet_until_{};
  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> watchers_ = 0;
};

}  // namespace bloomery::cli
