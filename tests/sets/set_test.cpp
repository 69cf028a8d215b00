// The typed door, as a reader of the README would use it.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

TEST(Set, TheExampleOfTheReadmeWorks) {
  const ScratchDirectory scratch;
  const auto path = scratch / "seen.blm";
  const std::vector<std::uint64_t> keys = {1, 2, 3, 4, 5};
  bool answers[5];

  bloomery::Set<bloomery::BlockedBloom> seen({.keys = 1'000'000, .rate = 0.01});
  bool is_new = seen.add("http://example.org/");
  EXPECT_THROW((void)seen.may_contain(std::uint64_t{42}), bloomery::Failure);
  bloomery::Set<bloomery::BlockedBloom> numbers({.keys = 1'000'000, .rate = 0.01});
  bool maybe = numbers.may_contain(std::uint64_t{42});
  std::size_t fresh = numbers.add_all(std::span<const std::uint64_t>(keys));
  numbers.may_contain_all(std::span<const std::uint64_t>(keys), std::span<bool>(answers));
  EXPECT_TRUE(is_new);
  EXPECT_FALSE(maybe);
  EXPECT_EQ(fresh, 5);
  for (const bool answer : answers) EXPECT_TRUE(answer);
  EXPECT_FALSE(seen.add("http://example.org/"));

  bloomery::Set<bloomery::BlockedBloom> other({.keys = 1'000'000, .rate = 0.01});
  other.add("http://example.net/");
  seen.unite(other);
  EXPECT_TRUE(seen.may_contain("http://example.net/"));
  EXPECT_NEAR(seen.estimate(), 2, 0.5);
  EXPECT_LT(seen.rate_now(), 1e-6);
  EXPECT_GT(seen.bytes(), 1'000'000);

  seen.save(path);
  auto again = bloomery::Set<bloomery::BlockedBloom>::open(path);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->may_contain("http://example.org/"));

  bloomery::Set<bloomery::Bitmap> ips({.range = {0, 0xffffffff}});
  ips.add(167772161u);
  EXPECT_TRUE(ips.contains(167772161u));
  EXPECT_EQ(ips.count(), 1);
  std::vector<std::uint64_t> walked;
  ips.for_each([&](std::uint64_t ip) { walked.push_back(ip); });
  EXPECT_EQ(walked, std::vector<std::uint64_t>{167772161u});
  EXPECT_TRUE(ips.remove(167772161u));
  EXPECT_FALSE(ips.contains(167772161u));
}

TEST(Set, TextIsTheSameKeyInWhateverItComes) {
  Set<ClassicBloom> set({.keys = 100, .rate = 1e-6});
  EXPECT_TRUE(set.add("literal"));
  EXPECT_FALSE(set.add(std::string("literal")));
  EXPECT_FALSE(set.add(std::string_view("literal")));
  const char* pointer = "literal";
  EXPECT_FALSE(set.add(pointer));
  const std::string text = "literal";
  EXPECT_FALSE(set.add(std::as_bytes(std::span(text))));
  EXPECT_FALSE(set.add(set.hasher()("literal")));
  EXPECT_TRUE(set.may_contain(std::string_view("literal")));
  EXPECT_TRUE(set.may_contain_shared("literal"));
  EXPECT_TRUE(set.add(""));
  EXPECT_TRUE(set.may_contain(std::string()));
}

