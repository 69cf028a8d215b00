// Adds to live sets a second, for bench/live.py:
//
//    bench_live DIRECTORY KEYS BATCH SECONDS KIND none|interval|every|memory
//    bench_live redis PORT KEYS BATCH SECONDS
//
// Prints keys a second. "memory" is a sealed set of the same plan, opened and not saved. Of redis:
// BF.MADD of bloomery.so on a server that is there, with the same keys and batches.
#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

// Batches of new keys, made before they are timed, again and again with other numbers.
class Batches {
 public:
  explicit Batches(std::size_t batch) : texts_(batch), views_(batch) {}
  std::span<const std::string_view> next() {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      texts_[i] = "http://example.org/page/" + std::to_string(++number_);
      views_[i] = texts_[i];
    }
    return views_;
  }

 private:
  std::uint64_t number_ = 0;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

// Only the adds are timed.
template <class Add>
double keys_a_second(std::size_t batch, double seconds, std::uint64_t most, Add&& add) {
  Batches batches(batch);
  double passed = 0;
  std::uint64_t keys = 0;
  while (passed < seconds && keys < most) {
    const auto some = batches.next();
    const auto start = Clock::now();
    add(some);
    passed += since(start);
    keys += batch;
  }
  return static_cast<double>(keys) / passed;
}

int live(char** words) {
  const std::string path = (std::filesystem::path(words[1]) / "live").string();
  const std::uint64_t keys = std::strtoull(words[2], nullptr, 10);
  const std::size_t batch = std::strtoull(words[3], nullptr, 10);
  const double seconds = std::strtod(words[4], nullptr);
  const std::string durability = words[6];
  auto planned = AnySet::make(words[5], {.keys = keys, .rate = 0.001}).value();
  const auto add_to = [&](AnySet& set) {
    return keys_a_second(batch, seconds, keys, [&](auto some) { set.add_all(some).value(); });
  };
  if (durability == "memory") {
    planned.save(path).value();
    auto set = AnySet::open(path).value();
    std::printf("%.0f\n", add_to(set));
    return 0;
  }
  create_live(path, planned, {.overwrite = Overwrite::replace}).value();
  auto set = AnyLiveSet::open(path, {.durability = durability == "every"  ? Durability::every
                                                   : durability == "none" ? Durability::none
                                                                          : Durability::interval})
                 .value();
  std::printf("%.0f\n", add_to(set.set()));
  set.close().value();
  return 0;
}

int redis(char** words) {
  redisContext* const server = redisConnect("127.0.0.1", std::atoi(words[2]));
  if (server == nullptr || server->err != 0) return 1;
  const std::uint64_t keys = std::strtoull(words[3], nullptr, 10);
  const std::size_t batch = std::strtoull(words[4], nullptr, 10);
  freeReplyObject(redisCommand(server, "DEL s"));
  freeReplyObject(redisCommand(server, "BF.RESERVE s 0.001 %s", words[3]));
  std::vector<const char*> parts(batch + 2);
  std::vector<std::size_t> lengths(batch + 2);
  parts[0] = "BF.MADD";
  lengths[0] = 7;
  parts[1] = "s";
  lengths[1] = 1;
  bool failed = false;
  const double rate = keys_a_second(batch, std::strtod(words[5], nullptr), keys, [&](auto some) {
    for (std::size_t i = 0; i < batch; ++i) {
      parts[i + 2] = some[i].data();
      lengths[i + 2] = some[i].size();
    }
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(server, static_cast<int>(parts.size()), parts.data(), lengths.data()));
    failed = failed || reply == nullptr || reply->type == REDIS_REPLY_ERROR;
    if (reply != nullptr) freeReplyObject(reply);
  });
  redisFree(server);
  std::printf("%.0f\n", rate);
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7) return live(argv);
  if (argc == 6) return redis(argv);
  std::fprintf(stderr, "bench_live: see the beginning of live_adds.cpp\n");
  return 2;
}
