// The cuckoo filter of RedisBloom without a server: its published bytes, its growth, and headers
// that lie.
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using bloomery::detail::served::AddOutcome;
using bloomery::detail::served::CompatCuckoo;
using bloomery::detail::served::FilterBody;

std::string key(int n) { return "key " + std::to_string(n); }

std::string bytes_of(const FilterBody& cuckoo) {
  std::string bytes;
  for (auto chunk = cuckoo.piece(1); chunk.next != 0; chunk = cuckoo.piece(chunk.next)) {
    bytes += chunk.bytes();
  }
  return bytes;
}

// Red means: a filter of ours is noise to RedisBloom, and the other way round.
TEST(CompatCuckoo, GivesThePublishedBytes) {
  auto cuckoo = CompatCuckoo::make({.capacity = 8});
  ASSERT_TRUE(cuckoo);
  EXPECT_EQ((*cuckoo)->add("item1"), AddOutcome::fresh);
  EXPECT_EQ(bytes_of(**cuckoo), std::string("\0\0\0\0\7\0\0\0", 8));
  EXPECT_EQ((*cuckoo)->piece(0).own,
            std::string("\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                        "\2\0\24\0\1\0",
                        38));
}

TEST(CompatCuckoo, NeverForgetsWhileItGrows) {
  auto cuckoo = CompatCuckoo::make({.capacity = 16, .expansion = 2});
  ASSERT_TRUE(cuckoo);
  for (int n = 0; n < 5000; ++n) EXPECT_EQ((*cuckoo)->add(key(n)), AddOutcome::fresh);
  for (int n = 0; n < 5000; ++n) EXPECT_TRUE((*cuckoo)->may_contain(key(n))) << n;
  EXPECT_EQ((*cuckoo)->fields().keys, 5000u);
  EXPECT_EQ((*cuckoo)->add_new(key(0)), AddOutcome::seen);
}

TEST(CompatCuckoo, AFailedAddLeavesItAsItWas) {
  auto cuckoo = CompatCuckoo::make({.capacity = 64, .expansion = 0});
  ASSERT_TRUE(cuckoo);
  int refused = 0;
  for (int n = 0; n < 200; ++n) {
    const std::string before = bytes_of(**cuckoo);
    if ((*cuckoo)->add(key(n)) != AddOutcome::full) continue;
    ++refused;
    EXPECT_EQ(bytes_of(**cuckoo), before);
  }
  EXPECT_GT(refused, 100);
}

TEST(CompatCuckoo, RemovingAndCompactingLosesNobodyElse) {
  constexpr std::uint64_t seed = 20260713;
  std::mt19937_64 chance(seed);
  auto cuckoo = CompatCuckoo::make({.capacity = 64, .bucket_size = 3, .expansion = 2});
  ASSERT_TRUE(cuckoo);
  std::map<int, std::uint64_t> copies;
  for (int round = 0; round < 20'000; ++round) {
    const int n = static_cast<int>(chance() % 1500);
    if (copies[n] > 0 && chance() % 2 == 0) {
      ASSERT_TRUE((*cuckoo)->remove(key(n))) << "seed " << seed;
      --copies[n];
    } else if (copies[n] < 4) {
      ASSERT_EQ((*cuckoo)->add(key(n)), AddOutcome::fresh) << "seed " << seed;
      ++copies[n];
    }
    if (round % 1000 == 0) (*cuckoo)->compact({.steps = UINT64_MAX});
  }
  std::uint64_t total = 0;
  for (const auto& [n, number] : copies) {
    EXPECT_GE((*cuckoo)->count(key(n)), number) << "seed " << seed;
    total += number;
  }
  EXPECT_EQ((*cuckoo)->fields().keys, total);
}

TEST(CompatCuckoo, GoesThroughHeaderAndChunks) {
  auto cuckoo = CompatCuckoo::make({.capacity = 50, .bucket_size = 4, .expansion = 3});
  ASSERT_TRUE(cuckoo);
  for (int n = 0; n < 1000; ++n) (*cuckoo)->add(key(n));
  auto twin = CompatCuckoo::from_header((*cuckoo)->piece(0).own, 1 << 20);
  ASSERT_TRUE(twin);
  for (auto chunk = (*cuckoo)->piece(1); chunk.next != 0; chunk = (*cuckoo)->piece(chunk.next)) {
    EXPECT_TRUE((*twin)->load_piece(chunk.next, chunk.bytes()));
  }
  EXPECT_EQ(bytes_of(**twin), bytes_of(**cuckoo));
  EXPECT_EQ((*twin)->piece(0).own, (*cuckoo)->piece(0).own);
  auto copy = (*cuckoo)->clone();
  ASSERT_TRUE(copy);
  EXPECT_EQ(bytes_of(*copy), bytes_of(**cuckoo));
}

TEST(CompatCuckoo, RefusesHeadersOfAnyOtherLength) {
  auto cuckoo = CompatCuckoo::make({.capacity = 8});
  ASSERT_TRUE(cuckoo);
  const std::string header = (*cuckoo)->piece(0).own + std::string(20, 'x');
  for (std::size_t length = 0; length <= header.size(); ++length) {
    const bool known = length == 38 || length == 46;
    EXPECT_EQ(CompatCuckoo::from_header(header.substr(0, length), 1000).has_value(), known)
        << length;
  }
}

// A header is held to a cap before anything is allocated; what passes works without harm.
TEST(CompatCuckoo, HeadersThatLieDoNoHarm) {
  constexpr std::uint64_t seed = 20260714;
  std::mt19937_64 chance(seed);
  auto small = CompatCuckoo::make({.capacity = 8});
  ASSERT_TRUE(small);
  const std::string good = (*small)->piece(0).own;
  const std::uint64_t extremes[] = {0, 1, 2, 4096, 1ull << 32, 1ull << 63, UINT64_MAX};
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string header = good;
    for (int changes = 1 + static_cast<int>(chance() % 3); changes > 0; --changes) {
      const std::size_t at = chance() % (header.size() - 8);
      if (chance() % 2 == 0) {
        std::memcpy(header.data() + at, &extremes[chance() % std::size(extremes)], 8);
      } else {
        header[at + chance() % 9] = static_cast<char>(chance());
      }
    }
    auto cuckoo = CompatCuckoo::from_header(header, 1 << 16);
    if (!cuckoo) continue;
    ++taken;
    EXPECT_LE((*cuckoo)->payload_bytes(), 1u << 16);
    static_cast<void>((*cuckoo)->load_piece(chance() % 100, "\1\2\3\4").has_value());
    for (int n = 0; n < 20; ++n) (*cuckoo)->add(key(n), 1 << 16);
    for (int n = 0; n < 40; ++n) (*cuckoo)->remove(key(n));
    (*cuckoo)->compact({.steps = UINT64_MAX});
  }
  EXPECT_GT(taken, 0) << "seed " << seed;
  EXPECT_LT(taken, 19'000) << "seed " << seed;
}

}  // namespace
