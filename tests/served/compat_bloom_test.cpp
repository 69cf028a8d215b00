// The Bloom filter of RedisBloom without a server: its published bytes, its growth, and headers
// that lie.
#include <bloomery/served/redisbloom/compat_bloom.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using bloomery::Code;
using bloomery::detail::served::AddOutcome;
using bloomery::detail::served::CompatBloom;
using bloomery::detail::served::FilterBody;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

// The example on redis.io/commands/bf.scandump: rate 0.1, capacity 10, one key, item1.
const std::string golden_header = from_hex(
    "0100000000000000"
    "010000000500000002000000"
    "080000000000000040000000000000000100000000000000"
    "9a9999999999a93f4af7d49edef01840"
    "050000000a0000000000000000");
const std::string golden_bits = from_hex("0108008000042000");

std::string bits_of(const FilterBody& bloom) {
  std::string bits;
  for (auto chunk = bloom.piece(1); chunk.next != 0; chunk = bloom.piece(chunk.next)) {
    bits += chunk.bytes();
  }
  return bits;
}

std::string key(int n) { return "key " + std::to_string(n); }

// Red means: a filter of ours is noise to RedisBloom, and the other way round.
TEST(CompatBloom, GivesThePublishedBytes) {
  auto bloom = CompatBloom::make({.rate = 0.1, .capacity = 10});
  ASSERT_TRUE(bloom);
  EXPECT_EQ((*bloom)->add("item1"), AddOutcome::fresh);
  EXPECT_EQ((*bloom)->piece(0).own, golden_header);
  EXPECT_EQ(bits_of(**bloom), golden_bits);
  EXPECT_EQ((*bloom)->piece(9).next, 0u);
}

TEST(CompatBloom, TakesThePublishedBytes) {
  auto bloom = CompatBloom::from_header(golden_header, 1000);
  ASSERT_TRUE(bloom);
  EXPECT_FALSE((*bloom)->may_contain("item1"));
  EXPECT_TRUE((*bloom)->load_piece(9, golden_bits));
  EXPECT_TRUE((*bloom)->may_contain("item1"));
  EXPECT_FALSE((*bloom)->may_contain("item2"));
  EXPECT_EQ((*bloom)->keys(), 1u);
}

TEST(CompatBloom, NeverForgetsWhileItGrows) {
  auto bloom = CompatBloom::make({.rate = 0.01, .capacity = 4});
  ASSERT_TRUE(bloom);
  for (int n = 0; n < 5000; ++n) {
    EXPECT_LE((*bloom)->add(key(n)), AddOutcome::seen);
    EXPECT_EQ((*bloom)->add(key(n)), AddOutcome::seen);
  }
  for (int n = 0; n < 5000; ++n) EXPECT_TRUE((*bloom)->may_contain(key(n))) << n;
  EXPECT_EQ((*bloom)->links().size(), 11u);  // 4 * (2^11 - 1) = 8188 entries
}

