// A set cut into shards: the bits of blocked cut into pieces, all bits of a key in one shard, one
// owner a shard, and the saved form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/laws/law_keys.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(SharedAddable<Sharded> && Mergeable<Sharded> && Estimable<Sharded> &&
              Prefetchable<Sharded> && Batched<Sharded> && OneLined<Sharded>);

std::vector<std::uint64_t> integers(std::uint64_t first, std::uint64_t count) {
  return numbered_keys<Sharded>({}, first, count);
}

std::vector<std::byte> payload_of(const Parts& parts) {
  const auto bytes = parts.parts.at(0).payload;
  return {bytes.begin(), bytes.end()};
}

TEST(Sharded, WithOneLineIsABlockedFilterCutIntoPieces) {
  for (const std::uint32_t shards : {1, 2, 3, 7, 64, 1'000}) {
    SCOPED_TRACE(shards);
    const Sharded::Shape shape{.blocks = 5, .probes = 6, .lines = 1, .shards = shards};
    auto memory = Memory::make(Sharded::bytes(shape)).value();
    auto whole_memory = Memory::make(memory.size()).value();
    Sharded sharded(shape, memory.bytes());
    BlockedBloom whole({std::uint64_t{5} * shards, 6, 1}, whole_memory.bytes());
    for (std::uint64_t i = 0; i < 40 * shards; ++i) {
      const Hash hash = Hasher()(i);
      ASSERT_EQ(sharded.add(sharded.locate(hash)), whole.add(whole.locate(hash)));
      ASSERT_EQ(sharded.locate(hash).first / 5, sharded.shard_of(hash));
    }
    EXPECT_TRUE(std::ranges::equal(memory.bytes(), whole_memory.bytes()));
    EXPECT_EQ(sharded.rate_now(), whole.rate_now());
    EXPECT_EQ(sharded.estimate(), whole.estimate());
  }
}

TEST(Sharded, AllBitsOfAKeyLieInItsShard) {
  for (const std::uint32_t lines : {1, 2})
    for (const std::uint32_t shards : {1, 2, 3, 16, 100}) {
      const Sharded::Shape shape{.blocks = 7, .probes = 9, .lines = lines, .shards = shards};
      auto memory = Memory::make(Sharded::bytes(shape)).value();
      Sharded set(shape, memory.bytes());
      const std::size_t stride = 7 * 64;
      for (std::uint64_t i = 0; i < 300; ++i) {
        std::ranges::fill(memory.bytes(), std::byte{0});
        const Hash hash = Hasher()(i);
        set.add(set.locate(hash));
        const auto bytes = memory.bytes();
        for (std::size_t at = 0; at < bytes.size(); ++at)
          ASSERT_TRUE(bytes[at] == std::byte{0} || at / stride == set.shard_of(hash));
      }
    }
}

TEST(Sharded, ShardsAreSmallUnlessTheirNumberIsGiven) {
  for (const std::uint64_t keys : {1, 1'000, 52'000, 60'000, 1'000'000, 100'000'000}) {
    SCOPED_TRACE(keys);
    const auto shape = Sharded::plan({.keys = keys, .rate = 0.01}).value();
    const auto whole = BlockedBloom::plan({.keys = keys, .rate = 0.01}).value();
    EXPECT_LE(shape.blocks, 1'024);
    EXPECT_GE(shape.blocks * shape.shards, whole.blocks);
    EXPECT_LE(shape.blocks * shape.shards, whole.blocks + shape.shards);
    const auto fine = Sharded::plan({.keys = keys, .rate = 1e-6}).value();
    EXPECT_EQ(fine.lines, 2);
    EXPECT_LE(fine.blocks, 2'048);
    EXPECT_TRUE(fine.shards == 1 || fine.blocks > 1'024);
  }
  const auto given = Sharded::plan({.keys = 1'000'000, .rate = 0.01, .shards = 12}).value();
  EXPECT_EQ(given.shards, 12);
  const auto few = Sharded::plan({.keys = 1'000'000, .rate = 1e-6, .shards = 1'000});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, Code::impossible);
  EXPECT_NE(few.error().sentence.find("at most 59 shards"), std::string::npos)
      << few.error().sentence;
  EXPECT_FALSE(Sharded::plan({.keys = 10, .rate = 0.01, .shards = (1 << 24) + 1}));
}

// Both lines of a key see the load of one shard; the plan and the bits know it.
TEST(Sharded, TwoLinesInAShardHoldTheRate) {
  Set<Sharded> set({.keys = 300'000, .rate = 5e-5});
  EXPECT_GT(set.kind().shards(), 4);
  set.add_all(integers(0, 300'000));
  EXPECT_EQ(count_members(set, integers(0, 300'000)), 300'000);
  EXPECT_LE(set.rate_now(), 5e-5 * 1.05);
  EXPECT_NEAR(set.rate_now() / Sharded::expected_rate(set.kind().shape(), 300'000), 1, 0.06);
  const std::uint64_t asked = 2'000'000;
  const std::uint64_t passed = count_members(set, integers(1 << 30, asked));
  EXPECT_TRUE(is_likely(passed, asked, set.rate_now())) << passed;
}

TEST(Sharded, HandlesAddWhatTheSetWouldAndRefuseKeysOfOthers) {
  const Want want{.keys = 20'000, .rate = 0.01, .shards = 8};
  Set<Sharded> by_handles(want);
  Set<Sharded> plain(want);
  const auto keys = integers(0, 20'000);
  plain.add_all(keys);
  for (std::uint64_t number = 0; number < 8; ++number) {
    auto shard = by_handles.shard(number);
    EXPECT_EQ(shard.number(), number);
    std::vector<std::uint64_t> mine;
    std::uint64_t other = 0;
    for (const std::uint64_t key : keys)
      if (by_handles.shard_of(key) == number)
        mine.push_back(key);
      else
        other = key;
    for (std::size_t i = 0; i < 100; ++i) shard.add(mine[i]);
    shard.add_all(mine);
    for (const std::uint64_t key : mine) ASSERT_TRUE(shard.may_contain(key));
    EXPECT_THROW(shard.add(other), std::invalid_argument);
    EXPECT_THROW((void)shard.may_contain(other), std::invalid_argument);
    mine.push_back(other);
    EXPECT_THROW(shard.add_all(mine), std::invalid_argument);
  }
  EXPECT_EQ(bits_of(by_handles), bits_of(plain));
  EXPECT_EQ(by_handles.adds(), plain.adds());
  EXPECT_EQ(by_handles.rules(), plain.rules());
  EXPECT_THROW((void)by_handles.shard(8), std::out_of_range);
}

// One owner a shard: no lock, no atomic, and nothing lost. Two lines a key too.
TEST(Sharded, ThreadsWithAShardEachAddAtOnce) {
  for (const double rate : {0.01, 1e-5}) {
    SCOPED_TRACE(rate);
    const Want want{.keys = 150'000, .rate = rate, .shards = 4};
    Set<Sharded> set(want);
    const auto keys = integers(0, 150'000);
    std::vector<std::thread> threads;
    for (std::uint64_t number = 0; number < 4; ++number)
      threads.emplace_back([&, number] {
        auto shard = set.shard(number);
        for (const std::uint64_t key : keys)
          if (set.shard_of(key) == number) shard.add(key);
      });
    for (std::thread& thread : threads) thread.join();
    Set<Sharded> plain(want);
    plain.add_all(keys);
    EXPECT_EQ(bits_of(set), bits_of(plain));
    EXPECT_EQ(count_members(set, keys), keys.size());
    EXPECT_EQ(set.adds(), plain.adds());
    EXPECT_EQ(set.rules().form, KeyForm::u64);
  }
}

TEST(Sharded, IsSavedAsManyEqualBlockedSets) {
  Set<Sharded> set({.keys = 200'000, .rate = 0.01});
  set.add_all(integers(0, 200'000));
  const ScratchDirectory scratch;
  set.save(scratch / "set.blm");
  const auto image = open_image(scratch / "set.blm").value();
  ASSERT_EQ(image.parts.form, Form::sharded);
  ASSERT_EQ(image.parts.parts.size(), 1);
  const Part& part = image.parts.parts[0];
  EXPECT_EQ(part.kind, BlockedBloom::id.number);
  EXPECT_EQ(part.count, set.kind().shards());
  EXPECT_EQ(part.payload.size(), set.bytes());
  EXPECT_EQ(decode_shape<BlockedBloom>(part.shape)->blocks, set.kind().shape().blocks);

  // With one line a key it is the blocked set of all lines, byte for byte.
  auto whole_memory = Memory::make(set.bytes()).value();
  BlockedBloom whole({set.bytes() / 64, set.kind().shape().probes, 1}, whole_memory.bytes());
  for (const std::uint64_t key : integers(0, 200'000)) whole.add(whole.locate(Hasher()(key)));
  EXPECT_TRUE(std::ranges::equal(part.payload, whole_memory.bytes()));
}

TEST(Sharded, DamagedPartsAreRefused) {
  auto body = Owned<Sharded>::make({.keys = 1'000, .rate = 0.01, .shards = 4}).value();
  ASSERT_TRUE(Owned<Sharded>::from_parts(body.parts()));
  const auto refused = [&](auto&& change) {
    Parts parts = body.parts();
    change(parts);
    EXPECT_FALSE(Owned<Sharded>::from_parts(std::move(parts)));
  };
  refused([](Parts& parts) { parts.form = Form::single; });
  refused([](Parts& parts) { parts.parts[0].count = 0; });
  refused([](Parts& parts) { parts.parts[0].count = 3; });
  refused([](Parts& parts) { parts.parts[0].count = 8; });
  refused([](Parts& parts) { parts.parts[0].kind = 3; });
  refused([](Parts& parts) { parts.parts[0].payload = parts.parts[0].payload.first(64); });
  // Several sets side by side in a form that knows none.
  const ScratchDirectory scratch;
  Image image{.parts = body.parts(), .hasher = Hasher{}, .rules = {}};
  image.parts.form = Form::single;
  EXPECT_FALSE(save_image(scratch / "set.blm", image));
}

TEST(Sharded, DifferentNumbersOfShardsDoNotMerge) {
  Set<Sharded> four({.keys = 10'240, .rate = 0.01, .shards = 4});
  const Set<Sharded> eight({.keys = 20'480, .rate = 0.01, .shards = 8});
  auto refused = four.try_unite(eight);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
}

TEST(Sharded, FactsNameTheShards) {
  const auto set = AnySet::make("sharded", {.keys = 1'000, .rate = 0.01, .shards = 5}).value();
  bool found = false;
  for (const auto& [name, value] : set.shape_facts()) found |= name == "shards" && value == "5";
  EXPECT_TRUE(found);
  EXPECT_EQ(payload_of(set.parts().value()).size(), set.bytes());
}

}  // namespace
}  // namespace bloomery::detail
