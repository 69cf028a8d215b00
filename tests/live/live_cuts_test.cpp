// Power fails at any moment while writers add to a live file under Durability::every: of all disks
// that may then be found, each opens, and has every key that was acknowledged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
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
using live_test::restart_system;

constexpr std::size_t keys_a_batch = 20;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Case {
  const char* kind;
  unsigned writers;
};

TEST(LivePowerCuts, NothingAcknowledgedIsLost) {
  const std::uint64_t cuts = number_of("BLOOMERY_LIVE_CUTS", 300);
  const std::uint64_t seed = number_of("BLOOMERY_LIVE_SEED", 1);
  const std::vector<Case> cases = {{"blocked", 1},  {"blocked", 2}, {"compact", 1},  {"compact", 2},
                                   {"bitmap", 1},   {"classic", 2}, {"hash-set", 1}, {"chain", 1},
                                   {"counting", 1}, {"sharded", 1}};
  std::mt19937_64 random(seed);
  std::uint64_t done = 0, with_keys = 0;
  for (const Case& one : cases) {
    const detail::ScratchDirectory recorded, traces, found;
    const std::string path = recorded / "F";
    const cuts::RecordedRun run{recorded.path(), traces / "trace"};
    // One after the other, and at once: the second ones go on with what the first ones left.
    for (int life = 0; life < 2; ++life) {
      std::vector<pid_t> all;
      for (unsigned writer = 0; writer < one.writers; ++writer)
        all.push_back(run.start({BLOOMERY_LIVE_WRITER, path, one.kind, std::to_string(writer),
                                 std::to_string(seed), std::to_string(25 + 25 * life),
                                 std::to_string(keys_a_batch), "every", "4096"}));
      for (const pid_t process : all) ASSERT_EQ(cuts::RecordedRun::wait(process), 0) << one.kind;
    }
    cuts::DiskAfterCut disk(cuts::read_trace(run.trace));
    ASSERT_GT(disk.events(), 100U);
    const std::uint64_t here = cuts / cases.size();
    for (std::uint64_t i = 0; i < here; ++i, ++done) {
      // In ascending order, which the replayer does fast; each with a seed of its own.
      const std::size_t cut = i * disk.events() / here;
      const std::uint64_t choice = random();
      SCOPED_TRACE(std::string(one.kind) + ", cut " + std::to_string(cut) + ", seed " +
                   std::to_string(choice));
      disk.cut_at(cut);
      disk.rebuild(choice, found.path());
      Acknowledged known(seed, keys_a_batch);
      const bool ready = known.take_all(disk.marks(), "ready");
      const std::string survivor = found / "F";
      if (!std::filesystem::exists(survivor)) {
        ASSERT_FALSE(ready) << "the file is gone";
        continue;
      }
      restart_system(survivor);
      {
        auto live = AnyLiveSet::open(survivor);
        ASSERT_TRUE(live) << live.error().sentence;
        known.expect_in(live->set());
        known.expect_new_to_one_only();
        with_keys += known.keys() > 0;
        ASSERT_TRUE(live->close());
      }
      const auto verified = verify_image(survivor);
      ASSERT_TRUE(verified) << verified.error().sentence;
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%llu power cuts, %llu of them after acknowledged keys, seed %llu\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(with_keys),
              static_cast<unsigned long long>(seed));
  EXPECT_GT(with_keys, done / 2);
}

// What `cp` wrote is on no disk yet when the copy is opened: another file, or the same one, over
// which a copy of it was put back.
TEST(LivePowerCuts, ACopyIsOnTheDiskBeforeItsFirstKeyIsAcknowledged) {
  constexpr std::uint64_t seed = 3, cuts = 20;
  constexpr std::size_t batches = 25;
  std::mt19937_64 random(seed);
  for (const auto& [kind, is_put_back] :
       {std::pair{"blocked", false}, {"hash-set", false}, {"blocked", true}, {"hash-set", true}}) {
    const detail::ScratchDirectory recorded, traces, found;
    const cuts::RecordedRun run{recorded.path(), traces / "trace"};
    const auto write = [&](const std::string& path, const char* writer) {
      return run.spawn({BLOOMERY_LIVE_WRITER, path, kind, writer, std::to_string(seed),
                        std::to_string(batches), std::to_string(keys_a_batch), "every", "4096"});
    };
    const auto copied_to = [&](const std::string& from, const std::string& to) {
      return run.spawn({"/bin/dd", "if=" + from, "of=" + to, "bs=65536", "status=none"});
    };
    const std::string file = recorded / "F", copy = recorded / "copy";
    ASSERT_EQ(write(file, "0"), 0);
    ASSERT_EQ(copied_to(file, copy), 0);
    if (is_put_back) {
      ASSERT_EQ(copied_to(copy, file), 0);
    }
    const std::string name = is_put_back ? "F" : "copy";
    const std::size_t copied = cuts::read_trace(run.trace).size();
    ASSERT_EQ(write(recorded / name, "1"), 0);
    cuts::DiskAfterCut disk(cuts::read_trace(run.trace));
    std::uint64_t acknowledged = 0;
    for (std::uint64_t i = 1; i <= cuts; ++i) {
      const std::size_t cut = copied + i * (disk.events() - copied) / cuts;
      const std::uint64_t choice = random();
      SCOPED_TRACE(std::string(kind) + ", " + name + ", cut " + std::to_string(cut) + ", seed " +
                   std::to_string(choice));
      disk.cut_at(cut);
      disk.rebuild(choice, found.path());
      Acknowledged known(seed, keys_a_batch);
      known.take_all(disk.marks());
      if (known.batches() <= batches) continue;
      ++acknowledged;
      restart_system(found / name);
      auto live = AnyLiveSet::open(found / name);
      ASSERT_TRUE(live) << live.error().sentence;
      known.expect_in(live->set());
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(acknowledged, cuts / 2);
  }
}

}  // namespace
}  // namespace bloomery
