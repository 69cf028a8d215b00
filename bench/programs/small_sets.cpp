// Many small sets: a filter per user, partition or table file (docs/benchmarks.md "Small sets").
//
//    bench_small_sets [SETS] [KEYS]      100,000 sets of 100 keys by default
//
// What it takes to plan, to make and destroy, and to make, fill, ask and destroy one set.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace {

using bloomery::BlockedBloom;
using Filter = bloomery::Set<BlockedBloom>;

// Microseconds for one of `times`.
template <class Each>
double one_of(std::uint64_t times, Each&& each) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < times; ++i) each(i);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(times);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t sets = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const std::uint64_t keys = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  std::uint64_t answers = 0;
  std::printf("sizeof(Set<BlockedBloom>) %zu\n", sizeof(Filter));
  for (const double rate : {0.1, 0.01, 0.001, 1e-6, 1e-9}) {
    // A rate that was not seen before, each time.
    const double planned = one_of(sets / 10, [&](std::uint64_t i) {
      const double other = rate * (1 - 1e-9 * static_cast<double>(i));
      answers += BlockedBloom::plan({.keys = keys + i, .rate = other})->blocks;
    });
    const double made = one_of(sets, [&](std::uint64_t) {
      Filter set({.keys = keys, .rate = rate});
      answers += set.capacity();
    });
    const double used = one_of(sets, [&](std::uint64_t i) {
      Filter set({.keys = keys, .rate = rate});
      for (std::uint64_t key = 0; key < keys; ++key) set.add(i * keys + key);
      for (std::uint64_t key = 0; key < keys; ++key) answers += set.may_contain(i * keys + key);
    });
    std::printf(
        "rate %-6g plan %6.2f us   make, destroy %6.2f us   and fill, ask %6.2f us (%.2f s)\n",
        rate, planned, made, used, used * 1e-6 * static_cast<double>(sets));
  }
  return answers == 0;
}
