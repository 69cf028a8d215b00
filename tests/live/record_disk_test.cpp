// The recorder, on a program that writes in every way it knows.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <string>

#include <tests/storage/scratch_directory.hpp>

#include "disk_after_cut.hpp"
#include "recorded_run.hpp"

namespace bloomery::cuts {
namespace {

std::map<std::string, std::string> real_files(const std::filesystem::path& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto bytes = detail::read_whole(entry.path());
    found[entry.path().filename()] = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  return found;
}

class RecordDisk : public ::testing::Test {
 protected:
  RecordDisk() {
    std::filesystem::create_directory(scratch / "disk");
    detail::write_whole(scratch / "disk" / "existed", detail::FileBytes(3000, std::byte{'o'}));
    const RecordedRun run{.directory = scratch / "disk", .trace = scratch / "trace"};
    EXPECT_EQ(run.spawn({BLOOMERY_RECORDED_WRITES, (scratch / "disk").string()}), 0);
  }

  detail::ScratchDirectory scratch;
};

TEST_F(RecordDisk, WithNothingLostTheDiskIsAsTheProgramLeftIt) {
  DiskAfterCut disk(read_trace(scratch / "trace"));
  disk.cut_at(disk.events());
  const auto real = real_files(scratch / "disk");
  ASSERT_EQ(real.size(), 4u);
  bool found = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) found |= disk.files(seed) == real;
  EXPECT_TRUE(found);
}

TEST_F(RecordDisk, WhatWasSyncedIsThereAfterEveryLaterCut) {
  DiskAfterCut disk(read_trace(scratch / "trace"));
  const auto is = [&](std::size_t number, DiskEventKind kind) {
    return disk.event(number).kind == kind;
  };
  std::size_t cut = 0;
  // The last sync of "plain" is that of O_DSYNC; its name comes with the directory.
  while (!is(cut, DiskEventKind::sync_names)) ++cut;
  for (++cut; cut <= disk.events(); ++cut) {
    disk.cut_at(cut);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const auto files = disk.files(seed);
      if (is(cut - 1, DiskEventKind::sync_names)) continue;
      ASSERT_TRUE(files.contains("plain") && files.contains("named"));
      EXPECT_EQ(files.at("named"), "no name yet");
      EXPECT_EQ(files.at("plain").size(), 9003u);
      EXPECT_EQ(files.at("plain").substr(0, 14), "begintwopieces");
      EXPECT_EQ(files.at("plain").substr(100, 9), "twopieces");
      EXPECT_EQ(files.at("plain").substr(200, 9), "twopieces");
      EXPECT_EQ(files.at("plain").substr(5000, 3), "far");
      EXPECT_EQ(files.at("plain").substr(9000, 3), "end");
    }
  }
}

TEST_F(RecordDisk, StoresToAMappingComeBeforeTheMarkThatFollowsThem) {
  DiskAfterCut disk(read_trace(scratch / "trace"));
  const auto position = [&](auto wanted) {
    std::size_t at = 0;
    while (at < disk.events() && !wanted(disk.event(at))) ++at;
    return at;
  };
  const std::size_t mark =
      position([](const DiskEvent& event) { return event.text == "stored two"; });
  const std::size_t stored = position([](const DiskEvent& event) {
    return event.kind == DiskEventKind::write && event.offset == 0 && event.text.size() == 512 &&
           event.text[10] == 'a';
  });
  const std::size_t last = position([](const DiskEvent& event) {
    return event.kind == DiskEventKind::write && event.text.find('z') != std::string::npos;
  });
  EXPECT_LT(stored, mark);
  EXPECT_LT(mark, disk.events());
  EXPECT_LT(last, disk.events());
  // msync keeps its page: 'b' of byte 20,000 in page 4, not 'a' of page 0.
  std::size_t synced = mark;
  while (disk.event(synced).kind != DiskEventKind::synced) ++synced;
  disk.cut_at(synced + 1);
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto files = disk.files(seed);
    if (!files.contains("mapped")) continue;
    EXPECT_EQ(files.at("mapped")[20'000], 'b');
    lost |= files.at("mapped")[10] != 'a';
  }
  EXPECT_TRUE(lost);
  EXPECT_EQ(disk.marks(), (std::vector<std::string>{"stored two"}));
}

TEST_F(RecordDisk, StandardOutputMakesMarks) {
  DiskAfterCut disk(read_trace(scratch / "trace"));
  disk.cut_at(disk.events());
  EXPECT_EQ(disk.marks().size(), 42u);
  EXPECT_EQ(disk.marks().back(), "all done\n");
}

// Two processes, one trace: a sync covers what the other has stored and never told.
TEST(RecordDiskOfTwo, ASyncCoversTheStoresOfAnotherProcess) {
  const detail::ScratchDirectory scratch;
  const auto place = scratch / "disk";
  std::filesystem::create_directory(place);
  detail::write_whole(place / "shared", detail::FileBytes(4096, std::byte{'o'}));
  const RecordedRun run{.directory = place, .trace = scratch / "trace"};
  const pid_t storing = run.start({BLOOMERY_RECORDED_WRITES, place.string(), "store"});
  while (detail::read_whole(place / "shared")[7] != std::byte{'s'}) ::usleep(1000);
  EXPECT_EQ(run.spawn({BLOOMERY_RECORDED_WRITES, place.string(), "sync"}), 0);
  ::kill(storing, SIGKILL);
  EXPECT_EQ(RecordedRun::wait(storing), 128 + SIGKILL);

  DiskAfterCut disk(read_trace(scratch / "trace"));
  disk.cut_at(disk.events());
  EXPECT_EQ(disk.marks(), (std::vector<std::string>{"synced"}));
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(disk.files(seed).at("shared")[7], 's');
}

}  // namespace
}  // namespace bloomery::cuts
