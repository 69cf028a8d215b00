// A kind with memory of its own: the ledger, parts, and moving.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <bloomery/detail/sets/kinds/bitmap.hpp>
#include <bloomery/detail/sets/kinds/blocked_bloom.hpp>
#include <bloomery/detail/sets/kinds/classic_bloom.hpp>
#include <bloomery/detail/sets/owned.hpp>

namespace bloomery::detail {
namespace {

Hash hash_of(std::uint64_t key) { return Hasher()(key); }

TEST(Owned, LedgerCountsWhatWasNew) {
  auto owned = Owned<BlockedBloom>::make({.keys = 100, .rate = 1e-6}).value();
  EXPECT_EQ(owned.capacity(), 100);
  EXPECT_EQ(owned.rate_asked(), 1e-6);
  EXPECT_EQ(owned.add(hash_of(1)), Added::fresh);
  EXPECT_EQ(owned.add(hash_of(1)), Added::seen);
  EXPECT_EQ(owned.add_shared(hash_of(2)), Added::fresh);
  const std::vector<Hash> hashes = {hash_of(2), hash_of(3), hash_of(4), hash_of(4)};
  EXPECT_EQ(owned.add_all(hashes, nullptr).value(), 2);
  EXPECT_EQ(owned.adds(), 4);
  EXPECT_EQ(owned.adds_shared(), 4);
  EXPECT_FALSE(owned.overfull());
}

TEST(Owned, ExactMapsCountAgainAfterEveryCombination) {
  const Want want{.range = {0, 99}};
  auto one = Owned<Bitmap>::make(want).value();
  auto other = Owned<Bitmap>::make(want).value();
  for (std::uint64_t n = 0; n < 10; ++n) one.add({n});
  for (std::uint64_t n = 5; n < 12; ++n) other.add({n});
  one.unite(other).value();
  EXPECT_EQ(one.adds(), 12);
  one.subtract(other).value();
  EXPECT_EQ(one.adds(), 5);
  one.exclusive(other).value();
  EXPECT_EQ(one.adds(), 12);
  one.intersect(other).value();
  EXPECT_EQ(one.adds(), 7);
  EXPECT_EQ(one.capacity(), 100);
  EXPECT_FALSE(one.overfull());
  one.fill();
  EXPECT_EQ(one.adds(), 100);
  EXPECT_FALSE(one.overfull());
}

// A filter at a high rate takes many new keys for old ones; it is overfull all the same.
TEST(Owned, OverfullIsNoticedThoughManyKeysWereTakenForOldOnes) {
  for (const double rate : {0.5, 0.1, 0.01}) {
    auto exactly = Owned<BlockedBloom>::make({.keys = 10'000, .rate = rate}).value();
    auto beyond = Owned<BlockedBloom>::make({.keys = 10'000, .rate = rate}).value();
    for (std::uint64_t key = 0; key < 10'000; ++key) exactly.add(Hasher{}(key));
    for (std::uint64_t key = 0; key < 12'000; ++key) beyond.add(Hasher{}(key));
    EXPECT_FALSE(exactly.overfull()) << rate;
    EXPECT_TRUE(beyond.overfull()) << rate;
  }
}

TEST(Owned, CommonKeysCountOnceWhenUnited) {
  const Want want{.keys = 1000, .rate = 0.01};
  auto one = Owned<BlockedBloom>::make(want).value();
  auto same = Owned<BlockedBloom>::make(want).value();
  for (std::uint64_t key = 0; key < 900; ++key) {
    one.add(Hasher{}(key));
    same.add(Hasher{}(key));
  }
  one.unite(same).value();
  EXPECT_NEAR(static_cast<double>(one.adds()), 900, 45);
  EXPECT_FALSE(one.overfull());
}

TEST(Owned, TheSetOfEverythingIsOverfull) {
  auto all = Owned<ClassicBloom>::make({.keys = 100, .rate = 0.01}).value();
  all.fill();
  EXPECT_TRUE(all.overfull());
}

TEST(Owned, FiltersAddTheirLedgersWhenUnited) {
  const Want want{.keys = 100, .rate = 0.01};
  auto one = Owned<ClassicBloom>::make(want).value();
  auto other = Owned<ClassicBloom>::make(want).value();
  for (std::uint64_t key = 0; key < 60; ++key) one.add(hash_of(key));
  for (std::uint64_t key = 100; key < 160; ++key) other.add(hash_of(key));
  one.unite(other).value();
  EXPECT_NEAR(static_cast<double>(one.adds()), 120, 12);
  EXPECT_TRUE(one.overfull());
  other.intersect(one).value();
  EXPECT_LE(other.adds(), 60);
}

TEST(Owned, APartIsPutTogetherAgainAndLentBytesAreCopied) {
  auto owned = Owned<ClassicBloom>::make({.keys = 100, .rate = 0.01}).value();
  owned.add(hash_of(1));
  auto copy = Owned<ClassicBloom>::from_part(owned.part());
  ASSERT_TRUE(copy) << copy.error().sentence;
  EXPECT_TRUE(copy->may_contain(hash_of(1)));
  EXPECT_EQ(copy->adds(), 1);
  EXPECT_EQ(copy->capacity(), 100);
  copy->add(hash_of(2));
  EXPECT_FALSE(owned.may_contain(hash_of(2)));
}

TEST(Owned, PartsOfAnotherKindShapeOrLengthAreRefused) {
  const auto owned = Owned<ClassicBloom>::make({.keys = 100, .rate = 0.01}).value();
  const auto code_of = [](Part part) {
    return Owned<ClassicBloom>::from_part(std::move(part)).error().code;
  };
  Part kind = owned.part();
  kind.kind = BlockedBloom::id.number;
  EXPECT_EQ(code_of(std::move(kind)), Code::mismatch);
  Part shape = owned.part();
  shape.shape.push_back(std::byte{0});
  EXPECT_EQ(code_of(std::move(shape)), Code::damaged);
  Part length = owned.part();
  length.payload = length.payload.first(64);
  EXPECT_EQ(code_of(std::move(length)), Code::damaged);
  Part zeros = owned.part();
  zeros.shape.assign(zeros.shape.size(), std::byte{0});
  EXPECT_EQ(code_of(std::move(zeros)), Code::damaged);

  Parts chain = owned.parts();
  chain.form = Form::chain;
  EXPECT_EQ(Owned<ClassicBloom>::from_parts(std::move(chain)).error().code, Code::mismatch);
}

TEST(Owned, KeepsLookingAtItsBytesWhenItMoves) {
  auto owned = Owned<BlockedBloom>::make({.keys = 100, .rate = 0.01}).value();
  owned.add(hash_of(1));
  auto moved = std::move(owned);
  moved.add(hash_of(2));
  EXPECT_TRUE(moved.may_contain(hash_of(1)));
  EXPECT_TRUE(moved.may_contain_shared(hash_of(2)));
  EXPECT_EQ(moved.part().payload.size(), moved.bytes());
}

TEST(Owned, UnlikeShapesNameTheFieldThatDiffers) {
  auto one = Owned<ClassicBloom>::make({.keys = 100, .rate = 0.01}).value();
  const auto other = Owned<ClassicBloom>::make({.keys = 100, .rate = 0.015}).value();
  auto refused = one.fits(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
  EXPECT_TRUE(refused.error().sentence.find("probes is 7 in one and 6") != std::string::npos ||
              refused.error().sentence.find("bits is ") != std::string::npos)
      << refused.error().sentence;
}

}  // namespace
}  // namespace bloomery::detail
