// The blocked kind beside what the memory system allows, on the same keys in the same run.
//
//    bench_roofline [KEYS]
//
// The roofline hashes each key and touches its cache line, 32 lines ahead, on huge pages: no set
// that makes one random access a key can be faster. Only the ratio to it counts; times move by a
// third from run to run on a shared machine.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace {

using namespace bloomery;
using Keys = std::vector<std::uint64_t>;

constexpr std::size_t ring_size = 32;

template <class Work>
double ns_per_key(std::size_t keys, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(keys);
}

// Hash, locate, call for the line; `touch` it when it has come.
template <class Touch>
void touch_lines(const Keys& keys, std::uint64_t blocks, std::uint64_t* words, Touch&& touch) {
  const Hasher hasher;
  std::array<std::uint64_t*, ring_size> ring{};
  const auto fetch = [&](std::size_t i) __attribute__((always_inline)) {
    ring[i % ring_size] = words + lanes_per_line * mulhi(hasher(keys[i]).bits, blocks);
    __builtin_prefetch(ring[i % ring_size], 1);
  };
  for (std::size_t i = 0; i < ring_size && i < keys.size(); ++i) fetch(i);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t* line = ring[i % ring_size];
    if (i + ring_size < keys.size()) fetch(i + ring_size);
    touch(line[i % lanes_per_line]);
  }
}

struct Row {
  double write_roof, read_roof, add_all, ask_all, ask_one;
};

Row measure(const Keys& keys) {
  Set<BlockedBloom> set({.keys = keys.size(), .rate = 0.01});
  Set<BlockedBloom> scratch({.keys = keys.size(), .rate = 0.01});
  // Every page is there before a clock starts.
  set.fill();
  set.intersect(scratch).value();
  const std::uint64_t blocks = set.kind().shape().blocks;
  auto memory = Memory::make(set.bytes()).value();
  auto* words = reinterpret_cast<std::uint64_t*>(memory.bytes().data());
  for (std::size_t i = 0; i < memory.size() / 8; i += 8) words[i] = i;
  const auto answers = std::make_unique<bool[]>(keys.size());
  std::uint64_t sum = 0;
  Row row{};
  row.write_roof = ns_per_key(
      keys.size(), [&] { touch_lines(keys, blocks, words, [](std::uint64_t& word) { ++word; }); });
  row.read_roof = ns_per_key(keys.size(), [&] {
    touch_lines(keys, blocks, words, [&](std::uint64_t& word) { sum += word; });
  });
  row.add_all = ns_per_key(keys.size(), [&] { sum += set.add_all(keys); });
  row.ask_all = ns_per_key(keys.size(), [&] {
    set.may_contain_all(keys, {answers.get(), keys.size()});
  });
  row.ask_one = ns_per_key(keys.size(), [&] {
    for (const std::uint64_t key : keys) sum += set.may_contain(key);
  });
  if (sum == 0) fmt::print("nothing was touched\n");
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000ULL;
  if (count == 0) {
    fmt::print(stderr, "usage: bench_roofline [KEYS]\n");
    return 2;
  }
  Keys keys(count);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * remix_constants[0];
  fmt::print("blocked, 1 %, {} integer keys, {} kernels; ns per key (ratio to the roofline)\n",
             count, kernels().name);
  for (int run = 0; run < 3; ++run) {
    const Row row = measure(keys);
    fmt::print(
        "roofline {:.1f} write {:.1f} read | add_all {:.1f} ({:.2f}) ask_all {:.1f} ({:.2f}) "
        "ask one by one {:.1f}\n",
        row.write_roof, row.read_roof, row.add_all, row.add_all / row.write_roof, row.ask_all,
        row.ask_all / row.read_roof, row.ask_one);
  }
}
