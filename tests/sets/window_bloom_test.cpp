// What is peculiar to a window: it remembers the last N adds, or the last span of time, and fades.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <unordered_map>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery {
namespace {

constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;

std::uint64_t strangers_passing(const Set<WindowBloom>& set, std::uint64_t count) {
  std::vector<std::uint64_t> strangers(count);
  for (std::uint64_t i = 0; i < count; ++i) strangers[i] = first_stranger + i;
  return set.count_may_contain(strangers);
}

// The last thousand adds, repeats among them, beside a queue of them; a million steps.
TEST(Window, RemembersTheLastThousandAddsThroughAMillionSteps) {
  constexpr std::uint64_t seed = 9;
  constexpr std::size_t window = 1'000;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Set<WindowBloom> set({.keys = window, .rate = 0.01});
  const std::uint64_t bytes = set.bytes();
  std::deque<std::uint64_t> last;
  std::unordered_map<std::uint64_t, int> times;
  std::uint64_t next = 0, worst = 0, asked = 0, passed = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    // Half new, half among the keys of late, some of which have faded.
    const std::uint64_t key =
        random() % 2 == 0 ? next++ : next - random() % std::min(next + 1, 3 * window);
    const bool fresh = set.add(key);
    ASSERT_FALSE(fresh && times.contains(key)) << key << " called new at step " << step;
    last.push_back(key);
    ++times[key];
    if (last.size() > window) {
      if (--times[last.front()] == 0) times.erase(last.front());
      last.pop_front();
    }
    ASSERT_TRUE(set.may_contain(last[random() % last.size()])) << "at step " << step;
    if (step % 10'000 == 0) {
      for (const std::uint64_t each : last) ASSERT_TRUE(set.may_contain(each)) << each;
      const std::uint64_t now = strangers_passing(set, 2'000);
      passed += now;
      asked += 2'000;
      worst = std::max(worst, now);
    }
  }
  EXPECT_EQ(set.bytes(), bytes);
  EXPECT_FALSE(set.overfull());
  EXPECT_LE(static_cast<double>(passed) / static_cast<double>(asked), 0.01);
  EXPECT_LE(worst, 50);
}

TEST(Window, OldKeysFade) {
  constexpr std::uint64_t window = 3'000;
  Set<WindowBloom> set({.keys = window, .rate = 1e-4});
  for (std::uint64_t key = 0; key < 100'000; ++key) set.add(key);
  std::uint64_t remembered = 0;
  for (std::uint64_t key = 0; key < 100'000 - window * 4 / 3; ++key)
    remembered += set.may_contain(key);
  EXPECT_LE(remembered, 30);
  EXPECT_NEAR(set.estimate(), window * 7 / 6, window / 4);
}

// Just before a generation is cleared all of them are full: there the rate is highest.
TEST(Window, TheRateHoldsWhenAllGenerationsAreFull) {
  for (const double rate : {0.2, 0.01, 1e-3}) {
    SCOPED_TRACE(rate);
    Set<WindowBloom> set({.keys = 90'000, .rate = rate});
    for (std::uint64_t key = 0; key < 120'000; ++key) set.add(key);
    constexpr std::uint64_t strangers = 500'000;
    const std::uint64_t passed = strangers_passing(set, strangers);
    EXPECT_LE(static_cast<double>(passed) / strangers, rate * 1.05);
    EXPECT_GE(static_cast<double>(passed) / strangers, rate * 0.85);
    EXPECT_TRUE(is_likely(passed, strangers, set.rate_now())) << passed;
  }
}

// What the current generation has does not move it on, so that a key that comes again and again
// does not push out the others.
TEST(Window, AKeyThatComesAgainAndAgainPushesNothingOut) {
  Set<WindowBloom> set({.keys = 300, .rate = 1e-4});
  for (std::uint64_t key = 0; key < 300; ++key) set.add(key);
  for (int i = 0; i < 100'000; ++i) EXPECT_FALSE(set.add(std::uint64_t{299}));
  for (std::uint64_t key = 0; key < 300; ++key) EXPECT_TRUE(set.may_contain(key)) << key;
}

TEST(Window, AKeySeenAgainIsKeptAsIfItWereNew) {
  Set<WindowBloom> set({.keys = 300, .rate = 1e-4});
  for (std::uint64_t key = 0; key < 10'000; ++key) {
    set.add(key);
    if (key % 250 != 0) continue;
    EXPECT_EQ(set.add(first_stranger), key == 0) << key;
  }
  EXPECT_TRUE(set.may_contain(first_stranger));
}

TEST(Window, AfterSaveAndOpenItGoesOnAsIfNothingHadBeen) {
  const ScratchDirectory scratch;
  Set<WindowBloom> set({.keys = 1'000, .rate = 0.01});
  for (std::uint64_t key = 0; key < 5'000; ++key) set.add(key);
  set.save(scratch / "window.blm").value();
  auto opened = Set<WindowBloom>::open(scratch / "window.blm").value();
  for (std::uint64_t key = 5'000; key < 9'000; ++key) {
    ASSERT_EQ(opened.add(key), set.add(key)) << key;
    ASSERT_TRUE(opened.may_contain(key - 999));
  }
  EXPECT_EQ(opened.rate_now(), set.rate_now());
}

// -- by time -------------------------------------------------------------------------------------

TEST(Window, ByTimeRemembersTheSpanAndForgetsWhatIsMuchOlder) {
  constexpr std::uint64_t day = 24 * 3'600;
  constexpr std::uint64_t start = 1'700'000'000;
  Set<WindowBloom> set({.keys = day / 60, .rate = 1e-4});
  // One key a minute for ten days; key i comes at minute i.
  for (std::uint64_t i = 0; i < 10 * day / 60; ++i) {
    set.advance_to(start + 60 * i, day).value();
    set.add(i);
    const std::uint64_t kept = std::min(i, day / 60);
    ASSERT_TRUE(set.may_contain(i - kept)) << "minute " << i;
  }
  EXPECT_FALSE(set.overfull());
  std::uint64_t remembered = 0;
  for (std::uint64_t i = 0; i < 10 * day / 60 - day / 60 * 4 / 3 - 1; ++i)
    remembered += set.may_contain(i);
  EXPECT_LE(remembered, 12);
}

TEST(Window, ByTimeOnlyTimeForgetsAndTooManyAddsAreSaid) {
  Set<WindowBloom> set({.keys = 1'000, .rate = 0.01});
  set.advance_to(50, 100).value();
  for (std::uint64_t key = 0; key < 3'000; ++key) set.add(key);
  for (std::uint64_t key = 0; key < 3'000; ++key) ASSERT_TRUE(set.may_contain(key));
  EXPECT_TRUE(set.overfull());
  EXPECT_GT(set.rate_now(), 0.01);
  // A long silence forgets all.
  set.advance_to(1'000, 100).value();
  EXPECT_EQ(set.estimate(), 0);
  EXPECT_FALSE(set.overfull());
}

TEST(Window, TimeThatGoesBackStandsStillAndTheLastMomentIsATime) {
  Set<WindowBloom> set({.keys = 100, .rate = 0.01});
  set.advance_to(1'000, 90).value();
  set.add(1);
  set.advance_to(0, 90).value();
  set.advance_to(1'000, 90).value();
  EXPECT_TRUE(set.may_contain(1));
  set.advance_to(std::numeric_limits<std::uint64_t>::max(), 90).value();
  EXPECT_FALSE(set.may_contain(1));
  Set<WindowBloom> finest({.keys = 100, .rate = 0.01});
  finest.advance_to(std::numeric_limits<std::uint64_t>::max(), 1).value();
  finest.add(1);
  finest.advance_to(std::numeric_limits<std::uint64_t>::max(), 1).value();
  EXPECT_TRUE(finest.may_contain(1));
}

TEST(Window, NoSpanAndAnotherSpanAreRefused) {
  Set<WindowBloom> set({.keys = 100, .rate = 0.01});
  auto none = set.advance_to(1, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::impossible);
  set.advance_to(1, 60).value();
  auto other = set.advance_to(2, 61);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::mismatch);
}

TEST(Window, AdvanceForgetsTheOldestGeneration) {
  Set<WindowBloom> set({.keys = 300, .rate = 1e-4});
  for (std::uint64_t generation = 0; generation < 20; ++generation) {
    set.add(generation);
    for (std::uint64_t back = 0; back <= std::min<std::uint64_t>(generation, 3); ++back)
      EXPECT_TRUE(set.may_contain(generation - back));
    EXPECT_FALSE(generation >= 4 && set.may_contain(generation - 4));
    set.advance();
  }
}

// -- from outside --------------------------------------------------------------------------------

TEST(Window, ShapesAndHeadsThatCanNotBeAreRefused) {
  const WindowBloom::Shape good{10, 100, 6, 4};
  EXPECT_TRUE(WindowBloom::check(good, WindowBloom::bytes(good)));
  const auto refused = [](const WindowBloom::Shape& shape) {
    const auto checked = WindowBloom::check(shape, WindowBloom::bytes(shape));
    return !checked && checked.error().code == Code::damaged;
  };
  EXPECT_TRUE(refused({0, 100, 6, 4}));
  EXPECT_TRUE(refused({(std::uint64_t{1} << 48) + 1, 100, 6, 4}));
  EXPECT_TRUE(refused({10, 0, 6, 4}));
  EXPECT_TRUE(refused({10, 100, 0, 4}));
  EXPECT_TRUE(refused({10, 100, 17, 4}));
  EXPECT_TRUE(refused({10, 100, 6, 1}));
  EXPECT_TRUE(refused({10, 100, 6, 6}));
  EXPECT_FALSE(WindowBloom::check(good, WindowBloom::bytes(good) - 64));

  // Words of the head: current, five counts, slice, span.
  const auto opens = [&](std::vector<std::pair<std::size_t, std::uint64_t>> words) {
    std::vector<std::byte> payload(WindowBloom::bytes(good));
    for (const auto& [word, value] : words)
      std::memcpy(payload.data() + 8 * word, &value, sizeof value);
    return Owned<WindowBloom>::from_part({.kind = WindowBloom::id.number,
                                          .shape = encode_shape<WindowBloom>(good),
                                          .capacity = 300,
                                          .rate_asked = 0.01,
                                          .payload = payload})
        .has_value();
  };
  EXPECT_TRUE(opens({}));
  EXPECT_TRUE(opens({{0, 3}, {1, 100}, {4, 7}}));
  EXPECT_FALSE(opens({{0, 4}}));
  EXPECT_FALSE(opens({{0, std::uint64_t{1} << 63}}));
  EXPECT_FALSE(opens({{1, 101}}));
  EXPECT_FALSE(opens({{5, 1}}));
  EXPECT_FALSE(opens({{6, 1}}));
  EXPECT_FALSE(opens({{7, 1}}));
  EXPECT_TRUE(opens({{6, 1}, {7, 1}, {1, 101}}));
}

TEST(Window, SpaceIsWhatTheDocsPromise) {
  const auto bits_per_key = [](double rate) {
    return static_cast<double>(Set<WindowBloom>({.keys = 300'000, .rate = rate}).bytes()) * 8 /
           300'000;
  };
  EXPECT_LE(bits_per_key(0.01), 17.7);
  EXPECT_LE(bits_per_key(0.001), 26.5);
}

}  // namespace
}  // namespace bloomery
