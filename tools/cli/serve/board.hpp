// What is shown: a thread looks at all sources every few seconds and writes down the texts that
// requests are answered with, so that answering costs no more than sending.
//
// Threads: one thread of its own looks; the texts may be asked for by any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "history.hpp"
#include "http/request.hpp"
#include "seen.hpp"

namespace bloomery::cli {

class Board {
 public:
  struct Rules {
    std::chrono::milliseconds every;
    std::function<std::size_t()> watchers;  // how many there are now
    std::function<void()> changed;          // called after each look, by the thread that looks
  };

  explicit Board(std::vector<std::shared_ptr<Source>> sources);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // The first look; sentences about what cannot be read.
  std::vector<std::string> look_once();
  // From now on looks go on by themselves.
  void begin(Rules rules);
  // A last look. False if the thread was still waiting for a server when this time was over: then
  // the program must end without it.
  bool end(std::chrono::milliseconds patience);

  SharedText status() const;
  // "event: status", a frame of server-sent events.
  SharedText status_event() const;
  SharedText history() const;
  SharedText metrics() const;

 private:
  void look_on();
  void look();
  std::string status_of(const std::vector<Seen>& seen) const;

  const std::vector<std::shared_ptr<Source>> sources_;
  const double started_;
  Rules rules_ = {};
  std::vector<History> histories_;
  std::thread looker_;

  mutable std::mutex lock_;  // of all that follows
  std::condition_variable ends_;
  bool ending_ = false;
  bool ended_ = false;
  std::vector<Seen> seen_;
  SharedText status_;
  SharedText event_;
  mutable SharedText history_;  // made when it is asked for, once for each look
};

}  // namespace bloomery::cli
