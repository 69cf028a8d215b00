// A real redis-server for one test: on a free port of the loopback, with a directory of its own,
// and gone when the test is, also when that crashes.
//
//    LiveRedis redis;                        // or LiveRedis redis({"--requirepass", "word"});
//    RedisSet::open(redis.address("name"));
//    redis.say({"DBSIZE"});                  // not by our own code: "(integer) 3"
//
// Threads: one; the server outlives no thread that started it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/redis/redis_address.hpp>

namespace bloomery::detail {

// A socket of the loopback that listens at a free port.
inline int listen_somewhere(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::listen(fd, 16), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
  port = ntohs(at.sin_port);
  return fd;
}

class LiveRedis {
 public:
  explicit LiveRedis(std::vector<std::string> options = {}) : options_(std::move(options)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomery-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    for (std::size_t i = 0; i + 1 < options_.size(); ++i)
      if (options_[i] == "--requirepass") password_ = options_[i + 1];
    // Another may take the port between our looking and the server's.
    for (int tries = 0; tries < 5 && !answers_; ++tries) {
      ::close(listen_somewhere(port_));
      start();
    }
    EXPECT_TRUE(answers_) << "redis-server does not start; is it installed?";
  }
  LiveRedis(const LiveRedis&) = delete;
  LiveRedis& operator=(const LiveRedis&) = delete;
  ~LiveRedis() {
    kill();
    std::filesystem::remove_all(directory_);
  }

  // As a crash would.
  void kill() {
    client_.reset();
    if (server_ > 0) {
      ::kill(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
    }
    server_ = -1;
  }
  // Neither answers nor closes anything.
  void freeze() { ::kill(server_, SIGSTOP); }
  void thaw() { ::kill(server_, SIGCONT); }

  std::uint16_t port() const { return port_; }
  RedisAddress address(std::string name) const {
    RedisAddress address;
    address.port = port_;
    address.login.password = password_;
    address.name = std::move(name);
    address.rules.timeout = std::chrono::seconds(5);
    return address;
  }

  // As redis-cli prints it, on one line.
  std::string say(const std::vector<std::string>& words) {
    std::vector<const char*> bytes;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      bytes.push_back(word.data());
      sizes.push_back(word.size());
    }
    const std::unique_ptr<redisReply, void (*)(void*)> reply(
        static_cast<redisReply*>(redisCommandArgv(client_.get(), static_cast<int>(words.size()),
                                                  bytes.data(), sizes.data())),
        freeReplyObject);
    return reply ? text_of(*reply) : "(no answer)";
  }
  // Every key with its value and time to live: equal before and after what must not write.
  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> all;
    std::string keys = say({"KEYS", "*"});
    for (std::size_t at = 0; at < keys.size();) {
      const std::size_t end = std::min(keys.find('\n', at), keys.size());
      const std::string key = keys.substr(at, end - at);
      // The fields of a hash have no order that stays.
      const bool hash = say({"TYPE", key}) == "hash";
      std::string value = say({hash ? "HGETALL" : "DUMP", key});
      if (hash) std::sort(value.begin(), value.end());
      all[key] = value + say({"PEXPIRETIME", key});
      at = end + 1;
    }
    return all;
  }
  // Commands of this name since CONFIG RESETSTAT.
  std::uint64_t calls(const std::string& command) {
    const std::string stats = say({"INFO", "commandstats"});
    const std::string field = "cmdstat_" + command + ":calls=";
    const std::size_t at = stats.find(field);
    return at == std::string::npos ? 0 : std::stoull(stats.substr(at + field.size()));
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  static std::string text_of(const redisReply& reply) {
    std::string text;
    switch (reply.type) {
      case REDIS_REPLY_INTEGER: return "(integer) " + std::to_string(reply.integer);
      case REDIS_REPLY_NIL: return "(nil)";
      case REDIS_REPLY_ERROR: text = "(error) "; break;
      case REDIS_REPLY_ARRAY:
        for (std::size_t i = 0; i < reply.elements; ++i) {
          if (i > 0) text += '\n';
          text += text_of(*reply.element[i]);
        }
        return text;
      default: break;
    }
    return text.append(reply.str, reply.len);
  }

  void start() {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      std::to_string(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      directory_.string(),
                                      "--logfile",
                                      (directory_ / "log").string()};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    server_ = ::fork();
    if (server_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    for (int tries = 0; tries < 1000; ++tries) {
      if (::waitpid(server_, nullptr, WNOHANG) != 0) {
        server_ = -1;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      client_.reset(redisConnect("127.0.0.1", port_));
      if (!client_ || client_->err != 0) continue;
      if (!password_.empty()) say({"AUTH", password_});
      answers_ = say({"PING"}) == "PONG";
      if (answers_) return;
    }
    kill();
  }

  std::vector<std::string> options_;
  std::filesystem::path directory_;
  std::string password_;
  std::uint16_t port_ = 0;
  pid_t server_ = -1;
  bool answers_ = false;
  std::unique_ptr<redisContext, Free> client_;
};

}  // namespace bloomery::detail