TEST(Set, SpansOfEverySortOfKeyAreTaken) {
  Set<SplitBlock> set({.keys = 1'000, .rate = 1e-6});
  const std::array<std::string_view, 2> views = {"a", "b"};
  const std::vector<std::string> strings = {"b", "c"};
  const std::vector<Hash> hashes = {set.hasher()("c"), set.hasher()("d")};
  const std::vector<int> integers = {-1, 0, 1};
  EXPECT_EQ(set.add_all(std::span<const std::string_view>(views)), 2);
  EXPECT_EQ(set.add_all(strings), 1);
  EXPECT_EQ(set.add_all(std::span<const Hash>(hashes)), 1);
  EXPECT_EQ(set.add_all(integers), 3);
  bool fresh[3] = {true, true, true};
  EXPECT_EQ(set.add_all(integers, fresh), 0);
  for (const bool answer : fresh) EXPECT_FALSE(answer);
  bool answers[2] = {};
  set.may_contain_all(strings, answers);
  EXPECT_TRUE(answers[0] && answers[1]);
}

TEST(Set, AnotherSeedOrSecretGivesOtherBits) {
  const Want want{.keys = 1'000, .rate = 0.01};
  Set<BlockedBloom> plain(want);
  Set<BlockedBloom> seeded(want, Hasher(1));
  Set<BlockedBloom> hardened(want, Hasher::hardened({1, 2}));
  for (std::uint64_t key = 0; key < 1'000; ++key) {
    plain.add(key);
    seeded.add(key);
    hardened.add(key);
  }
  // Hashes made by one are strangers to the others.
  std::size_t passed = 0;
  for (std::uint64_t key = 0; key < 1'000; ++key) {
    passed += seeded.may_contain(plain.hasher()(key));
    passed += hardened.may_contain(plain.hasher()(key));
    ASSERT_TRUE(hardened.may_contain(key));
  }
  EXPECT_LT(passed, 60);
}

TEST(Set, OpenRefusesAFileThatIsNotThere) {
  const ScratchDirectory scratch;
  const auto opened = Set<BlockedBloom>::open(scratch / "nowhere.blm");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::io);
}

TEST(Set, SaveIntoADirectoryThatIsNotThereIsThrownOrReturned) {
  const ScratchDirectory scratch;
  const Set<BlockedBloom> set({.keys = 100, .rate = 0.01});
  EXPECT_THROW(set.save(scratch / "no/such/seen.blm"), Failure);
  const auto saved = set.try_save(scratch / "no/such/seen.blm");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Code::io);
}

TEST(Set, MovedSetsKeepTheirKeys) {
  Set<HashSet> one({});
  one.add("a");
  Set<HashSet> moved = std::move(one);
  EXPECT_TRUE(moved.contains("a"));
  Set<BlockedBloom> filter({.keys = 100, .rate = 0.01});
  filter.add("a");
  Set<BlockedBloom> moved_filter = std::move(filter);
  EXPECT_TRUE(moved_filter.may_contain("a"));
  moved_filter.add("b");
  EXPECT_TRUE(moved_filter.may_contain("b"));
}

TEST(Set, BytesOfAnySpellingAreTheSameKey) {
  Set<BlockedBloom> seen({.keys = 100, .rate = 0.01});
  const std::vector<unsigned char> octets{'k', 'e', 'y'};
  EXPECT_TRUE(seen.add(octets));
  EXPECT_TRUE(seen.may_contain("key"));
  EXPECT_TRUE(seen.may_contain(std::as_bytes(std::span(octets))));
}

TEST(Set, OneIntegerOutsideTheRangeKeepsAllOut) {
  Set<Bitmap> map({.range = {0, 999}});
  std::vector<std::uint64_t> keys(300, 7);
  keys.back() = 1000;
  EXPECT_THROW(map.add_all(keys), std::out_of_range);
  EXPECT_EQ(map.count(), 0);
}

TEST(Set, SpansOfWritableKeysAreKeysToo) {
  Set<BlockedBloom> seen({.keys = 100, .rate = 0.01});
  std::vector<std::uint64_t> keys{1, 2, 3};
  EXPECT_EQ(seen.add_all(std::span<std::uint64_t>(keys)), 3);
}

// A set per user, partition or table file: what stands beside the bits must be small.
TEST(Set, ASmallSetIsSmall) {
  EXPECT_LE(sizeof(Set<BlockedBloom>), 200);
  EXPECT_LE(sizeof(Set<SplitBlock>), 160);
}

}  // namespace
}  // namespace bloomery::detail
