// The growing chain: its rate over all links, its memory cap, and that growth loses nothing.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <bloomery/detail/sets/kinds/bloom_chain.hpp>
#include <bloomery/set.hpp>

namespace bloomery::detail {
namespace {

std::vector<Hash> hashes_of(std::uint64_t first, std::uint64_t count) {
  std::vector<Hash> hashes(count);
  for (std::uint64_t i = 0; i < count; ++i) hashes[i] = Hasher()(first + i);
  return hashes;
}

TEST(BloomChain, TotalRateStaysBelowTheAskedThroughManyLinks) {
  for (const double rate : {0.05, 0.01, 1e-3, 1e-5}) {
    SCOPED_TRACE(rate);
    auto chain = BloomChain::make({.keys = 2'000, .rate = rate}).value();
    const auto members = hashes_of(0, 100'000);
    // Measured whenever a link is about to be full, which is when the rate is highest.
    for (std::uint64_t done = 0; done < members.size(); done += 1'000) {
      ASSERT_TRUE(chain.add_all(std::span(members).subspan(done, 1'000), nullptr));
      ASSERT_LE(chain.rate_now(), rate * 1.05) << "after " << done;
      ASSERT_LE(chain.expected_rate_now(), rate) << "after " << done;
    }
    EXPECT_GE(chain.links(), 6);
    EXPECT_FALSE(chain.overfull());
    std::uint64_t passed = 0;
    for (const Hash stranger : hashes_of(1 << 30, 100'000)) passed += chain.may_contain(stranger);
    EXPECT_LE(static_cast<double>(passed) / 1e5, rate + 5 * std::sqrt(rate / 1e5));
    for (const Hash member : members) ASSERT_TRUE(chain.may_contain(member));
  }
}

TEST(BloomChain, LinksDoubleAndAreFilledBeforeTheNextBegins) {
  auto chain = BloomChain::make({.keys = 100, .rate = 0.01}).value();
  for (const Hash hash : hashes_of(0, 1'000)) chain.add(hash);
  ASSERT_EQ(chain.links(), 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(chain.link(i).capacity(), std::uint64_t{100} << i);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(chain.link(i).adds(), chain.link(i).capacity()) << "link " << i;
  EXPECT_EQ(chain.capacity(), 1'500);
}

TEST(BloomChain, AChainAtItsGuessHasOneLinkAndGrowsWithTheNextKey) {
  auto chain = BloomChain::make({.keys = 100, .rate = 1e-6}).value();
  for (const Hash hash : hashes_of(0, 100)) ASSERT_EQ(chain.add(hash), Added::fresh);
  EXPECT_EQ(chain.links(), 1);
  // A key that is there makes nothing grow.
  EXPECT_EQ(chain.add(hashes_of(0, 1)[0]), Added::seen);
  EXPECT_EQ(chain.links(), 1);
  EXPECT_EQ(chain.add(hashes_of(100, 1)[0]), Added::fresh);
  EXPECT_EQ(chain.links(), 2);
}

TEST(BloomChain, AKeyInAnyLinkIsSeen) {
  auto chain = BloomChain::make({.keys = 10, .rate = 1e-6}).value();
  const auto hashes = hashes_of(0, 2'000);
  for (const Hash hash : hashes) chain.add(hash);
  const std::uint64_t adds = chain.adds();
  for (const Hash hash : hashes) {
    ASSERT_EQ(chain.add(hash), Added::seen);
    ASSERT_EQ(chain.add_shared(hash), Added::seen);
  }
  EXPECT_EQ(chain.add_all(hashes, nullptr).value(), 0);
  EXPECT_EQ(chain.adds(), adds);
}

// Growth in the middle of a group, with keys of older links and doubles inside the group.
TEST(BloomChain, BatchesThatGrowTheChainGiveTheAnswersOfOneByOne) {
  for (const std::uint64_t first : {1, 10, 100, 255, 256, 257}) {
    SCOPED_TRACE(first);
    auto batch = BloomChain::make({.keys = first, .rate = 0.01}).value();
    auto single = BloomChain::make({.keys = first, .rate = 0.01}).value();
    std::vector<Hash> hashes;
    for (std::uint64_t i = 0; i < 3'000; ++i)
      hashes.push_back(Hasher()(i % 5 == 4 ? i / 3 : i % 7 == 6 ? i - 1 : i));
    const auto fresh = std::make_unique<bool[]>(hashes.size());
    const std::size_t count = batch.add_all(hashes, fresh.get()).value();
    std::size_t single_count = 0;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const bool is_new = single.add(hashes[i]) == Added::fresh;
      single_count += is_new;
      ASSERT_EQ(fresh[i], is_new) << i;
    }
    EXPECT_EQ(count, single_count);
    ASSERT_EQ(batch.links(), single.links());
    for (std::size_t i = 0; i < batch.links(); ++i) {
      const Part one = batch.link(i).part();
      const Part other = single.link(i).part();
      EXPECT_EQ(one.adds, other.adds);
      EXPECT_TRUE(std::ranges::equal(one.payload, other.payload)) << "link " << i;
    }
    const auto answers = std::make_unique<bool[]>(hashes.size());
    batch.may_contain_all(hashes, answers.get());
    for (std::size_t i = 0; i < hashes.size(); ++i) ASSERT_TRUE(answers[i]) << i;
  }
}

TEST(BloomChain, UnderAMemoryCapItOverfillsAndSaysSo) {
  const std::uint64_t cap = 8'000;
  auto chain = BloomChain::make({.keys = 1'000, .rate = 0.01, .memory_bytes = cap}).value();
  const auto members = hashes_of(0, 20'000);
  ASSERT_TRUE(chain.add_all(members, nullptr));
  EXPECT_LE(chain.bytes(), cap);
  EXPECT_TRUE(chain.overfull());
  for (const Hash member : members) ASSERT_TRUE(chain.may_contain(member));
  // The rate is far above what was asked, and it says so.
  std::uint64_t passed = 0;
  for (const Hash stranger : hashes_of(1 << 30, 20'000)) passed += chain.may_contain(stranger);
  const double measured = static_cast<double>(passed) / 20'000;
  EXPECT_GT(chain.rate_now(), 0.1);
  EXPECT_NEAR(chain.rate_now(), measured, 0.02);
}

TEST(BloomChain, StartsSmallWhenNobodyGuesses) {
  auto chain = BloomChain::make({.rate = 0.01}).value();
  EXPECT_LT(chain.bytes(), 128 * 1'024);
  EXPECT_GT(chain.capacity(), 10'000);
  // A cap below that start makes it smaller still.
  auto capped = BloomChain::make({.rate = 0.01, .memory_bytes = 4'096}).value();
  EXPECT_LE(capped.bytes(), 4'096);
}

TEST(BloomChain, UniteTakesTheLinksThatOnlyTheOtherHas) {
  const Want want{.keys = 100, .rate = 0.01};
  for (const auto& [mine, others] : {std::pair(50, 1'000), std::pair(1'000, 50)}) {
    auto one = BloomChain::make(want).value();
    auto other = BloomChain::make(want).value();
    ASSERT_TRUE(one.add_all(hashes_of(0, mine), nullptr));
    ASSERT_TRUE(other.add_all(hashes_of(1'000'000, others), nullptr));
    const std::size_t links = std::max(one.links(), other.links());
    one.unite(other).value();
    EXPECT_EQ(one.links(), links);
    for (const Hash hash : hashes_of(0, mine)) ASSERT_TRUE(one.may_contain(hash));
    for (const Hash hash : hashes_of(1'000'000, others)) ASSERT_TRUE(one.may_contain(hash));
    // And it grows on, without the other changing.
    const std::uint64_t adds = other.adds();
    ASSERT_TRUE(one.add_all(hashes_of(5'000'000, 5'000), nullptr));
    for (const Hash hash : hashes_of(5'000'000, 5'000)) ASSERT_TRUE(one.may_contain(hash));
    EXPECT_EQ(other.adds(), adds);
  }
}

// Two full chains merged hold twice the keys in the same links: the rate is above the one asked,
// and overfull() must say so.
TEST(BloomChain, TwoFullChainsMergedAreOverfull) {
  const Want want{.keys = 1'000, .rate = 0.01};
  auto one = BloomChain::make(want).value();
  auto other = BloomChain::make(want).value();
  ASSERT_TRUE(one.add_all(hashes_of(0, 1'500), nullptr));
  ASSERT_TRUE(other.add_all(hashes_of(1'000'000, 1'000), nullptr));
  EXPECT_FALSE(one.overfull());
  one.unite(other).value();
  EXPECT_GT(one.rate_now(), 0.01);
  EXPECT_TRUE(one.overfull());
}

TEST(BloomChain, IntersectionIsRefusedAsUnsound) {
  auto one = BloomChain::make({.keys = 100, .rate = 0.01}).value();
  auto refused = one.intersect(one);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsound);
}

// From link 13 on a share is below 1e-12, which no link can have. It takes more of what is left,
// and the chain goes on. (At 1e-6 from 1M keys the same comes at link 8, with 256M keys.)
TEST(BloomChain, GrowsOnWhereALinkCanNotHaveItsShare) {
  auto chain = BloomChain::make({.keys = 1, .rate = 1e-9}).value();
  const Hasher hasher;
  for (std::uint64_t key = 0; key < 100'000; ++key) chain.add(hasher(key));
  EXPECT_GE(chain.links(), 16);
  EXPECT_FALSE(chain.overfull());
  double rates = 0;
  for (std::size_t i = 0; i < chain.links(); ++i) rates += chain.link(i).rate_asked();
  EXPECT_LE(rates, 1e-9);
}

TEST(BloomChain, RefusesRatesThatLinksCanNotShare) {
  const auto refused = BloomChain::make({.keys = 1000, .rate = 2e-12});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::impossible);
}

TEST(BloomChain, TheLastLinkUnderACapTakesWhatIsLeftOfIt) {
  constexpr std::uint64_t cap = 200 * 1024;
  auto chain = BloomChain::make({.rate = 0.01, .memory_bytes = cap}).value();
  const Hasher hasher;
  for (std::uint64_t key = 0; key < 100'000; ++key) chain.add(hasher(key));
  EXPECT_LE(chain.bytes(), cap);
  EXPECT_GE(chain.bytes(), cap * 9 / 10);
  EXPECT_FALSE(chain.overfull());
  EXPECT_LE(chain.rate_now(), 0.01);
}

TEST(BloomChain, UnitingDoesNotPassTheCap) {
  auto small = BloomChain::make({.keys = 1000, .rate = 0.01, .memory_bytes = 2000}).value();
  auto large = BloomChain::make({.keys = 1000, .rate = 0.01}).value();
  for (std::uint64_t key = 0; key < 10'000; ++key) large.add(Hasher{}(key));
  const auto refused = small.unite(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::full);
  EXPECT_LE(small.bytes(), 2000);
}

}  // namespace
}  // namespace bloomery::detail
