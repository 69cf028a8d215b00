// Native sets of few keys: a list of hashes, then what they were planned as. Sizes around the step
// from one to the other, against sets of strings.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <bloomery/served/native/native_bloom.hpp>
#include <bloomery/served/native/native_cuckoo.hpp>

namespace bloomery::detail::served {
namespace {

const Hasher secret = Hasher::hardened({0x1111'2222'3333'4444, 0x5555'6666'7777'8888});

std::string key_of(std::uint64_t i) { return std::to_string(i).insert(0, "key:"); }

template <class Set>
Set reloaded(const Set& set) {
  auto chunk = set.piece(0);
  auto loaded = Set::load(chunk.bytes(), 0).value();
  for (chunk = set.piece(chunk.next); chunk.next != 0; chunk = set.piece(chunk.next))
    loaded.load_piece(0, chunk.bytes()).value();
  EXPECT_TRUE(loaded.is_whole());
  return loaded;
}

// A set that was copied, or saved and loaded, is the same in everything that it tells.
template <class Set>
void expect_twins(const Set& set) {
  for (const Set& twin : {reloaded(set), set.copy().value()}) {
    EXPECT_EQ(twin.digest(), set.digest());
    EXPECT_EQ(twin.memory_bytes(), set.memory_bytes());
    EXPECT_EQ(twin.items(), set.items());
  }
}

TEST(NativeFirst, ReservingTakesNoMemory) {
  for (const BloomWant& want :
       {BloomWant{}, BloomWant{.capacity = 1'000'000'000}, BloomWant{.window = 100'000'000},
        BloomWant{.capacity = 1'000'000'000, .nonscaling = true}}) {
    const auto set = NativeBloom::make(want).value();
    EXPECT_LT(set.memory_bytes(), 200);
    EXPECT_EQ(set.info().capacity, want.window != 0 ? want.window : want.capacity);
    EXPECT_FALSE(set.may_contain("a"));
    expect_twins(set);
  }
  EXPECT_LT(NativeCuckoo::make({.capacity = 1'000'000'000}).value().memory_bytes(), 200);
}

TEST(NativeFirst, BloomsOfEverySizeAnswerAndReload) {
  for (const BloomWant& want :
       {BloomWant{.hasher = secret}, BloomWant{.capacity = 5'000, .hasher = secret},
        BloomWant{.capacity = 40, .nonscaling = true, .hasher = secret},
        BloomWant{.capacity = 7, .nonscaling = true, .hasher = secret},
        BloomWant{.window = 1'000, .hasher = secret}}) {
    auto set = NativeBloom::make(want).value();
    auto replayed = NativeBloom::make(want).value();
    for (std::uint64_t i = 0; i < 150; ++i) {
      const bool full = want.nonscaling && set.items() == want.capacity;
      const AddOutcome added = set.add(key_of(i));
      ASSERT_EQ(added == AddOutcome::full, full) << i;
      if (full) break;
      ASSERT_NE(set.add(key_of(i)), AddOutcome::fresh);
      for (std::uint64_t j = 0; j <= i; ++j) ASSERT_TRUE(set.may_contain(key_of(j))) << i;
      const std::string keys[] = {key_of(i), key_of(i)};
      const std::string_view views[] = {keys[0], keys[1]};
      AddOutcome outcomes[2];
      EXPECT_EQ(replayed.add_all(views, UINT64_MAX, outcomes), 2);
      EXPECT_EQ(outcomes[1], AddOutcome::seen);
      EXPECT_EQ(replayed.digest(), set.digest());
      expect_twins(set);
    }
  }
}

TEST(NativeFirst, CuckoosOfEverySizeCountAndForget) {
  std::mt19937_64 random(7);
  auto set = NativeCuckoo::make({.hasher = secret}).value();
  std::map<std::string, std::uint64_t> copies;
  std::uint64_t items = 0;
  for (int step = 0; step < 4'000; ++step) {
    const std::string key = key_of(random() % 60);
    // More adds than removals up to the middle, then the other way round.
    const bool adds = random() % 100 < (step < 2'000 ? 60 : 40);
    if (adds) {
      ASSERT_TRUE(is_there(set.add(key)));
      ++copies[key], ++items;
    } else {
      ASSERT_EQ(set.remove(key), copies[key] != 0);
      if (copies[key] != 0) --copies[key], --items;
    }
    ASSERT_EQ(set.items(), items);
    ASSERT_EQ(set.count(key), copies[key]);
    if (step % 50 == 0 || (items > 120 && items < 135)) expect_twins(set);
  }
  EXPECT_EQ(NativeCuckoo::make({.expansion = 0}).value().most_items(), 1'024);
}

TEST(NativeFirst, AFullCuckooOfFewKeysSaysSo) {
  auto set = NativeCuckoo::make({.capacity = 20, .expansion = 0, .hasher = secret}).value();
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(set.add(key_of(static_cast<std::uint64_t>(i))), AddOutcome::fresh);
  EXPECT_EQ(set.add("one more"), AddOutcome::full);
  EXPECT_TRUE(set.remove(key_of(3)));
  EXPECT_EQ(set.add("one more"), AddOutcome::fresh);
}

TEST(NativeFirst, MergesOfListsAndOfWhatIsLaidOut) {
  for (const std::uint64_t capacity : {100, 5'000}) {
    for (const std::uint64_t mine : {0, 5, 40}) {
      for (const std::uint64_t theirs : {0, 5, 40}) {
        auto one = NativeBloom::make({.capacity = capacity, .hasher = secret}).value();
        auto other = NativeBloom::make({.capacity = capacity, .hasher = secret}).value();
        std::set<std::string> keys;
        for (std::uint64_t i = 0; i < mine; ++i) one.add(*keys.insert(key_of(i)).first);
        for (std::uint64_t i = 3; i < 3 + theirs; ++i) other.add(*keys.insert(key_of(i)).first);
        one.merge(other).value();
        for (const std::string& key : keys) EXPECT_TRUE(one.may_contain(key));
        EXPECT_EQ(one.items(), keys.size()) << mine << " " << theirs;
        expect_twins(one);
      }
    }
  }
  auto one = NativeBloom::make({.capacity = 5'000, .hasher = secret}).value();
  EXPECT_FALSE(one.merge(NativeBloom::make({.capacity = 6'000, .hasher = secret}).value()));
}

// A dump that began while the set was a list ends there, whatever the set became.
TEST(NativeFirst, AListThatGrowsWhileItIsDumped) {
  auto set = NativeBloom::make({.hasher = secret}).value();
  for (std::uint64_t i = 0; i < 10; ++i) set.add(key_of(i));
  const auto head = set.piece(0);
  for (std::uint64_t i = 10; i < 1'000; ++i) set.add(key_of(i));
  const auto loaded = NativeBloom::load(head.bytes(), 0).value();
  EXPECT_TRUE(loaded.is_whole());
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(loaded.may_contain(key_of(i)));
  EXPECT_EQ(set.piece(head.next).next, 0);
}

}  // namespace
}  // namespace bloomery::detail::served
