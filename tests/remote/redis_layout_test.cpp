#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <bloomery/detail/remote/redis_layout.hpp>
#include <bloomery/redis/slots.hpp>

namespace bloomery::detail {
namespace {

RedisLaw law_for(std::uint64_t keys, double rate = 0.01) {
  return plan_redis_law({.keys = keys, .rate = rate}).value();
}

void expect_same(const RedisLaw& one, const RedisLaw& other) {
  EXPECT_EQ(one.shape.blocks, other.shape.blocks);
  EXPECT_EQ(one.shape.probes, other.shape.probes);
  EXPECT_EQ(one.shape.lines, other.shape.lines);
  EXPECT_EQ(one.shard_blocks, other.shard_blocks);
  EXPECT_EQ(one.capacity, other.capacity);
  EXPECT_EQ(one.rate, other.rate);
  EXPECT_EQ(one.hasher, other.hasher);
  EXPECT_EQ(one.key_is_elsewhere, other.key_is_elsewhere);
  EXPECT_EQ(one.strip_cr, other.strip_cr);
  EXPECT_EQ(one.normalisation, other.normalisation);
  EXPECT_EQ(one.made_from, other.made_from);
  EXPECT_EQ(one.making, other.making);
  EXPECT_EQ(one.expires_at, other.expires_at);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(RedisLayout, ALawIsReadBackAsItWasWritten) {
  const SecretKey key{0x0123456789abcdef, 7};
  for (const std::uint64_t keys : {1ull, 1000ull, 1'000'000ull, 10'000'000'000ull})
    for (const double rate : {0.3, 0.01, 1.0 / 3000})
      for (const bool flag : {false, true}) {
        RedisLaw law = law_for(keys, rate);
        law.strip_cr = flag;
        law.normalisation = flag ? "url/1" : "";
        law.made_from = flag ? "--csv --column '100% %20 =x' -t '\\x09'" : "";
        law.making = flag ? RedisMaking::upload : RedisMaking::reserve;
        law.expires_at = flag ? 1'800'000'000'123 : 0;
        for (const std::uint64_t seed : {std::uint64_t{0}, ~std::uint64_t{0}}) {
          law.hasher = Hasher(seed);
          expect_same(decode_law(encode_law(law), nullptr).value(), law);
        }
        law.hasher = Hasher::hardened(key);
        expect_same(decode_law(encode_law(law), nullptr).value(), law);
        law.key_is_elsewhere = true;
        expect_same(decode_law(encode_law(law), &key).value(), law);
      }
}

TEST(RedisLayout, AKeyThatIsElsewhereIsNotStoredAndMustBeRight) {
  const SecretKey key{0x0123456789abcdef, 0xfedcba9876543210};
  RedisLaw law = law_for(1000);
  law.hasher = Hasher::hardened(key);
  law.key_is_elsewhere = true;
  const std::string text = encode_law(law);
  EXPECT_EQ(text.find("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(text.find("fedcba9876543210"), std::string::npos);
  const SecretKey other{1, 2};
  EXPECT_EQ(decode_law(text, nullptr).error().code, Code::mismatch);
  EXPECT_EQ(decode_law(text, &other).error().code, Code::mismatch);
  const auto places = decode_places(text);
  ASSERT_TRUE(places);
  EXPECT_EQ(places->shards(), law.shards());
  // A key for a set that has none is a mistake, too.
  EXPECT_EQ(decode_law(encode_law(law_for(1000)), &key).error().code, Code::mismatch);
}

TEST(RedisLayout, RefusesALawThatCanNotBe) {
  RedisLaw law = law_for(1'000'000);
  const std::string text = encode_law(law);
  const std::string blocks = "blocks=" + std::to_string(law.shape.blocks);
  const std::string probes = "probes=" + std::to_string(law.shape.probes);
  const std::string shard_blocks = "shard_blocks=" + std::to_string(law.shard_blocks);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {blocks, "blocks=0"},
      {blocks, "blocks=18446744073709551615"},
      {blocks, "blocks=18446744073709551616"},
      {blocks, "blocks=-1"},
      {blocks, "blocks=1e6"},
      {blocks, "blocks= "},
      {blocks + " ", ""},
      {blocks, blocks + " " + blocks},
      {probes, "probes=0"},
      {probes, "probes=1000"},
      {probes, "probes=4294967296"},
      {shard_blocks, "shard_blocks=0"},
      {shard_blocks, "shard_blocks=1024"},
      {shard_blocks, "shard_blocks=1000000000000"},
      {"capacity=1000000", "capacity=0"},
      {"capacity=1000000", "capacity=many"},
      {"rate=0.01", "rate=0"},
      {"rate=0.01", "rate=1"},
      {"rate=0.01", "rate=nan"},
      {"rate=0.01", "rate=-inf"},
      {"hash=xxh3-64", "hash=md5"},
      {"hash=xxh3-64", "hash=siphash-1-3 key=12"},
      {"seed=0", "seed=x"},
      {"seed=0", ""},
      {"strip_cr=0", "strip_cr=2"},
      {"making=reserve", "making=magic"},
      {"expires_at=0", "expires_at=soon"},
      {"expires_at=0", "expires"},
      {"blocked ", "ribbon "},
      {"blocked ", ""},
  };
  for (const auto& [from, to] : changes) {
    const std::string bad = replaced(text, from, to);
    EXPECT_FALSE(decode_law(bad, nullptr)) << bad;
  }
  EXPECT_FALSE(decode_law("", nullptr));
  EXPECT_FALSE(decode_law("blocked", nullptr));
}

TEST(RedisLayout, WhateverIsReadIsSound) {
  constexpr unsigned seed = 20260;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string text = encode_law(law_for(1'000'000));
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bad = text;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0: bad[at] = static_cast<char>(random()); break;
        case 1: bad.erase(at, 1 + random() % 8); break;
        default: bad.insert(at, 1, "0123456789 =-."[random() % 14]);
      }
      if (bad.empty()) break;
    }
    const auto law = decode_law(bad, nullptr);
    refused += !law;
    if (!law) continue;
    EXPECT_GE(law->shards(), 1u) << bad;
    EXPECT_LE(law->bytes_of(0), 65536u) << bad;
    EXPECT_EQ(law->shape.lines, 1u);
    EXPECT_TRUE(law->rate > 0 && law->rate < 1) << bad;
  }
  EXPECT_GT(refused, 5000u);
}

TEST(RedisLayout, ShardsTogetherHaveAllBlocks) {
  for (const std::uint64_t keys : {1ull, 100ull, 50'000ull, 3'000'000ull, 100'000'000ull}) {
    const RedisLaw law = law_for(keys);
    std::uint64_t blocks = 0;
    for (std::uint64_t shard = 0; shard < law.shards(); ++shard) {
      EXPECT_GE(law.blocks_of(shard), 1u);
      EXPECT_LE(law.bytes_of(shard), 65536u);
      EXPECT_EQ(law.bytes_of(shard), law.blocks_of(shard) * 64 + 1);
      blocks += law.blocks_of(shard);
    }
    EXPECT_EQ(blocks, law.shape.blocks);
  }
}

TEST(RedisLayout, ShardsLieInTheSlotsTheyAreSaidTo) {
  for (const std::uint64_t shards : {1ull, 3ull, 64ull, 1000ull, 40'000ull}) {
    RedisNames names("seen", 12, shards);
    std::map<unsigned, std::uint64_t> in_slot;
    std::set<std::string> all;
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      const std::string name(names.shard(shard));
      ASSERT_EQ(slot_of(name), names.slot(shard));
      ASSERT_LT(names.slot(shard), cluster_slots);
      EXPECT_TRUE(name.starts_with("seen.g12:{")) << name;
      all.insert(name);
      ++in_slot[names.slot(shard)];
    }
    EXPECT_EQ(all.size(), shards);
    for (const auto& [slot, count] : in_slot)
      EXPECT_LE(count, (shards + cluster_slots - 1) / cluster_slots);
  }
  EXPECT_EQ(redis_meta_key("seen"), "{seen}:meta");
}

}  // namespace
}  // namespace bloomery::detail
