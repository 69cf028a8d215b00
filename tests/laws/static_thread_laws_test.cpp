// Static kinds are built and asked by any number of threads: the bytes and the answers are those of
// one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

using Keys = std::vector<std::uint64_t>;

Keys integers(std::uint64_t first, std::uint64_t count) {
  return numbered_keys<BinaryFuse>({}, first, count);
}

TEST(StaticThreadLaws, BulkMaskThreadsAndOneByOneGiveTheSameAnswers) {
  for_static_kinds([]<class K>() {
    for (const double rate : {0.3, 0.01, 1.0 / 256, 1e-3, 1e-6}) {
      const Set<K> set = Set<K>::build({.rate = rate}, integers(0, 20'000)).value();
      for (const std::size_t length : {0, 1, 63, 64, 65, 127, 128, 129, 1'000, 200'000}) {
        SCOPED_TRACE(testing::Message() << length << " at " << rate);
        const Keys asked = integers(length < 200'000 ? 19'900 : 0, length);
        Bools bools(length);
        const std::size_t there = set.may_contain_all(asked, bools);
        EXPECT_EQ(there, bools.count());
        std::vector<std::uint64_t> mask(words_for(length));
        EXPECT_EQ(set.may_contain_all(asked, mask), there);
        Bools by_threads(length);
        EXPECT_EQ(set.may_contain_all(asked, by_threads, Threads{3}), there);
        EXPECT_EQ(by_threads.copy(), bools.copy());
        EXPECT_EQ(set.count_may_contain(asked), there);
        for (std::size_t i = 0; i < length; ++i) {
          ASSERT_EQ(bools[i], set.may_contain(asked[i])) << i;
          ASSERT_EQ(bools[i], (mask[i / 64] >> (i % 64) & 1) != 0) << i;
        }
      }
    }
  });
}

// Also with repeats in an order of chance, under a bound of scratch. 2.2M keys are several shards.
TEST(StaticThreadLaws, ThreadsAndScratchDoNotChangeTheBytes) {
  for_static_kinds([]<class K>() {
    for (const std::uint64_t number : {1, 5, 700, 40'000, 2'200'000}) {
      SCOPED_TRACE(number);
      Keys keys = integers(0, number);
      const Want want{.rate = 0.01};
      const FileBytes alone = bits_of(Set<K>::build(want, keys).value());
      for (const unsigned threads : {2, 5})
        EXPECT_EQ(bits_of(Set<K>::build(want, keys, Hasher{}, Threads{threads}).value()), alone);
      Want capped = want;
      capped.scratch_bytes = std::uint64_t{40} << 20;
      EXPECT_EQ(bits_of(Set<K>::build(capped, keys, Hasher{}, Threads{2}).value()), alone);
      std::mt19937_64 random(number);
      std::shuffle(keys.begin(), keys.end(), random);
      for (std::uint64_t i = 0; i <= number / 2; ++i) keys.push_back(keys[random() % number]);
      EXPECT_EQ(bits_of(Set<K>::build(capped, keys, Hasher{}, Threads{2}).value()), alone);
    }
  });
}

}  // namespace
}  // namespace bloomery::detail