// Not from a smaller capacity: the double hashing of the law repeats itself in links of few bits,
// and RedisBloom passes more strangers there than was asked.
TEST(CompatBloom, KeepsItsRateFromAThousandKeysOn) {
  auto bloom = CompatBloom::make({.rate = 0.01, .capacity = 1000});
  ASSERT_TRUE(bloom);
  for (int n = 0; n < 7000; ++n) (*bloom)->add(key(n));
  int strangers = 0;
  for (int n = 0; n < 100'000; ++n) strangers += (*bloom)->may_contain(key(n + 1'000'000));
  EXPECT_LT(strangers, 1000);
  EXPECT_NEAR((*bloom)->rate_now(), strangers / 100'000.0, 0.001);
}

TEST(CompatBloom, GoesThroughHeaderAndChunks) {
  auto bloom = CompatBloom::make({.rate = 0.001, .capacity = 100, .growth = 3});
  ASSERT_TRUE(bloom);
  for (int n = 0; n < 2000; ++n) (*bloom)->add(key(n));
  auto twin = CompatBloom::from_header((*bloom)->piece(0).own, 1 << 20);
  ASSERT_TRUE(twin);
  for (auto chunk = (*bloom)->piece(1); chunk.next != 0; chunk = (*bloom)->piece(chunk.next)) {
    EXPECT_TRUE((*twin)->load_piece(chunk.next, chunk.bytes()));
  }
  EXPECT_EQ((*twin)->piece(0).own, (*bloom)->piece(0).own);
  EXPECT_EQ(bits_of(**twin), bits_of(**bloom));
  auto copy = (*bloom)->clone();
  ASSERT_TRUE(copy);
  EXPECT_EQ(bits_of(*copy), bits_of(**bloom));
  bool there = false;
  const std::string first = key(0);
  const std::string_view asked = first;
  copy->may_contain_all({&asked, 1}, {&there, 1});
  EXPECT_TRUE(there);
}

TEST(CompatBloom, ChunksStayInsideTheirLink) {
  auto bloom = CompatBloom::make({.rate = 0.1, .capacity = 10});
  ASSERT_TRUE(bloom);
  const std::string nine(9, 'x');
  EXPECT_EQ((*bloom)->load_piece(0, "").error().code, Code::out_of_range);
  EXPECT_EQ((*bloom)->load_piece(9, nine).error().code, Code::out_of_range);
  EXPECT_EQ((*bloom)->load_piece(10, nine).error().code, Code::mismatch);
  EXPECT_EQ((*bloom)->load_piece(17, nine.substr(1)).error().code, Code::out_of_range);
  EXPECT_EQ((*bloom)->load_piece(UINT64_MAX, nine).error().code, Code::out_of_range);
  EXPECT_TRUE((*bloom)->load_piece(9, nine.substr(1)));
  EXPECT_EQ(bits_of(**bloom), nine.substr(1));
}

TEST(CompatBloom, IsFullOnlyWhenItMayNotGrow) {
  auto fixed = CompatBloom::make({.rate = 0.01, .capacity = 2, .scaling = false});
  ASSERT_TRUE(fixed);
  EXPECT_EQ((*fixed)->add("a"), AddOutcome::fresh);
  EXPECT_EQ((*fixed)->add("b"), AddOutcome::fresh);
  EXPECT_EQ((*fixed)->add("c"), AddOutcome::full);
  EXPECT_EQ((*fixed)->add("a"), AddOutcome::seen);
  EXPECT_EQ((*fixed)->links()[0].error, 0.01);

  auto stuck = CompatBloom::make({.rate = 0.01, .capacity = 1, .growth = 0});
  ASSERT_TRUE(stuck);
  EXPECT_EQ((*stuck)->add("a"), AddOutcome::fresh);
  EXPECT_EQ((*stuck)->add("b"), AddOutcome::refused);

  auto capped = CompatBloom::make({.rate = 0.01, .capacity = 100, .cap_bytes = 300});
  ASSERT_TRUE(capped);
  AddOutcome last = AddOutcome::fresh;
  for (int n = 0; n < 1000 && last <= AddOutcome::seen; ++n) last = (*capped)->add(key(n), 300);
  EXPECT_EQ(last, AddOutcome::no_memory);
  EXPECT_LE((*capped)->payload_bytes(), 300u);
}

TEST(CompatBloom, AChainEndsBeforeItsRateIsZero) {
  auto bloom = CompatBloom::make({.rate = 0.01, .capacity = 1, .growth = 1});
  ASSERT_TRUE(bloom);
  AddOutcome last = AddOutcome::fresh;
  for (int n = 0; n < 3000 && last <= AddOutcome::seen; ++n) last = (*bloom)->add(key(n));
  EXPECT_EQ(last, AddOutcome::refused);
  EXPECT_GT((*bloom)->links().size(), 1000u);
}

TEST(CompatBloom, RefusesWhatNoFilterCanBe) {
  for (const double rate : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_FALSE(CompatBloom::make({.rate = rate}));
  }
  EXPECT_FALSE(CompatBloom::make({.capacity = 0}));
  EXPECT_FALSE(CompatBloom::make({.rate = 1e-9, .capacity = UINT64_MAX}));
  EXPECT_FALSE(CompatBloom::make({.capacity = 1000, .cap_bytes = 1000}));
}

TEST(CompatBloom, RefusesHeadersOfAnyOtherLength) {
  for (std::size_t length = 0; length < golden_header.size(); ++length) {
    EXPECT_FALSE(CompatBloom::from_header(golden_header.substr(0, length), 1 << 20)) << length;
  }
  EXPECT_FALSE(CompatBloom::from_header(golden_header + "x", 1 << 20));
}

// A header is held to a cap before anything is allocated; what passes takes keys without harm.
TEST(CompatBloom, HeadersThatLieDoNoHarm) {
  constexpr std::uint64_t seed = 20260711;
  std::mt19937_64 chance(seed);
  const std::uint64_t extremes[] = {0, 1, 7, 1ull << 31, 1ull << 32, 1ull << 61, UINT64_MAX};
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string header = golden_header;
    const int changes = 1 + static_cast<int>(chance() % 3);
    for (int n = 0; n < changes; ++n) {
      const std::size_t at = chance() % (header.size() - 8);
      if (chance() % 2 == 0) {
        std::memcpy(header.data() + at, &extremes[chance() % std::size(extremes)], 8);
      } else {
        header[at] = static_cast<char>(chance());
      }
    }
    auto bloom = CompatBloom::from_header(header, 1 << 16);
    if (!bloom) continue;
    ++taken;
    EXPECT_LE((*bloom)->payload_bytes(), 1u << 16);
    static_cast<void>((*bloom)->load_piece(chance(), golden_bits).has_value());
    (*bloom)->add("a", 1 << 16);
    (*bloom)->may_contain("b");
    (*bloom)->capacity();
  }
  EXPECT_GT(taken, 0) << "seed " << seed;
  EXPECT_LT(taken, 10'000) << "seed " << seed;
}

}  // namespace
