// What is peculiar to a window: it remembers the last N different keys, or the last span of time,
// and fades.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <tests/laws/chances.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery::detail {
namespace {

// What the register and the pipelines find in this kind.
static_assert(Addable<WindowBloom> && Forgetting<WindowBloom> && Estimable<WindowBloom> &&
              Prefetchable<WindowBloom>);

constexpr std::uint64_t first_stranger = std::uint64_t{1} << 40;

std::uint64_t strangers_passing(const Set<WindowBloom>& set, std::uint64_t count) {
  std::vector<std::uint64_t> strangers(count);
  for (std::uint64_t i = 0; i < count; ++i) strangers[i] = first_stranger + i;
  return set.count_may_contain(strangers);
}

// The last so many different keys, the latest first: what a window promises to remember.
class LastDifferent {
 public:
  explicit LastDifferent(std::size_t most) : most_(most) {}
  bool has(std::uint64_t key) const { return places_.contains(key); }
  void add(std::uint64_t key) {
    if (const auto found = places_.find(key); found != places_.end()) keys_.erase(found->second);
    keys_.push_front(key);
    places_[key] = keys_.begin();
    if (keys_.size() <= most_) return;
    places_.erase(keys_.back());
    keys_.pop_back();
  }
  const std::list<std::uint64_t>& keys() const { return keys_; }

