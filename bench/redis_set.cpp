// A set on Redis servers: how fast keys are added and asked, for bench/redis.py.
//
//    bench_redis URL KEYS RATE
//
// One line of numbers: keys a second and commands a key of adding new keys, adding them again,
// asking members, asking strangers; then the rate of the strangers. The set is dropped at the end.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <bloomery/remote/redis_set.hpp>

namespace {

using namespace bloomery;

struct Pace {
  double keys_per_second;
  double commands_per_key;
};

template <class Work>
Pace timed(RedisSet& set, std::size_t keys, Work&& work) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t before = set.router().commands();
  const auto start = Clock::now();
  work();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto count = static_cast<double>(keys);
  return {count / seconds, static_cast<double>(set.router().commands() - before) / count};
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
    const auto add = [&] { static_cast<void>(set.add_all(members).value()); };
    const Pace paces[] = {timed(set, keys, add), timed(set, keys, add),
                          timed(set, keys, [&] { set.may_contain_all(members, told).value(); }),
                          timed(set, keys, [&] { set.may_contain_all(strangers, told).value(); })};
    std::size_t passed = 0;
    for (const bool one : told) passed += one;
    for (const Pace& pace : paces)
      std::printf("%.0f %.5f ", pace.keys_per_second, pace.commands_per_key);
    std::printf("%.6f\n", static_cast<double>(passed) / static_cast<double>(keys));
    set.drop().value();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench_redis: %s\n", failure.what());
    return 2;
  }
  return 0;
}
