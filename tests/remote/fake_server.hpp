// A server that does not speak the protocol of Redis, at a port of its own.
//
//    FakeServer silent([](int fd, const std::atomic<bool>& stop) { ... });
//    RedisSet::open(silent.address(300ms));
//
// Threads: one of its own, which serves one connection after the other.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

#include <bloomery/redis/redis_address.hpp>

#include "live_redis.hpp"

namespace bloomery::detail {

// Whether there is something to read within a moment; so that threads notice their end.
inline bool readable(int fd, int milliseconds = 20) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) > 0;
}

// Listens at a port of its own and gives each connection to `serve`, one after the other.
class FakeServer {
 public:
  using Serve = std::function<void(int fd, const std::atomic<bool>& stop)>;
  explicit FakeServer(Serve serve) : serve_(std::move(serve)), listens_(listen_somewhere(port_)) {
    thread_ = std::thread([this] { run(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    stop_ = true;
    thread_.join();
    ::close(listens_);
  }
  RedisAddress address(std::chrono::milliseconds timeout = std::chrono::seconds(5)) const {
    RedisAddress address;
    address.port = port_;
    address.name = "seen";
    address.rules.timeout = timeout;
    return address;
  }
  std::uint16_t port() const { return port_; }
  unsigned connections() const { return connections_; }  // that were accepted so far

 private:
  void run() {
    while (!stop_) {
      if (!readable(listens_)) continue;
      const int fd = ::accept4(listens_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      serve_(fd, stop_);
      ::close(fd);
    }
  }

  Serve serve_;
  std::uint16_t port_ = 0;
  int listens_;
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> connections_ = 0;
  std::thread thread_;
};

inline void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace bloomery::detail
