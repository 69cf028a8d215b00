// Adds to live sets a second, for bench/live.py:
//
//    bench_live DIRECTORY KEYS BATCH SECONDS WRITERS KIND none|interval|every|memory|synced
//    bench_live redis PORT KEYS BATCH SECONDS WRITERS
//
// Prints keys a second of all writers, each of which is a process that has the file open, or a
// connection. "memory" is a sealed set of the same plan, opened and not saved, and has one writer.
// "synced" is what the disk allows one writer: the bytes of each batch, 8 a key and 32, are written
// and synced in a file that has its length already, and nothing else is done.
// Of redis: BF.MADD of bloomery.so on a server that is there, with the same keys and batches.
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <bloomery/any_set.hpp>
#include <bloomery/live.hpp>

namespace {

using namespace bloomery;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Load {
  std::uint64_t keys;
  std::size_t batch;
  double seconds;
  std::size_t writers;
};

// Batches of new keys, made before they are timed, again and again with other numbers.
class Batches {
 public:
  Batches(std::size_t batch, std::uint64_t first) : number_(first), texts_(batch), views_(batch) {}
  std::span<const std::string_view> next() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      texts_[i] = "http://example.org/page/" + std::to_string(++number_);
      views_[i] = texts_[i];
    }
    return views_;
  }

 private:
  std::uint64_t number_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

// Only the adds are timed.
template <class Add>
double keys_a_second(const Load& load, std::size_t writer, Add&& add) {
  Batches batches(load.batch, writer * load.keys);
  double passed = 0;
  std::uint64_t keys = 0;
  while (passed < load.seconds && keys < load.keys / load.writers) {
    const auto some = batches.next();
    const auto start = Clock::now();
    add(some);
    passed += since(start);
    keys += load.batch;
  }
  return static_cast<double>(keys) / passed;
}

void expect(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

// Each writer is a process, as those who share a file or a server are.
template <class Write>
double sum_of_writers(const Load& load, Write&& write) {
  if (load.writers == 1) return write(0);
  std::array<int, 2> pipe{};
  expect(::pipe2(pipe.data(), O_CLOEXEC) == 0, "pipe");
  for (std::size_t i = 0; i < load.writers; ++i) {
    const pid_t child = ::fork();
    expect(child >= 0, "fork");
    if (child != 0) continue;
    const double rate = write(i);
    expect(::write(pipe[1], &rate, sizeof rate) == sizeof rate, "write");
    ::_exit(0);
  }
  ::close(pipe[1]);
  double sum = 0, rate = 0;
  std::size_t told = 0;
  for (; ::read(pipe[0], &rate, sizeof rate) == sizeof rate; ++told) sum += rate;
  while (::wait(nullptr) > 0) {
  }
  expect(told == load.writers, "a writer");
  return sum;
}

double synced(const std::string& path, const Load& load) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  expect(file >= 0, "open");
  constexpr std::size_t file_bytes = std::size_t{64} << 20;
  const std::vector<char> zeros(file_bytes), record(8 * load.batch + 32, 'r');
  expect(::pwrite(file, zeros.data(), file_bytes, 0) == static_cast<ssize_t>(file_bytes), "pwrite");
  expect(::fdatasync(file) == 0, "fdatasync");
  std::size_t at = 0;
  const double rate = keys_a_second(load, 0, [&](auto) {
    if (at + record.size() > file_bytes) at = 0;
    const auto put = ::pwrite(file, record.data(), record.size(), static_cast<off_t>(at));
    expect(put == static_cast<ssize_t>(record.size()) && ::fdatasync(file) == 0, "fdatasync");
    at += record.size();
  });
  ::close(file);
  return rate;
}

double live(const std::string& path, const Load& load, const char* kind,
            const std::string& durability) {
  if (durability == "synced") return synced(path, load);
  auto planned = AnySet::make(kind, {.keys = load.keys, .rate = 0.001}).value();
  if (durability == "memory") {
    planned.save(path).value();
    auto set = AnySet::open(path).value();
    return keys_a_second(load, 0, [&](auto some) { set.add_all(some).value(); });
  }
  create_live(path, planned, {.overwrite = Overwrite::replace}).value();
  const LiveOptions options{.durability = durability == "every"  ? Durability::every
                                          : durability == "none" ? Durability::none
                                                                 : Durability::interval};
  return sum_of_writers(load, [&](std::size_t writer) {
    auto set = AnyLiveSet::open(path, options).value();
    const double rate =
        keys_a_second(load, writer, [&](auto some) { set.set().add_all(some).value(); });
    set.close().value();
    return rate;
  });
}

class Connection {
 public:
  explicit Connection(int port) : server_(redisConnect("127.0.0.1", port)) {
    if (server_ == nullptr || server_->err != 0) {
      std::fprintf(stderr, "bench_live: no Redis at port %d\n", port);
      std::exit(1);
    }
  }
  ~Connection() { redisFree(server_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void call(std::span<const char* const> parts, std::span<const std::size_t> lengths) {
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(server_, static_cast<int>(parts.size()),
                         const_cast<const char**>(parts.data()), lengths.data()));
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) {
      std::fprintf(stderr, "bench_live: %s\n", reply == nullptr ? server_->errstr : reply->str);
      std::exit(1);
    }
    freeReplyObject(reply);
  }
  void call(const std::vector<std::string>& words) {
    std::vector<const char*> parts;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      parts.push_back(word.c_str());
      lengths.push_back(word.size());
    }
    call(parts, lengths);
  }

 private:
  redisContext* server_;
};

double redis(int port, const Load& load) {
  {
    Connection first(port);
    first.call({"DEL", "s"});
    first.call({"BF.RESERVE", "s", "0.001", std::to_string(load.keys)});
  }
  return sum_of_writers(load, [&](std::size_t writer) {
    Connection server(port);
    std::vector<const char*> parts{"BF.MADD", "s"};
    std::vector<std::size_t> lengths{7, 1};
    return keys_a_second(load, writer, [&](auto some) {
      parts.resize(2);
      lengths.resize(2);
      for (const std::string_view key : some) {
        parts.push_back(key.data());
        lengths.push_back(key.size());
      }
      server.call(parts, lengths);
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8 && argc != 7) {
    std::fprintf(stderr, "bench_live: see the beginning of live_adds.cpp\n");
    return 2;
  }
  const bool is_redis = argc == 7;
  const Load load{std::strtoull(argv[is_redis ? 3 : 2], nullptr, 10),
                  std::strtoull(argv[is_redis ? 4 : 3], nullptr, 10),
                  std::strtod(argv[is_redis ? 5 : 4], nullptr),
                  std::strtoull(argv[is_redis ? 6 : 5], nullptr, 10)};
  const double rate =
      is_redis ? redis(std::atoi(argv[2]), load)
               : live((std::filesystem::path(argv[1]) / "live").string(), load, argv[6], argv[7]);
  std::printf("%.0f\n", rate);
  return 0;
}
