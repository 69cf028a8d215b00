// The native multiset behind CF.*: adds, counts and removals against a multiset of strings.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include <bloomery/served/native/native_cuckoo.hpp>

namespace bloomery::detail::served {
namespace {

const Hasher secret = Hasher::hardened({0x1111'2222'3333'4444, 0x5555'6666'7777'8888});

std::string key_of(std::uint64_t i) { return std::to_string(i).insert(0, "key:"); }
std::string stranger_of(std::uint64_t i) { return std::to_string(i).insert(0, "other:"); }

NativeCuckoo made(CuckooWant want) {
  want.hasher = secret;
  return NativeCuckoo::make(want).value();
}

NativeCuckoo reloaded(const NativeCuckoo& set) {
  auto chunk = set.piece(0);
  auto loaded = NativeCuckoo::load(chunk.bytes(), 0).value();
  for (chunk = set.piece(chunk.next); chunk.next != 0; chunk = set.piece(chunk.next))
    loaded.load_piece(0, chunk.bytes()).value();
  EXPECT_TRUE(loaded.is_whole());
  return loaded;
}

TEST(NativeCuckoo, GrownFromTheDefaultItKeepsItsRate) {
  auto set = made({});
  for (std::uint64_t i = 0; i < 200'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i))));
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    ASSERT_TRUE(set.may_contain(key_of(i)));
    passed += set.may_contain(stranger_of(i));
  }
  EXPECT_LE(passed, 200);  // at a thousandth of its most keys, far below 1 %
  EXPECT_LE(set.rate_now(), 0.01);
  EXPECT_EQ(set.items(), 200'000);
  EXPECT_LE(set.bits_per_key(), 30);
}

// Wherever the hash of the key lies: behind the last quotients of a table there is room as well.
TEST(NativeCuckoo, The255CopiesOfAnyKeyFit) {
  for (const std::uint64_t others : {0, 900, 20'000}) {
    auto filled = made({});
    for (std::uint64_t i = 0; i < others; ++i) ASSERT_TRUE(is_there(filled.add(stranger_of(i))));
    for (std::uint64_t i = 0; i < 1000; ++i) {
      auto set = filled.copy().value();
      for (int copies = 0; copies < 255; ++copies)
        ASSERT_TRUE(is_there(set.add(key_of(i)))) << key_of(i) << " beside " << others;
      ASSERT_EQ(set.count(key_of(i)), 255);
      ASSERT_EQ(set.add(key_of(i)), AddOutcome::full);
    }
  }
}

// As long as only members are removed: no member is denied, none is counted too low, and after the
// last removal nothing is there.
TEST(NativeCuckoo, DrivenAtRandomItAgreesWithAMultiset) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    auto set = made(
        {.rate = 0.05, .capacity = seed == 3 ? 40'000U : 1'024U, .expansion = seed == 3 ? 0U : 1U});
    std::map<std::string, std::uint64_t> truth;
    std::vector<std::string> members;  // each as often as it is there
    const auto check_all = [&] {
      for (const auto& [key, count] : truth) {
        ASSERT_GE(set.count(key), count) << key;
        ASSERT_EQ(set.may_contain(key), count != 0 || set.count(key) != 0) << key;
      }
    };
    for (int round = 0; round < 400; ++round) {
      const bool shrinks = round / 60 % 2 == 1;
      switch (random() % 10) {
        case 0: set = reloaded(set); break;
        case 1: {
          auto copy = set.copy().value();
          ASSERT_EQ(copy.digest(), set.digest());
          copy.add("only in the copy");
          break;
        }
        case 2:
          if (random() % 4 == 0) set.compact({.steps = UINT64_MAX});
          break;
        default:
          for (std::uint64_t n = random() % 400; n > 0; --n) {
            if (random() % 10 < (shrinks ? 8U : 2U) && !members.empty()) {
              std::swap(members[random() % members.size()], members.back());
              const std::string key = members.back();
              members.pop_back();
              ASSERT_TRUE(set.remove(key)) << key;
              --truth[key];
              continue;
            }
            const std::string key = key_of(random() % 20'000);
            const std::uint64_t before = truth[key];
            if (before > 200 || members.size() > 39'000) continue;
            if (random() % 3 == 0) {
              const AddOutcome added = set.add_nx(key);
              ASSERT_TRUE(is_there(added));
              if (before != 0) {
                ASSERT_EQ(added, AddOutcome::seen);
              }
              if (added == AddOutcome::seen) continue;
            } else {
              ASSERT_EQ(set.add(key), AddOutcome::fresh);
            }
            ++truth[key];
            members.push_back(key);
          }
      }
      ASSERT_EQ(set.items(), members.size());
      if (round % 25 == 24) check_all();
    }
    check_all();
    for (const std::string& key : members) ASSERT_TRUE(set.remove(key));
    EXPECT_EQ(set.items(), 0);
    for (const auto& [key, count] : truth) ASSERT_FALSE(set.may_contain(key));
    EXPECT_FALSE(set.remove(key_of(1)));
  }
}

// Removing strangers may take a member's prefix with it at the rate, but never more than one copy.
TEST(NativeCuckoo, AStrangerThatIsSurelyAbsentIsNotRemoved) {
  auto set = made({});
  for (std::uint64_t i = 0; i < 10'000; ++i) set.add(key_of(i));
  std::uint64_t removed = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const bool there = set.may_contain(stranger_of(i));
    ASSERT_EQ(set.remove(stranger_of(i)), there);
    removed += there;
  }
  EXPECT_EQ(set.items(), 10'000 - removed);
  EXPECT_EQ(set.info().removed, removed);
}

TEST(NativeCuckoo, ManyCopiesAreCountedUpToTheirLimit) {
  auto set = made({});
  for (std::uint64_t i = 0; i < 5'000; ++i) set.add(key_of(i));
  for (std::uint64_t copies = 1; copies < 255; ++copies) {
    ASSERT_EQ(set.count(key_of(7)), copies);
    ASSERT_EQ(set.add(key_of(7)), AddOutcome::fresh);
  }
  EXPECT_EQ(set.count(key_of(7)), 255);
  EXPECT_EQ(set.add(key_of(7)), AddOutcome::full);
  EXPECT_EQ(set.add_nx(key_of(7)), AddOutcome::seen);
  // Keys of the neighbourhood find room all the same.
  for (std::uint64_t i = 5'000; i < 50'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i)))) << i;
  for (std::uint64_t copies = 255; copies > 0; --copies) ASSERT_TRUE(set.remove(key_of(7)));
  EXPECT_EQ(set.count(key_of(7)), 0);
}

TEST(NativeCuckoo, AnyRateIsKeptWhileItGrows) {
  for (const double rate : {0.5, 0.1, 1e-4, 1e-9})
    for (const std::uint64_t capacity : {4, 100'000}) {
      auto set = made({.rate = rate, .capacity = capacity});
      for (std::uint64_t i = 0; i < 60'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i)))) << rate;
      EXPECT_LE(set.rate_now(), rate);
      for (std::uint64_t i = 0; i < 60'000; ++i) ASSERT_TRUE(set.remove(key_of(i)));
      EXPECT_EQ(set.items(), 0);
    }
  EXPECT_FALSE(NativeCuckoo::make({.rate = 1e-10}));
  EXPECT_FALSE(NativeCuckoo::make({.rate = 1e-9, .capacity = std::uint64_t{1} << 32}));
  EXPECT_FALSE(NativeCuckoo::make({.capacity = 0}));
}

TEST(NativeCuckoo, ManyAtOnceAreAsOneByOne) {
  auto one = made({}), many = made({});
  std::mt19937_64 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> keys(random() % 700);
    for (auto& key : keys) key = key_of(random() % 20'000);
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<AddOutcome> added(keys.size());
    const bool only_absent = round % 2 == 0;
    many.add_all(views, {.only_absent = only_absent}, added);
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(only_absent ? one.add_nx(keys[i]) : one.add(keys[i]), added[i]) << round;
  }
  EXPECT_EQ(one.digest(), many.digest());
}

TEST(NativeCuckoo, WithoutExpansionItIsFullAtItsCapacity) {
  for (const std::uint64_t capacity : {4, 1'000, 50'000}) {
    auto set = made({.capacity = capacity, .expansion = 0});
    for (std::uint64_t i = 0; i < capacity; ++i) ASSERT_TRUE(is_there(set.add(key_of(i)))) << i;
    EXPECT_EQ(set.add(key_of(capacity)), AddOutcome::full);
    EXPECT_LE(set.rate_now(), 0.01);
    ASSERT_TRUE(set.remove(key_of(0)));
    EXPECT_EQ(set.add(key_of(capacity)), AddOutcome::fresh);
  }
}

TEST(NativeCuckoo, ACapHoldsAndWhatWasAddedStays) {
  auto set = made({.memory_cap = 200'000});
  std::uint64_t i = 0;
  while (i < 1'000'000 && is_there(set.add(key_of(i)))) {
    ++i;
    ASSERT_LE(set.memory_bytes(), 200'000);
  }
  EXPECT_GT(i, 30'000);
  EXPECT_LT(i, 200'000);
  for (std::uint64_t j = 0; j < i; ++j) ASSERT_TRUE(set.may_contain(key_of(j)));
  EXPECT_EQ(set.add(key_of(i)), AddOutcome::no_memory);
}

TEST(NativeCuckoo, CompactedItIsSmallerAndTheSame) {
  auto set = made({});
  for (std::uint64_t i = 0; i < 100'000; ++i) set.add(key_of(i));
  for (std::uint64_t i = 10'000; i < 100'000; ++i) ASSERT_TRUE(set.remove(key_of(i)));
  const std::uint64_t before = set.memory_bytes();
  set.compact({.steps = UINT64_MAX});
  EXPECT_FALSE(set.unfinished());
  EXPECT_LT(set.memory_bytes(), before / 4);
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(set.count(key_of(i)), 1);
  for (std::uint64_t i = 10'000; i < 100'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i))));
}

}  // namespace
}  // namespace bloomery::detail::served
