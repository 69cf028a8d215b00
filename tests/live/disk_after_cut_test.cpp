#include "disk_after_cut.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <tests/storage/scratch_directory.hpp>

namespace bloomery::cuts {
namespace {

using Kind = DiskEventKind;
constexpr int seeds = 400;
constexpr std::size_t sector = 512;

// A trace as a program of one file would leave it.
struct Trace {
  std::vector<DiskEvent> events;
  std::uint64_t tickets = 0;

  Trace& create(std::uint64_t file, std::string name) {
    events.push_back({.kind = Kind::create, .file = file, .text = std::move(name)});
    return *this;
  }
  Trace& exists(std::uint64_t file, const std::string& name, const std::string& bytes) {
    events.push_back({.kind = Kind::exists, .file = file, .text = name + '\0' + bytes});
    return *this;
  }
  Trace& write(std::uint64_t file, std::uint64_t offset, std::string bytes) {
    events.push_back(
        {.kind = Kind::write, .file = file, .offset = offset, .text = std::move(bytes)});
    return *this;
  }
  Trace& length(std::uint64_t file, std::uint64_t bytes) {
    events.push_back({.kind = Kind::length, .file = file, .length = bytes});
    return *this;
  }
  Trace& rename(std::uint64_t file, const std::string& from, const std::string& to) {
    events.push_back({.kind = Kind::rename, .file = file, .text = from + '\0' + to});
    return *this;
  }
  Trace& unlink(std::string name) {
    events.push_back({.kind = Kind::unlink, .text = std::move(name)});
    return *this;
  }
  Trace& begin_sync(std::uint64_t file, std::uint64_t offset = 0,
                    std::uint64_t bytes = whole_file) {
    events.push_back(
        {.kind = Kind::sync, .file = file, .offset = offset, .length = bytes, .ticket = ++tickets});
    return *this;
  }
  Trace& end_sync() {
    events.push_back({.kind = Kind::synced, .ticket = tickets});
    return *this;
  }
  Trace& fail_sync() {
    events.push_back({.kind = Kind::sync_failed, .ticket = tickets});
    return *this;
  }
  Trace& sync(std::uint64_t file, std::uint64_t offset = 0, std::uint64_t bytes = whole_file) {
    return begin_sync(file, offset, bytes).end_sync();
  }
  Trace& sync_names() {
    events.push_back({.kind = Kind::sync_names, .ticket = ++tickets});
    return end_sync();
  }
  Trace& mark(std::string text) {
    events.push_back({.kind = Kind::mark, .text = std::move(text)});
    return *this;
  }
};

std::string letters(char letter, std::size_t sectors) {
  return std::string(sectors * sector, letter);
}

// Every disk that the seeds give at the end of a trace.
std::set<std::map<std::string, std::string>> disks(const Trace& trace,
                                                   DiskAfterCut::Names names = {},
                                                   std::size_t from_end = 0) {
  DiskAfterCut disk(trace.events, names);
  disk.cut_at(disk.events() - from_end);
  std::set<std::map<std::string, std::string>> found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) found.insert(disk.files(seed));
  return found;
}

// Of the only file: the first letter of each of its sectors, '0' for a zero.
std::set<std::string> contents(const Trace& trace, std::size_t from_end = 0) {
  std::set<std::string> found;
  for (const auto& files : disks(trace, {}, from_end)) {
    EXPECT_EQ(files.size(), 1u);
    std::string seen;
    const std::string& bytes = files.begin()->second;
    for (std::size_t at = 0; at < bytes.size(); at += sector)
      seen += bytes[at] == '\0' ? '0' : bytes[at];
    found.insert(seen);
  }
  return found;
}

TEST(DiskAfterCut, LosesAndKeepsWhatIsNotSyncedInAnyOrder) {
  Trace trace;
  trace.exists(1, "f", letters('a', 2))
      .write(1, 0, letters('b', 1))
      .write(1, sector, letters('c', 1));
  EXPECT_EQ(contents(trace), (std::set<std::string>{"aa", "ba", "ac", "bc"}));
}

TEST(DiskAfterCut, ASyncAfterAFailedOneKeepsOnlyWhatWasWrittenAgain) {
  Trace trace;
  trace.exists(1, "f", letters('a', 2))
      .write(1, 0, letters('b', 1))
      .write(1, sector, letters('c', 1))
      .begin_sync(1)
      .fail_sync()
      .write(1, sector, letters('c', 1))
      .sync(1);
  EXPECT_EQ(contents(trace), (std::set<std::string>{"ac", "bc"}));
}

TEST(DiskAfterCut, ASectorHoldsAnyOfItsVersions) {
  Trace trace;
  trace.exists(1, "f", letters('a', 1));
  for (const char letter : {'b', 'c', 'd'}) trace.write(1, 0, letters(letter, 1));
  EXPECT_EQ(contents(trace), (std::set<std::string>{"a", "b", "c", "d"}));
}

TEST(DiskAfterCut, TearsWritesAtSectorsAndAtPages) {
  Trace trace;
  trace.exists(1, "f", letters('a', 16)).write(1, 0, letters('b', 16));
  const auto found = contents(trace);
  bool inside_a_page = false;
  for (const std::string& one : found)
    inside_a_page |= one.substr(0, 8).find_first_not_of(one[0]) != std::string::npos;
  EXPECT_TRUE(inside_a_page);
  EXPECT_TRUE(found.contains("aaaaaaaabbbbbbbb"));
  EXPECT_TRUE(found.contains("bbbbbbbbaaaaaaaa"));
}

TEST(DiskAfterCut, SomeSeedsKeepAllUpToOneMomentAndSomeAllAfterIt) {
  constexpr std::size_t sectors = 40;
  Trace trace;
  trace.exists(1, "f", letters('a', sectors));
  for (std::size_t i = 0; i < sectors; ++i) trace.write(1, i * sector, letters('b', 1));
  bool until = false, since = false;
  for (const std::string& one : contents(trace)) {
    const std::size_t turn = one.find_first_not_of(one[0]);
    if (turn == std::string::npos || turn < 5 || turn > sectors - 5) continue;
    if (one.substr(turn) != std::string(sectors - turn, one[turn])) continue;
    (one[0] == 'b' ? until : since) = true;
  }
  EXPECT_TRUE(until);
  EXPECT_TRUE(since);
}

TEST(DiskAfterCut, ASyncKeepsBytesAndLengthOnceItHasEnded) {
  Trace trace;
  trace.exists(1, "f", letters('a', 1)).write(1, 0, letters('b', 2)).begin_sync(1);
  trace.write(1, sector, letters('c', 1)).end_sync();
  // What came after its beginning is not covered.
  EXPECT_EQ(contents(trace), (std::set<std::string>{"bb", "bc"}));
  // Before its end it covers nothing: the length may be old, or be there without bytes.
  const auto before = contents(trace, 1);
  for (const char* const one : {"a", "b", "a0", "b0", "ab", "bb", "bc"})
    EXPECT_TRUE(before.contains(one)) << one;
}

TEST(DiskAfterCut, ASyncOfARangeKeepsThatRangeAndTheLength) {
  Trace trace;
  trace.exists(1, "f", letters('a', 1)).write(1, 0, letters('b', 3)).sync(1, sector, sector);
  EXPECT_EQ(contents(trace), (std::set<std::string>{"ab0", "bb0", "abb", "bbb"}));
}

TEST(DiskAfterCut, WhatWasCutOffComesBackAsZeroOrAsItWas) {
  Trace trace;
  trace.exists(1, "f", letters('a', 2)).length(1, 0).sync(1).length(1, 2 * sector);
  EXPECT_EQ(contents(trace), (std::set<std::string>{"", "00"}));
}

TEST(DiskAfterCut, ANewFileIsThereOnceItsDirectoryIsSynced) {
  Trace trace;
  trace.create(1, "f").write(1, 0, "x").sync(1);
  const std::map<std::string, std::string> none, there = {{"f", "x"}};
  EXPECT_EQ(disks(trace), (std::set<std::map<std::string, std::string>>{none, there}));
  trace.sync_names();
  EXPECT_EQ(disks(trace), (std::set<std::map<std::string, std::string>>{there}));
}

TEST(DiskAfterCut, ARenameIsAtomicAndWithoutASyncOfTheFileItMayBeEmpty) {
  Trace trace;
  trace.exists(1, "f", "old").create(2, "tmp").write(2, 0, "new").sync_names();
  trace.rename(2, "tmp", "f");
  std::set<std::string> seen;
  for (const auto& files : disks(trace)) {
    EXPECT_EQ(files.contains("tmp"), files.at("f") == "old");
    seen.insert(files.at("f"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"old", "", "new", std::string(3, '\0')}));
}

TEST(DiskAfterCut, NamesComeAloneOrInOrder) {
  Trace trace;
  trace.create(1, "a").create(2, "b").unlink("a");
  const auto shown = [&](DiskAfterCut::Names names) {
    std::set<std::string> all;
    for (const auto& files : disks(trace, names)) {
      std::string one;
      for (const auto& [name, bytes] : files) one += name;
      all.insert(one);
    }
    return all;
  };
  EXPECT_EQ(shown(DiskAfterCut::Names::each_alone), (std::set<std::string>{"", "a", "b", "ab"}));
  EXPECT_EQ(shown(DiskAfterCut::Names::in_order), (std::set<std::string>{"", "a", "ab", "b"}));
  trace.events.pop_back();
  EXPECT_EQ(shown(DiskAfterCut::Names::each_alone), (std::set<std::string>{"", "a", "b", "ab"}));
  EXPECT_EQ(shown(DiskAfterCut::Names::in_order), (std::set<std::string>{"", "a", "ab"}));
}

TEST(DiskAfterCut, TellsTheMarksBeforeACutAndGoesBack) {
  Trace trace;
  trace.create(1, "f").mark("one").write(1, 0, "x").mark("two");
  DiskAfterCut disk(trace.events);
  disk.cut_at(4);
  EXPECT_EQ(disk.marks(), (std::vector<std::string>{"one", "two"}));
  disk.cut_at(2);
  EXPECT_EQ(disk.marks(), (std::vector<std::string>{"one"}));
  disk.cut_at(0);
  EXPECT_TRUE(disk.is_certain());
  EXPECT_TRUE(disk.files(1).empty());
}

TEST(DiskAfterCut, WhatExistedIsThereAtTheFirstCut) {
  Trace trace;
  trace.exists(1, "f", "a").exists(2, "g", "b").write(1, 0, "x");
  DiskAfterCut disk(trace.events);
  disk.cut_at(0);
  EXPECT_EQ(disk.files(0), (std::map<std::string, std::string>{{"f", "a"}, {"g", "b"}}));
}

TEST(DiskAfterCut, RebuildsADirectory) {
  const detail::ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "disk");
  detail::write_whole(scratch / "disk" / "stale", {});
  Trace trace;
  trace.exists(1, "sub/f", letters('a', 3)).exists(2, "empty", "");
  DiskAfterCut disk(trace.events);
  disk.cut_at(2);
  disk.rebuild(7, scratch / "disk");
  EXPECT_EQ(detail::read_whole(scratch / "disk" / "sub/f").size(), 3 * sector);
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "disk" / "empty"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "disk" / "stale"));
}