 private:
  std::size_t most_;
  std::list<std::uint64_t> keys_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

// Draws with repeats beside the model: what came among the last `window` different keys is a
// repeat.
void expect_promise(std::uint64_t window, int draws,
                    const std::function<std::uint64_t(std::mt19937_64&)>& draw) {
  constexpr std::uint64_t seed = 16;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Set<WindowBloom> set({.keys = window, .rate = 1e-4});
  LastDifferent model(window);
  for (int step = 0; step < draws; ++step) {
    const std::uint64_t key = draw(random);
    const bool fresh = set.add(key);
    ASSERT_FALSE(fresh && model.has(key)) << key << " called new at step " << step;
    model.add(key);
    if (step % 20'000 != 0) continue;
    for (const std::uint64_t each : model.keys()) ASSERT_TRUE(set.may_contain(each)) << each;
    EXPECT_LE(set.rate_now(), 1.3e-4);
  }
  EXPECT_FALSE(set.overfull());
}

TEST(Window, KeepsItsPromiseWhenKeysComeAgain) {
  expect_promise(3'000, 200'000, [](auto& random) { return random() % 5'000; });
  expect_promise(3'000, 200'000, [](auto& random) { return random() % 3'001; });
  expect_promise(1, 1'000, [](auto& random) { return random() % 3; });
  expect_promise(2, 1'000, [](auto& random) { return random() % 4; });
}

// Key r comes about 1 / r as often as key 1 among 2^20 of them.
TEST(Window, KeepsItsPromiseWhenFewKeysComeOftenAndManySeldom) {
  expect_promise(3'000, 200'000, [](auto& random) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::uint64_t>(std::exp2(20 * part));
  });
}

// 999 keys round and round and a new one each time: each generation of a third of the window would
// be full of the same keys.
TEST(Window, KeepsItsPromiseWhenTheSameKeysAreRefreshedAgainAndAgain) {
  std::uint64_t at = 0;
  expect_promise(3'000, 200'000, [&](auto&) {
    ++at;
    if (at % 1'000 == 0) return first_stranger + at / 1'000 % 2'001;
    return at % 1'000;
  });
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
  for (std::uint64_t key = 0; key < 100'000 - window * 2; ++key) remembered += set.may_contain(key);
  EXPECT_LE(remembered, 30);
  EXPECT_NEAR(set.estimate(), window + 100'000 % window, window / 20);
}

// Just before a generation is cleared both are full: there the rate is highest.
TEST(Window, TheRateHoldsWhenBothGenerationsAreFull) {
  for (const double rate : {0.2, 0.01, 1e-3}) {
    SCOPED_TRACE(rate);
    Set<WindowBloom> set({.keys = 90'000, .rate = rate});
    for (std::uint64_t key = 0; key < 180'000; ++key) set.add(key);
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
  set.save(scratch / "window.blm");
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
    set.advance_to(start + 60 * i, day);
    set.add(i);
    const std::uint64_t kept = std::min(i, day / 60);
    ASSERT_TRUE(set.may_contain(i - kept)) << "minute " << i;
  }
  EXPECT_FALSE(set.overfull());
  std::uint64_t remembered = 0;
  for (std::uint64_t i = 0; i < 10 * day / 60 - day / 60 * 2 - 1; ++i)
    remembered += set.may_contain(i);
  EXPECT_LE(remembered, 12);
}

// All the keys of a span come again in each part of it, and some that are rare: no more than N
// different ones in any span, so the window is never overfull.
TEST(Window, ByTimeKeepsItsPromiseWhenKeysComeAgain) {
  constexpr std::uint64_t seed = 17;
  constexpr std::uint64_t span = 3'000;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Set<WindowBloom> set({.keys = 1'500, .rate = 1e-4});
  std::unordered_map<std::uint64_t, std::uint64_t> last;
  std::uint64_t forgotten = 0;
  for (std::uint64_t time = 1'000; time < 101'000; ++time) {
    set.advance_to(time, span);
    const std::uint64_t key =
        random() % 10 == 0 ? first_stranger + random() % 8'000 : random() % 1'000;
    const bool fresh = set.add(key);
    const auto before = last.find(key);
    const bool within = before != last.end() && time - before->second < span;
    ASSERT_FALSE(fresh && within) << key << " called new at " << time;
    forgotten += fresh && before != last.end();
    last[key] = time;
    ASSERT_FALSE(set.overfull()) << time;
  }
  EXPECT_GT(forgotten, 1'000);
  EXPECT_LE(set.rate_now(), 1.3e-4);
}

TEST(Window, ByTimeOnlyTimeForgetsAndTooManyAddsAreSaid) {
  Set<WindowBloom> set({.keys = 1'000, .rate = 0.01});
  set.advance_to(50, 100);
  for (std::uint64_t key = 0; key < 3'000; ++key) set.add(key);
  for (std::uint64_t key = 0; key < 3'000; ++key) ASSERT_TRUE(set.may_contain(key));
  EXPECT_TRUE(set.overfull());
  EXPECT_GT(set.rate_now(), 0.01);
  // A long silence forgets all.
  set.advance_to(1'000, 100);
  EXPECT_EQ(set.estimate(), 0);
  EXPECT_FALSE(set.overfull());
}

TEST(Window, TellsTheLatestTimeToTheBeginOfItsSpan) {
  AnySet set = AnySet::make("window", {.keys = 100, .rate = 0.01}, Hasher(0)).value();
  EXPECT_EQ(set.time_told(), 0);
  set.advance_to(1'000, 90).value();
  EXPECT_EQ(set.time_told(), 990);
  set.advance_to(0, 90).value();
  EXPECT_EQ(set.time_told(), 990);
  set.advance_to(1'080, 90).value();
  EXPECT_EQ(set.time_told(), 1'080);
}

TEST(Window, TimeThatGoesBackStandsStillAndTheLastMomentIsATime) {
  Set<WindowBloom> set({.keys = 100, .rate = 0.01});
  set.advance_to(1'000, 90);
  set.add(1);
  set.advance_to(0, 90);
  set.advance_to(1'000, 90);
  EXPECT_TRUE(set.may_contain(1));
  set.advance_to(std::numeric_limits<std::uint64_t>::max(), 90);
  EXPECT_FALSE(set.may_contain(1));
  Set<WindowBloom> finest({.keys = 100, .rate = 0.01});
  finest.advance_to(std::numeric_limits<std::uint64_t>::max(), 1);
  finest.add(1);
  finest.advance_to(std::numeric_limits<std::uint64_t>::max(), 1);
  EXPECT_TRUE(finest.may_contain(1));
}

TEST(Window, NoSpanAndAnotherSpanAreRefused) {
  Set<WindowBloom> set({.keys = 100, .rate = 0.01});
  auto none = set.try_advance_to(1, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::impossible);
  set.advance_to(1, 60);
  auto other = set.try_advance_to(2, 61);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::mismatch);
}

TEST(Window, AdvanceForgetsTheOlderGeneration) {
  Set<WindowBloom> set({.keys = 300, .rate = 1e-4});
  for (std::uint64_t generation = 0; generation < 20; ++generation) {
    set.add(generation);
    for (std::uint64_t back = 0; back <= std::min<std::uint64_t>(generation, 1); ++back)
      EXPECT_TRUE(set.may_contain(generation - back));
    EXPECT_FALSE(generation >= 2 && set.may_contain(generation - 2));
    set.advance();
  }
}

// -- from outside --------------------------------------------------------------------------------

TEST(Window, ShapesAndHeadsThatCanNotBeAreRefused) {
  const WindowBloom::Shape good{10, 100, 6, 2};
  EXPECT_TRUE(WindowBloom::check(good, WindowBloom::bytes(good)));
  const auto refused = [](const WindowBloom::Shape& shape) {
    const auto checked = WindowBloom::check(shape, WindowBloom::bytes(shape));
    return !checked && checked.error().code == Code::damaged;
  };
  EXPECT_TRUE(refused({0, 100, 6, 2}));
  EXPECT_TRUE(refused({(std::uint64_t{1} << 48) + 1, 100, 6, 2}));
  EXPECT_TRUE(refused({10, 0, 6, 2}));
  EXPECT_TRUE(refused({10, 100, 0, 2}));
  EXPECT_TRUE(refused({10, 100, 17, 2}));
  EXPECT_TRUE(refused({10, 100, 6, 1}));
  EXPECT_TRUE(refused({10, 100, 6, 6}));
  EXPECT_FALSE(WindowBloom::check(good, WindowBloom::bytes(good) - 64));
  // Those of an earlier version forgot keys too early.
  const WindowBloom::Shape earlier{10, 100, 6, 4};
  const auto checked = WindowBloom::check(earlier, WindowBloom::bytes(earlier));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::unsupported);

  // Words of the head: current, five counts, slice, span.
  const auto opens = [&](std::vector<std::pair<std::size_t, std::uint64_t>> words) {
    std::vector<std::byte> payload(WindowBloom::bytes(good));
    for (const auto& [word, value] : words)
      std::memcpy(payload.data() + 8 * word, &value, sizeof value);
    return Owned<WindowBloom>::from_part({.kind = WindowBloom::id.number,
                                          .shape = encode_shape<WindowBloom>(good),
                                          .capacity = 100,
                                          .rate_asked = 0.01,
                                          .payload = payload})
        .has_value();
  };
  EXPECT_TRUE(opens({}));
  EXPECT_TRUE(opens({{0, 1}, {1, 100}, {2, 7}}));
  EXPECT_FALSE(opens({{0, 2}}));
  EXPECT_FALSE(opens({{3, 1}}));
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
  EXPECT_LE(bits_per_key(0.01), 23.2);
  EXPECT_LE(bits_per_key(0.001), 34.9);
}

}  // namespace
}  // namespace bloomery::detail
