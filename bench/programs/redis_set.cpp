// A set on Redis servers: how fast keys are added and asked, for bench/redis.py.
//
//    bench_redis URL KEYS RATE
//
// One line of numbers: keys a second, commands a key and microseconds of all masters' CPU a key, of
// adding new keys, adding them again, asking members, asking strangers; then the rate of the
// strangers. The set is dropped at the end.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <hiredis/hiredis.h>

#include <bloomery/redis/redis_set.hpp>

namespace {

using namespace bloomery;

struct Pace {
  double keys_per_second;
  double commands_per_key;
  double server_us_per_key;
};

// Seconds of CPU that the masters have used.
double server_cpu(RedisRouter& router) {
  RedisRequests info;
  info.add(0, Effect::reads, "INFO", "cpu");
  double seconds = 0;
  router
      .on_masters(info.bytes(0),
                  [&](const std::string&, const redisReply& reply) {
                    const std::string_view text(reply.str, reply.len);
                    for (const char* field : {"used_cpu_user", "used_cpu_sys"})
                      seconds += std::atof(std::string(info_field(text, field)).c_str());
                    return Result<void>();
                  })
      .value();
  return seconds;
}

template <class Work>
Pace timed(RedisSet& set, RedisRouter& router, std::size_t keys, Work&& work) {
  using Clock = std::chrono::steady_clock;
  const double cpu = server_cpu(router);
  const std::uint64_t before = set.router().commands();
  const auto start = Clock::now();
  work();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto count = static_cast<double>(keys);
  return {count / seconds, static_cast<double>(set.router().commands() - before) / count,
          (server_cpu(router) - cpu) / count * 1e6};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_redis URL KEYS RATE\n");
    return 2;
  }
  try {
    const std::size_t keys = std::strtoull(argv[2], nullptr, 10);
    RedisSet set = RedisSet::open_or_make(parse_redis_url(argv[1]).value(),
                                          {.want = {.keys = keys, .rate = std::atof(argv[3])}})
                       .value();
    const Hasher hasher = set.law().hasher;
    std::vector<Hash> members(keys), strangers(keys);
    for (std::size_t i = 0; i < keys; ++i) {
      members[i] = hasher(i);
      strangers[i] = hasher(i + keys);
    }
    const auto answers = std::make_unique<bool[]>(keys);
    const std::span<bool> told(answers.get(), keys);
    RedisRouter router = RedisRouter::connect(set.address()).value();
    const auto add = [&] { static_cast<void>(set.add_all(members).value()); };
    const Pace paces[] = {
        timed(set, router, keys, add), timed(set, router, keys, add),
        timed(set, router, keys, [&] { set.may_contain_all(members, told).value(); }),
        timed(set, router, keys, [&] { set.may_contain_all(strangers, told).value(); })};
    std::size_t passed = 0;
    for (const bool one : told) passed += one;
    for (const Pace& pace : paces)
      std::printf("%.0f %.5f %.4f ", pace.keys_per_second, pace.commands_per_key,
                  pace.server_us_per_key);
    std::printf("%.6f\n", static_cast<double>(passed) / static_cast<double>(keys));
    set.drop().value();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench_redis: %s\n", failure.what());
    return 2;
  }
  return 0;
}
