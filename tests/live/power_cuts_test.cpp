// The command under power cuts: what it leaves behind, whenever that happens.
//
//    POWER_CUTS=1000    disks a test, spread evenly over all moments of the run; 100 without it
#include <bloomery/image.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <tests/storage/scratch_directory.hpp>

#include "disk_after_cut.hpp"
#include "recorded_run.hpp"

namespace bloomery::cuts {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::size_t wanted_cuts() {
  const char* const told = std::getenv("POWER_CUTS");
  return told == nullptr ? 100 : std::stoul(told);
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string lines(int from, int to) {
  std::string all;
  for (int i = from; i < to; ++i) all += "https://site.example/page/" + std::to_string(i) + "\n";
  return all;
}

class PowerCuts : public ::testing::Test {
 protected:
  // The directory is recorded, and then rebuilt in its place: a state knows the name of its output.
  // Inputs are beside it.
  PowerCuts() {
    fs::create_directory(disk_);
    put("old", lines(0, 3000));
    put("new", lines(1000, 6000));
  }

  void put(const std::string& name, const std::string& text) {
    std::ofstream(scratch / name, std::ios::binary) << text;
  }
  std::string input(const std::string& name) const { return (scratch / name).string(); }

  static void run_plainly(Words words) {
    words.insert(words.begin(), BLOOMERY_CLI);
    ASSERT_EQ(RecordedRun{}.spawn(words), 0) << words[1];
  }

  void record(Words words) {
    words.insert(words.begin(), BLOOMERY_CLI);
    ASSERT_EQ((RecordedRun{.directory = disk_, .trace = scratch / "trace"}.spawn(words)), 0);
  }

  // `check` looks at the directory; it is told whether the run had ended before the cut.
  void cut(const std::function<void(bool ended)>& check) {
    for (const auto names : {DiskAfterCut::Names::each_alone, DiskAfterCut::Names::in_order}) {
      DiskAfterCut disk(read_trace(scratch / "trace"), names);
      const std::size_t moments = disk.events() + 1;
      const std::size_t cuts = std::max(wanted_cuts() / 2, moments);
      ASSERT_GT(moments, 5u);
      for (std::size_t i = 0; i < cuts && !HasFailure(); ++i) {
        disk.cut_at(i * moments / cuts);
        disk.rebuild(i, disk_);
        SCOPED_TRACE("cut " + std::to_string(i * moments / cuts) + " of " +
                     std::to_string(moments - 1) + ", seed " + std::to_string(i) + ", names " +
                     std::to_string(static_cast<int>(names)));
        check(i * moments / cuts == moments - 1);
        ++seen_;
      }
    }
    RecordProperty("cuts", static_cast<int>(seen_));
    std::cout << seen_ << " disks after power cuts\n";
  }

  // A set file is the one from before or the new one; afterwards it is the new one.
  void expect_old_or_new(const Words& words) {
    const std::string before = text_of(disk_ / "set");
    record(words);
    const std::string now = text_of(disk_ / "set");
    ASSERT_TRUE(before != now);
    std::set<bool> found;
    cut([&](bool ended) {
      const std::string text = text_of(disk_ / "set");
      ASSERT_TRUE(text == now || (text == before && !ended)) << text.size() << " bytes";
      if (!text.empty()) {
        ASSERT_TRUE(verify_image(disk_ / "set").has_value());
      }
      found.insert(text == now);
    });
    EXPECT_EQ(found.size(), 2u);
  }

  // Run again after the cut, it ends as a run that was never cut.
  void expect_completed(const Words& words, const std::string& right) {
    record(words);
    ASSERT_TRUE(text_of(disk_ / "OUT") == right);
    std::set<bool> state_was_there;
    Words again = words;
    again.insert(again.begin(), BLOOMERY_CLI);
    cut([&](bool ended) {
      const bool state = fs::exists(disk_ / "S");
      state_was_there.insert(state);
      if (state) {
        ASSERT_TRUE(verify_image(disk_ / "S").has_value());
      }
      if (ended) {
        ASSERT_TRUE(text_of(disk_ / "OUT") == right);
      }
      ASSERT_EQ(RecordedRun{}.spawn(again), 0);
      ASSERT_TRUE(text_of(disk_ / "OUT") == right);
    });
    EXPECT_TRUE(state_was_there.contains(true));
  }

  detail::ScratchDirectory scratch;
  fs::path disk_ = scratch / "disk";
  std::size_t seen_ = 0;
};

TEST_F(PowerCuts, BuildMakesASetOrNone) {
  expect_old_or_new({"build", "-q", "-n", "10k", "-o", (disk_ / "set").string(), input("new")});
}

TEST_F(PowerCuts, BuildLeavesTheOldSetOrTheNewOne) {
  run_plainly({"build", "-q", "-n", "10k", "-o", (disk_ / "set").string(), input("old")});
  expect_old_or_new(
      {"build", "-q", "-f", "-n", "10k", "-o", (disk_ / "set").string(), input("new")});
}

TEST_F(PowerCuts, AddLeavesTheOldSetOrTheNewOne) {
  run_plainly({"build", "-q", "-n", "10k", "-o", (disk_ / "set").string(), input("old")});
  expect_old_or_new({"add", "-q", (disk_ / "set").string(), input("new")});
}

// That the tests above can fail: the same run, had it not synced its file.
TEST_F(PowerCuts, WithoutItsSyncASetIsFoundTorn) {
  const std::string set = (disk_ / "set").string();
  run_plainly({"build", "-q", "-n", "10k", "-o", set, input("old")});
  const std::string before = text_of(set);
  record({"build", "-q", "-f", "-n", "10k", "-o", set, input("new")});
  const std::string now = text_of(set);
  auto events = read_trace(scratch / "trace");
  std::erase_if(events, [](const DiskEvent& event) { return event.kind == DiskEventKind::sync; });
  DiskAfterCut disk(std::move(events));
  disk.cut_at(disk.events());
  bool torn = false;
  for (std::uint64_t seed = 0; seed < 50 && !torn; ++seed) {
    disk.rebuild(seed, disk_);
    const std::string text = text_of(set);
    torn = text != before && text != now;
    if (torn) {
      EXPECT_FALSE(verify_image(set).has_value());
    }
  }
  EXPECT_TRUE(torn);
}

TEST_F(PowerCuts, AStateAndItsOutputAgreeFromTheFirstRunOn) {
  put("all", lines(0, 30'000) + lines(20'000, 40'000));
  expect_completed({"dedup", "--state", (disk_ / "S").string(), "-o", (disk_ / "OUT").string(),
                    "--checkpoint", "1ms", input("all")},
                   lines(0, 40'000));
}

TEST_F(PowerCuts, AStateAndItsOutputAgreeInALaterRun) {
  run_plainly(
      {"dedup", "--state", (disk_ / "S").string(), "-o", (disk_ / "OUT").string(), input("old")});
  put("all", lines(2000, 30'000));
  expect_completed({"dedup", "--state", (disk_ / "S").string(), "-o", (disk_ / "OUT").string(),
                    "--checkpoint", "1ms", input("all")},
                   lines(0, 30'000));
}

}  // namespace
}  // namespace bloomery::cuts
