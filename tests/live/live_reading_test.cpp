// What is read of a live file while nobody has it open to add to it, and of its copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <bloomery/bloomery.hpp>
#include <bloomery/live.hpp>
#include <bloomery/storage/file_watch.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery {
namespace {

std::vector<std::string> some_keys(const std::string& name, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(name + std::to_string(i));
  return keys;
}

std::vector<std::string_view> views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

class LiveReading : public testing::TestWithParam<std::string> {
 protected:
  std::string path(const std::string& name = "F") const { return directory_.path() / name; }
  AnySet made(Hasher hasher = Hasher{}) const {
    return std::move(AnySet::make(GetParam(), {.keys = 20'000, .rate = 1e-6}, hasher).value());
  }

  detail::ScratchDirectory directory_;
};

TEST_P(LiveReading, AFileThatNobodyHasOpenedTellsItsKeys) {
  AnySet set = made();
  ASSERT_EQ(set.add_all(views(some_keys("k", 1000))).value(), 1000U);
  ASSERT_TRUE(create_live(path(), set));
  const auto image = AnySet::open(path());
  ASSERT_TRUE(image) << image.error().sentence;
  EXPECT_EQ(image->adds(), 1000U);
  EXPECT_EQ(image->rules().form, KeyForm::text);
  EXPECT_FALSE(image->may_contain(std::uint64_t{7})) << "keys of another form cannot match";
  const auto asked = AnyLiveSet::open(path(), {.read_only = true});
  ASSERT_TRUE(asked) << asked.error().sentence;
  EXPECT_EQ(asked->set().adds(), 1000U);
  EXPECT_TRUE(asked->set().may_contain("k7").value());
}

TEST_P(LiveReading, ACopyHasWhatTheFileHadAndStandsByItself) {
  ASSERT_TRUE(create_live(path(), made()));
  auto live = AnyLiveSet::open(path());
  ASSERT_TRUE(live) << live.error().sentence;
  const auto keys = some_keys("k", 5000);
  ASSERT_EQ(live->set().add_all(views(keys)).value(), 5000U);
  // Nobody adds at this moment, but the file was not closed.
  std::filesystem::copy_file(path(), path("copy"));

  const auto image = AnySet::open(path("copy"));
  ASSERT_TRUE(image) << image.error().sentence;
  EXPECT_EQ(image->adds(), 5000U);
  for (const auto& key : keys) ASSERT_TRUE(*image->may_contain(key));
  auto copy = AnyLiveSet::open(path("copy"));
  ASSERT_TRUE(copy) << copy.error().sentence;
  EXPECT_TRUE(copy->recovery().was_cut);
  EXPECT_FALSE(copy->recovery().lost_power);
  EXPECT_EQ(copy->set().adds(), 5000U);
  ASSERT_TRUE(copy->set().add("copy only").value());
  EXPECT_FALSE(live->set().may_contain("copy only").value());
  ASSERT_TRUE(copy->close());
  const auto sound = verify_image(path("copy"));
  EXPECT_TRUE(sound) << sound.error().sentence;
}

// As cp does while others add: the payload is of one moment, the log of a later one, whose
// checkpoints have emptied what is between them.
class LiveInPlace : public LiveReading {};
TEST_P(LiveInPlace, ACopyOfSeveralMomentsIsSummedAgain) {
  ASSERT_TRUE(create_live(path(), made(), {.log_bytes = 4096}));
  auto live = AnyLiveSet::open(path());
  ASSERT_TRUE(live) << live.error().sentence;
  const auto early = detail::read_whole(path());
  ASSERT_TRUE(live->set().add_all(views(some_keys("k", 5000))));
  auto torn = detail::read_whole(path());
  // Superblocks, directory and sums as they were; payload and log as they are now.
  std::copy_n(early.begin(), 12288, torn.begin());
  detail::write_whole(path("copy"), torn);

  const auto sums = verify_image(path("copy"));
  ASSERT_FALSE(sums);
  EXPECT_EQ(sums.error().code, Code::unsupported) << sums.error().sentence;
  {
    const auto copy = AnyLiveSet::open(path("copy"));
    ASSERT_TRUE(copy) << copy.error().sentence;
    EXPECT_GT(copy->recovery().summed_bytes, 0U);
  }
  const auto sound = verify_image(path("copy"));
  EXPECT_TRUE(sound) << sound.error().sentence;
}

TEST_P(LiveReading, AKeyThatIsElsewhereStaysThere) {
  const SecretKey key{1234, 5678};
  AnySet set = made(Hasher::hardened(key));
  ASSERT_TRUE(set.add("first"));
  ASSERT_TRUE(create_live(path(), set, {.key_is_elsewhere = true}));
  EXPECT_EQ(AnyLiveSet::open(path()).error().code, Code::mismatch);
  {
    auto live = AnyLiveSet::open(path(), {.key = key});
    ASSERT_TRUE(live) << live.error().sentence;
    EXPECT_FALSE(live->set().add("first").value());
    EXPECT_TRUE(live->set().add("second").value());
  }
  const auto sound = verify_image(path());
  EXPECT_TRUE(sound) << sound.error().sentence;
  ASSERT_TRUE(seal_live(path(), {.key = key}));
  EXPECT_EQ(AnySet::open(path()).error().code, Code::mismatch);
  const auto sealed = AnySet::open(path(), {.key = key});
  ASSERT_TRUE(sealed) << sealed.error().sentence;
  EXPECT_TRUE(sealed->may_contain("second").value());
}

TEST_P(LiveReading, AWatchKnowsAddsFromMeddling) {
  const auto meddled = [&](const std::function<void()>& act) {
    EXPECT_TRUE(create_live(path(), made(), {.overwrite = Overwrite::replace}));
    const auto watch = detail::FileWatch::begin(path());
    EXPECT_TRUE(watch);
    act();
    return !watch->expect_unchanged(path());
  };
  EXPECT_FALSE(meddled([&] {
    auto live = AnyLiveSet::open(path());
    ASSERT_TRUE(live->set().add_all(views(some_keys("k", 20'000))));
    ASSERT_TRUE(live->checkpoint());
  }));
  EXPECT_TRUE(meddled([&] { std::filesystem::resize_file(path(), 8192); }));
  EXPECT_TRUE(meddled([&] {
    AnySet other = made();
    ASSERT_TRUE(other.add("other"));
    ASSERT_TRUE(create_live(path("other"), other, {.overwrite = Overwrite::replace}));
    detail::write_whole(path(), detail::read_whole(path("other")));
  })) << "another set in the same file";
}

INSTANTIATE_TEST_SUITE_P(Kinds, LiveReading, testing::Values("blocked", "sharded", "compact"),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Kinds, LiveInPlace, testing::Values("blocked", "classic", "sharded"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace bloomery
