// The counters that may be read while other threads add (docs/library.md): run under TSan.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <bloomery/bloomery.hpp>

namespace bloomery::detail {
namespace {

template <class K>
void counters_are_read_beside_adds(const Want& want) {
  Set<K> set(want);
  std::atomic<bool> ended = false;
  std::uint64_t before = 0;
  std::thread reader([&] {
    while (!ended) {
      const std::uint64_t now = set.adds();
      EXPECT_GE(now, before);
      before = now;
      EXPECT_LE(set.capacity(), std::uint64_t{1} << 40);
      static_cast<void>(set.overfull());  // a chain may be so for a moment while it grows
    }
  });
  std::vector<std::thread> adders;
  for (int first : {0, 1})
    adders.emplace_back([&set, first] {
      for (int n = first; n < 4'000; n += 2) set.add_shared(n);
    });
  for (std::thread& adder : adders) adder.join();
  ended = true;
  reader.join();
  EXPECT_GT(set.adds(), 3'900);
  EXPECT_LE(set.adds(), 4'000);
}

TEST(SharedCounters, ThreadsReadThemBesideAdds) {
  counters_are_read_beside_adds<Bitmap>({.range = {0, 9'999}});
  counters_are_read_beside_adds<BlockedBloom>({.keys = 5'000, .rate = 0.001});
  counters_are_read_beside_adds<CountingBloom>({.keys = 5'000, .rate = 0.001});
  counters_are_read_beside_adds<Sharded>({.keys = 5'000, .rate = 0.001});
  counters_are_read_beside_adds<BloomChain>({.keys = 500, .rate = 0.001});
  counters_are_read_beside_adds<Scalable>({.keys = 500, .rate = 0.001});
  counters_are_read_beside_adds<HashSet>(Want{});
}

}  // namespace
}  // namespace bloomery::detail