// Random traces against a model that keeps, for each sector, the set of what it may hold.
TEST(DiskAfterCut, NeverLosesWhatIsSyncedAndMakesUpNothing) {
  constexpr std::size_t sectors = 12;
  std::size_t lost = 0, kept = 0, late_kept_and_early_lost = 0;
  for (std::uint32_t round = 0; round < 300; ++round) {
    std::mt19937 random(round);
    Trace trace;
    trace.exists(1, "f", letters('a', sectors));
    std::vector<std::set<char>> may(sectors, {'a'});
    std::string now(sectors, 'a');
    for (int step = 0; step < 14; ++step) {
      const std::size_t first = random() % sectors;
      const std::size_t count = 1 + random() % (sectors - first);
      if (random() % 4 != 0) {
        const char letter = static_cast<char>('b' + step);
        trace.write(1, first * sector, letters(letter, count));
        for (std::size_t i = first; i < first + count; ++i) may[i].insert(now[i] = letter);
      } else {
        trace.sync(1, first * sector, count * sector);
        for (std::size_t i = first; i < first + count; ++i) may[i] = {now[i]};
      }
    }
    DiskAfterCut disk(trace.events);
    disk.cut_at(disk.events());
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::string bytes = disk.files(seed).at("f");
      ASSERT_EQ(bytes.size(), sectors * sector);
      char latest = 'a', oldest_lost = 'z';
      for (std::size_t i = 0; i < sectors; ++i) {
        const char found = bytes[i * sector];
        ASSERT_EQ(bytes.substr(i * sector, sector), letters(found, 1));
        ASSERT_TRUE(may[i].contains(found)) << "round " << round << " sector " << i;
        latest = std::max(latest, found);
        if (found != now[i]) oldest_lost = std::min(oldest_lost, now[i]);
        (found == now[i] ? kept : lost) += may[i].size() > 1;
      }
      late_kept_and_early_lost += oldest_lost < latest;
    }
  }
  EXPECT_GT(lost, 1000u);
  EXPECT_GT(kept, 1000u);
  EXPECT_GT(late_kept_and_early_lost, 1000u);
}

}  // namespace
}  // namespace bloomery::cuts
