// The native set behind BF.*: growth, rate, bits a key, windows, merges, against a set of strings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <bloomery/detail/bits/memory.hpp>

#include <bloomery/served/native/native_bloom.hpp>

namespace bloomery::detail::served {
namespace {

const Hasher secret = Hasher::hardened({0x1111'2222'3333'4444, 0x5555'6666'7777'8888});

std::string key_of(std::uint64_t i) { return std::to_string(i).insert(0, "key:"); }
std::string stranger_of(std::uint64_t i) { return std::to_string(i).insert(0, "other:"); }

NativeBloom made(BloomWant want) {
  want.hasher = secret;
  return NativeBloom::make(want).value();
}

double rate_of(const NativeBloom& set, std::uint64_t strangers) {
  std::uint64_t passed = 0;
  for (std::uint64_t i = 0; i < strangers; ++i) passed += set.may_contain(stranger_of(i));
  return static_cast<double>(passed) / static_cast<double>(strangers);
}

std::uint64_t missing(const NativeBloom& set, std::uint64_t keys, std::uint64_t step = 1) {
  std::uint64_t missing = 0;
  for (std::uint64_t i = 0; i < keys; i += step) missing += !set.may_contain(key_of(i));
  return missing;
}

// Through all chunks; the set changes nothing on the way.
NativeBloom reloaded(const NativeBloom& set) {
  auto chunk = set.piece(0);
  auto loaded = NativeBloom::load(chunk.bytes(), 0).value();
  for (chunk = set.piece(chunk.next); chunk.next != 0; chunk = set.piece(chunk.next)) {
    EXPECT_FALSE(loaded.is_whole());
    EXPECT_LE(chunk.bytes().size(), most_chunk_bytes);
    loaded.load_piece(0, chunk.bytes()).value();
  }
  EXPECT_TRUE(loaded.is_whole());
  return loaded;
}

TEST(NativeBloom, GrownFromTheDefaultItKeepsItsRateAndItsSize) {
  auto set = made({});
  std::uint64_t next_look = 1'000;
  for (std::uint64_t i = 0; i < 600'000; ++i) {
    ASSERT_TRUE(is_there(set.add(key_of(i))));
    if (i >= 10'000) {
      ASSERT_LE(static_cast<double>(set.memory_bytes()) * 8, 24.0 * static_cast<double>(i)) << i;
    }
    if (i + 1 != next_look) continue;
    ASSERT_EQ(missing(set, i + 1, std::max<std::uint64_t>(1, i / 20'000)), 0) << i;
    EXPECT_LE(set.rate_now(), 0.01);
    next_look = next_look * 3 / 2;
  }
  EXPECT_EQ(missing(set, 600'000), 0);
  const double told = set.rate_now();
  EXPECT_NEAR(rate_of(set, 200'000), told, 5 * std::sqrt(told / 200'000));
  EXPECT_LE(told, 0.01);
  EXPECT_LE(set.items(), 600'000);
  EXPECT_GE(set.items(), 594'000);
  EXPECT_GE(set.info().capacity, set.items());
  EXPECT_GT(set.info().filters, 8);
}

// Counts the bytes of tables, and the most that there ever were.
struct Meter {
  static inline std::uint64_t now = 0;
  static inline std::uint64_t most = 0;
  static void* take(std::size_t bytes) {
    auto* room = static_cast<std::uint64_t*>(std::calloc(1, bytes + 64));
    if (room == nullptr) return nullptr;
    room[0] = bytes;
    now += bytes;
    most = std::max(most, now);
    return room + 8;
  }
  static void give_back(void* bytes) {
    auto* room = static_cast<std::uint64_t*>(bytes) - 8;
    now -= room[0];
    std::free(room);
  }
};

TEST(NativeBloom, AlsoWhileAShardIsLaidOutAnewItKeepsItsSize) {
  Memory::lend_from({Meter::take, Meter::give_back});
  auto set = made({});
  for (std::uint64_t i = 0; i < 10'000; ++i) set.add(key_of(i));
  double most = 0;
  for (std::uint64_t i = 10'000; i < 300'000; ++i) {
    Meter::most = Meter::now;
    set.add(key_of(i));
    // What lies beside the tables, too.
    const double beside = static_cast<double>(set.memory_bytes()) - static_cast<double>(Meter::now);
    most = std::max(most, 8 * (static_cast<double>(Meter::most) + beside) / static_cast<double>(i));
  }
  Memory::lend_from({});
  EXPECT_LE(most, 24);
  EXPECT_GE(most, 17);
}

TEST(NativeBloom, ReservedItIsSmallAndGrowsOnBeyond) {
  auto set = made({.rate = 0.01, .capacity = 100'000});
  for (std::uint64_t i = 0; i < 100'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i))));
  EXPECT_EQ(set.info().filters, 1);
  EXPECT_LE(set.bits_per_key(), 10.5);
  EXPECT_LE(rate_of(set, 200'000), 0.01);
  for (std::uint64_t i = 100'000; i < 400'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i))));
  EXPECT_EQ(missing(set, 400'000), 0);
  EXPECT_LE(set.rate_now(), 0.01);
  EXPECT_LE(rate_of(set, 200'000), 0.0102);
  EXPECT_LE(set.bits_per_key(), 24);
}

TEST(NativeBloom, WithoutScalingItIsFullAtItsCapacityAndNotBefore) {
  for (const std::uint64_t capacity : {1, 50, 10'000}) {
    auto set = made({.rate = 0.01, .capacity = capacity, .nonscaling = true});
    std::uint64_t i = 0;
    while (set.items() < capacity) ASSERT_TRUE(is_there(set.add(key_of(i++))));
    EXPECT_EQ(set.add(key_of(0)), AddOutcome::seen);
    std::uint64_t full = 0;
    for (std::uint64_t j = 0; j < 1000; ++j) full += set.add(stranger_of(j)) == AddOutcome::full;
    EXPECT_GE(full, 950);
    EXPECT_EQ(set.items(), capacity);
    EXPECT_EQ(missing(set, i), 0);
  }
}

TEST(NativeBloom, ManyAtOnceAreAsOneByOne) {
  for (const BloomWant& want :
       {BloomWant{}, BloomWant{.capacity = 5'000}, BloomWant{.capacity = 3'000, .nonscaling = true},
        BloomWant{.window = 2'000}}) {
    auto one = made(want), many = made(want);
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::string> keys(random() % 700);
      for (auto& key : keys) key = key_of(random() % 30'000);
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      std::vector<AddOutcome> outcomes(keys.size());
      const std::size_t answered = many.add_all(views, UINT64_MAX, outcomes);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const AddOutcome added = one.add(keys[i]);
        ASSERT_LT(i, answered);
        ASSERT_EQ(outcomes[i], added) << round << " " << i;
        if (is_there(added)) continue;
        ASSERT_EQ(answered, i + 1);
        break;
      }
      auto answers = std::make_unique<bool[]>(keys.size() + 1);
      many.may_contain_all(views, {answers.get(), keys.size()});
      for (std::size_t i = 0; i < keys.size(); ++i)
        ASSERT_EQ(answers[i], one.may_contain(keys[i])) << round << " " << i;
    }
    EXPECT_EQ(one.digest(), many.digest());
    EXPECT_EQ(one.items(), many.items());
  }
}

TEST(NativeBloom, AWindowSurelyRemembersTheLastAddsAndForgetsOldOnes) {
  auto set = made({.rate = 0.01, .window = 10'000});
  std::deque<std::string> last;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    set.add(key_of(i));
    last.push_back(key_of(i));
    if (last.size() > 10'000) last.pop_front();
    if (i % 3'001 == 0) {
      for (const auto& key : last) ASSERT_TRUE(set.may_contain(key)) << i << " " << key;
      set = reloaded(set);
    }
  }
  std::uint64_t old = 0;
  for (std::uint64_t i = 0; i < 40'000; ++i) old += set.may_contain(key_of(i));
  EXPECT_LE(old, 600);
  EXPECT_LE(rate_of(set, 100'000), 0.0105);
  EXPECT_EQ(set.want().window, 10'000);
}

// Adds, asks, dumps, loads, clones and merges at random: no member is ever denied.
TEST(NativeBloom, DrivenAtRandomItDeniesNoMember) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const BloomWant want{.rate = seed % 2 == 0 ? 0.001 : 0.05,
                         .capacity = seed < 3 ? 100U : 20'000U};
    auto set = made(want);
    std::set<std::string> truth;
    std::uint64_t fresh = 0;
    for (int round = 0; round < 300; ++round) {
      switch (random() % 12) {
        case 0: set = reloaded(set); break;
        case 1: {
          auto copy = set.copy().value();
          ASSERT_EQ(copy.digest(), set.digest());
          copy.add("only in the copy");
          set = set.copy().value();
          break;
        }
        case 2: {
          auto other = made(want);
          for (std::uint64_t n = random() % 3'000; n > 0; --n) {
            const std::string key = key_of(random() % 1'000'000);
            other.add(key);
            truth.insert(key);
          }
          set.merge(other).value();
          fresh = set.items();
          break;
        }
        default:
          for (std::uint64_t n = random() % 600; n > 0; --n) {
            const std::string key = key_of(random() % 1'000'000);
            const AddOutcome added = set.add(key);
            ASSERT_TRUE(is_there(added));
            if (truth.contains(key)) {
              ASSERT_EQ(added, AddOutcome::seen);
            }
            truth.insert(key);
            fresh += added == AddOutcome::fresh;
          }
      }
      ASSERT_EQ(set.items(), fresh);
      if (round % 20 == 19) {
        for (const auto& key : truth) ASSERT_TRUE(set.may_contain(key)) << round;
      }
    }
  }
}

TEST(NativeBloom, MergedItHoldsBothAndTellsItsRate) {
  for (const std::uint64_t capacity : {100, 50'000}) {
    auto one = made({.capacity = capacity}), other = made({.capacity = capacity});
    for (std::uint64_t i = 0; i < 60'000; ++i) one.add(key_of(i));
    for (std::uint64_t i = 40'000; i < 200'000; ++i) other.add(key_of(i));
    for (const bool into_larger : {false, true}) {
      auto both = (into_larger ? other : one).copy().value();
      both.merge(into_larger ? one : other).value();
      EXPECT_EQ(missing(both, 200'000), 0);
      const double told = both.rate_now();
      const double measured = rate_of(both, 100'000);
      EXPECT_NEAR(measured, told, 0.1 * told + 5 * std::sqrt(told / 100'000));
      EXPECT_GE(told, std::max(one.rate_now(), other.rate_now()));
      // And goes on growing.
      for (std::uint64_t i = 200'000; i < 220'000; ++i) ASSERT_TRUE(is_there(both.add(key_of(i))));
      EXPECT_EQ(missing(both, 220'000), 0);
      EXPECT_TRUE(reloaded(both).is_whole());
    }
  }
}

TEST(NativeBloom, OnlyWhatIsAlikeMerges) {
  auto set = made({.capacity = 10'000});
  EXPECT_FALSE(set.merge(made({.capacity = 20'000})));
  EXPECT_FALSE(set.merge(made({.capacity = 100})));
  EXPECT_FALSE(set.merge(made({.window = 100})));
  EXPECT_FALSE(set.merge(NativeBloom::make({.capacity = 10'000}).value()));
  EXPECT_TRUE(set.merge(made({.capacity = 10'000})));
}

TEST(NativeBloom, ACapHoldsAndWhatWasAddedStays) {
  auto set = made({.memory_cap = 100'000});
  std::uint64_t i = 0;
  while (i < 1'000'000 && is_there(set.add(key_of(i)))) {
    ++i;
    ASSERT_LE(set.memory_bytes(), 100'000);
  }
  EXPECT_GT(i, 30'000);
  EXPECT_LT(i, 100'000);
  EXPECT_EQ(missing(set, i), 0);
  EXPECT_EQ(set.add(key_of(0)), AddOutcome::seen);
  set.cap_memory(0);
  EXPECT_EQ(set.add(key_of(i)), AddOutcome::fresh);
  EXPECT_FALSE(NativeBloom::make({.capacity = 1'000'000, .memory_cap = 100'000}));
  EXPECT_FALSE(NativeBloom::make({.window = 1'000'000, .memory_cap = 100'000}));
}

TEST(NativeBloom, AnyRateIsKeptWhileItGrows) {
  for (const double rate : {0.25, 0.1, 1e-4, 1e-6, 1e-9})
    for (const std::uint64_t capacity : {1, 6'000}) {
      auto set = made({.rate = rate, .capacity = capacity});
      for (std::uint64_t i = 0; i < 40'000; ++i) ASSERT_TRUE(is_there(set.add(key_of(i)))) << rate;
      EXPECT_EQ(missing(set, 40'000), 0);
      EXPECT_LE(set.rate_now(), rate);
      EXPECT_LE(rate_of(set, 100'000), rate + 5 * std::sqrt(rate / 100'000) + 2e-5);
    }
}

TEST(NativeBloom, WantsThatNoSetCanHaveAreRefused) {
  for (const double rate : {0.0, -1.0, 1.0, 1e-12, std::nan("")})
    EXPECT_FALSE(NativeBloom::make({.rate = rate})) << rate;
  EXPECT_FALSE(NativeBloom::make({.capacity = 0}));
  EXPECT_FALSE(NativeBloom::make({.capacity = ~std::uint64_t{0}}));
  EXPECT_FALSE(NativeBloom::make({.window = ~std::uint64_t{0}}));
  // As RedisBloom, which takes any rate below 1 for at most 0.25.
  EXPECT_TRUE(NativeBloom::make({.rate = 0.9}));
}

TEST(NativeBloom, TheSecretDecidesWhoPasses) {
  auto one = NativeBloom::make({.hasher = Hasher::hardened({1, 2})}).value();
  auto other = NativeBloom::make({.hasher = Hasher::hardened({3, 4})}).value();
  for (std::uint64_t i = 0; i < 5'000; ++i) one.add(key_of(i)), other.add(key_of(i));
  std::uint64_t both = 0, either = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const bool first = one.may_contain(stranger_of(i)), second = other.may_contain(stranger_of(i));
    both += first && second;
    either += first || second;
  }
  EXPECT_GT(either, 300);
  EXPECT_LT(both, either / 20);
  EXPECT_NE(one.digest(), other.digest());
}

}  // namespace
}  // namespace bloomery::detail::served
