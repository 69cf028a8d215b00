// The disk fails a sync, once, while two processes add to a live file: both are told, nothing that
// was acknowledged is lost, and who opens the file next puts it right.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/image.hpp>
#include <tests/live/acknowledged.hpp>
#include <tests/live/disk_after_cut.hpp>
#include <tests/live/live_superblock.hpp>
#include <tests/live/recorded_run.hpp>
#include <tests/storage/scratch_directory.hpp>

namespace bloomery {
namespace {

using live_test::Acknowledged;

constexpr std::size_t keys_a_batch = 20;
constexpr std::uint64_t seed = 7;

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class FailedSync : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> writer(int number, int batches) const {
    return {BLOOMERY_LIVE_WRITER,
            path(),
            GetParam(),
            std::to_string(number),
            std::to_string(seed),
            std::to_string(batches),
            std::to_string(keys_a_batch),
            "every",
            "4096"};
  }
  std::string path() const { return recorded_ / "F"; }
  cuts::RecordedRun run(const char* errors, std::vector<std::string> environment = {}) const {
    return {recorded_.path(), traces_ / "trace", std::move(environment), traces_ / errors};
  }
  std::string said(const char* errors) const { return text_in(traces_ / errors); }
  // Until the first one has acknowledged something: then it is open.
  void wait_for_acknowledged() const {
    for (;;) {
      Acknowledged known(seed, keys_a_batch);
      try {
        for (const auto& event : cuts::read_trace(traces_ / "trace"))
          if (event.kind == cuts::DiskEventKind::mark) known.take_all({event.text});
      } catch (const std::runtime_error&) {
        // Not begun yet.
      }
      if (known.batches() > 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // The sync that fails is the Nth of the second process.
  void fail_at(int sync) {
    constexpr int without_end = 10'000'000;
    const pid_t first = run("first").start(writer(0, without_end));
    wait_for_acknowledged();
    const pid_t second = run("second", {"RECORD_DISK_FAILING_SYNC=" + std::to_string(sync)})
                             .start(writer(1, without_end));
    const std::string sentence = path() + " takes no more keys: a sync failed (Input/output error)";
    ASSERT_EQ(cuts::RecordedRun::wait(second), 2);
    EXPECT_NE(said("second").find(sentence), std::string::npos) << said("second");
    ASSERT_EQ(cuts::RecordedRun::wait(first), 2);
    EXPECT_NE(said("first").find(sentence), std::string::npos) << said("first");
    ASSERT_EQ(run("next").spawn(writer(2, 10)), 0) << said("next");
  }

  // At some moments after the failure, to the end.
  void cut_after_it(std::uint64_t cuts, std::mt19937_64& random) const {
    auto events = cuts::read_trace(traces_ / "trace");
    const auto failed =
        std::ranges::find(events, cuts::DiskEventKind::sync_failed, &cuts::DiskEvent::kind) -
        events.begin();
    ASSERT_LT(static_cast<std::size_t>(failed), events.size()) << "no sync has failed";
    cuts::DiskAfterCut disk(std::move(events));
    const std::size_t first = static_cast<std::size_t>(failed) + 1;
    const detail::ScratchDirectory found;
    for (std::uint64_t i = 0; i <= cuts; ++i) {
      const std::size_t cut = first + i * (disk.events() - first) / cuts;
      const std::uint64_t choice = random();
      SCOPED_TRACE("cut " + std::to_string(cut) + ", seed " + std::to_string(choice));
      disk.cut_at(cut);
      disk.rebuild(choice, found.path());
      Acknowledged known(seed, keys_a_batch);
      const bool recovered = known.take_all(disk.marks(), "recovered from a failed sync");
      EXPECT_TRUE(recovered || i < cuts) << "the next one did not notice";
      const std::string survivor = found / "F";
      live_test::restart_system(survivor);
      auto live = AnyLiveSet::open(survivor);
      ASSERT_TRUE(live) << live.error().sentence;
      known.expect_in(live->set());
      known.expect_new_to_one_only();
      ASSERT_GT(known.keys(), 0U);
      ASSERT_TRUE(live->close());
      const auto verified = verify_image(survivor);
      ASSERT_TRUE(verified) << verified.error().sentence;
      if (HasFatalFailure()) return;
    }
  }

  detail::ScratchDirectory recorded_, traces_;
};

TEST_P(FailedSync, AllAreToldAndNothingAcknowledgedIsLost) {
  std::mt19937_64 random(seed);
  // The log, and where it has two halves also the set, its sums and the superblock.
  for (const int sync : {1, 2, 3, 4, 5, 6, 7, 8, 13, 21}) {
    SCOPED_TRACE("sync " + std::to_string(sync));
    fail_at(sync);
    if (HasFatalFailure()) return;
    cut_after_it(10, random);
    if (HasFatalFailure()) return;
    std::filesystem::remove(path());
    std::filesystem::remove_all(traces_.path());
    std::filesystem::create_directories(traces_.path());
  }
}

// The first sync of a file whose page was not its own: it is opened again as one whose sync failed.
TEST_P(FailedSync, IsNotForgottenWhereACopyIsOpened) {
  {
    const std::string original = traces_ / "original";
    Want want{.keys = 4000, .rate = 1e-4};
    if (std::string(GetParam()) == "bitmap") want = {.range = {0, (1U << 20) - 1}};
    ASSERT_TRUE(create_live(original, AnySet::make(GetParam(), want).value()));
    ASSERT_TRUE(AnyLiveSet::open(original).value().close());
    std::filesystem::copy_file(original, path());
  }
  const int ended = run("first", {"RECORD_DISK_FAILING_SYNC=1"}).spawn(writer(0, 10));
  ASSERT_EQ(ended, 2) << said("first");
  const auto live = AnyLiveSet::open(path());
  ASSERT_TRUE(live) << live.error().sentence;
  EXPECT_TRUE(live->recovery().sync_failed);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FailedSync,
                         testing::Values("blocked", "bitmap", "compact", "chain"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace bloomery
