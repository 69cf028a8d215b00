// Processes that end between two instructions: between every two stores that belong together.
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <bloomery/image.hpp>
#include <bloomery/live.hpp>
#include <tests/storage/scratch_directory.hpp>

#include "live_superblock.hpp"

namespace bloomery {
namespace {

using live_test::SharedPage;

std::vector<std::string> names(std::uint64_t first, std::uint64_t count) {
  std::vector<std::string> made;
  for (std::uint64_t i = first; i < first + count; ++i) made.push_back("k" + std::to_string(i));
  return made;
}

std::size_t add(AnyLiveSet& live, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  return live.set().add_all(std::span<const std::string_view>(views)).value();
}

std::size_t absent(const AnySet& set, const std::vector<std::string>& keys) {
  std::size_t count = 0;
  for (const std::string& key : keys) count += set.may_contain(key).value() ? 0 : 1;
  return count;
}

// A child that does `work` once it was told to, one instruction after the other.
class Stepped {
 public:
  explicit Stepped(const std::function<void()>& work) : process_(::fork()) {
    if (process_ != 0) {
      ::waitpid(process_, nullptr, 0);  // until it has stopped itself
      return;
    }
    ::alarm(300);
    work();
    ::_exit(0);
  }
  ~Stepped() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Stepped(const Stepped&) = delete;
  Stepped& operator=(const Stepped&) = delete;

  // In the child: from here on.
  static void stop_here() {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
  }
  // False if it ended before.
  bool step_until(const std::function<bool()>& moment) const {
    for (;;) {
      if (moment()) return true;
      int status = 0;
      if (::ptrace(PTRACE_SINGLESTEP, process_, nullptr, nullptr) != 0) return false;
      if (::waitpid(process_, &status, 0) != process_ || !WIFSTOPPED(status)) return false;
    }
  }

 private:
  pid_t process_;
};

class ExactKills : public testing::Test {
 protected:
  std::string path(const std::string& name = "F") const { return directory_.path() / name; }
  void create(const char* kind, const Want& want, std::uint64_t log_bytes) const {
    const auto empty = AnySet::make(kind, want);
    ASSERT_TRUE(create_live(path(), empty.value(), {.log_bytes = log_bytes}));
  }
  AnyLiveSet opened(Durability durability) const {
    return AnyLiveSet::open(path(), {.durability = durability}).value();
  }

  // A process does `first`, and is killed in `second` when a record is there and is not counted.
  void stop_behind_its_record(const std::function<void(AnyLiveSet&)>& first,
                              const std::function<void(AnyLiveSet&)>& second) const {
    const auto block = live_test::newest_superblock(path());
    const std::uint64_t log_bytes = block.live.regions * block.live.region_bytes;
    const auto file = detail::SharedFile::open(path(), detail::SharedFile::Access::read).value();
    const auto log = file.map(block.file_bytes + detail::page_bytes, log_bytes).value();
    const SharedPage page(path());
    const Stepped one([&] {
      auto live = opened(Durability::every);
      first(live);
      Stepped::stop_here();
      second(live);
    });
    ASSERT_TRUE(one.step_until([&] {
      const std::uint64_t region =
          block.live.regions == 2 ? (page->epoch & 1) * block.live.region_bytes : 0;
      return page->intent == 0 && log.bytes()[region + page->published] != std::byte{};
    }));
  }

  detail::ScratchDirectory directory_;
};

TEST_F(ExactKills, ACheckpointBeginsInOneStep) {
  create("blocked", {.keys = 100'000, .rate = 1e-4}, 1 << 20);
  AnyLiveSet other = opened(Durability::every);
  const SharedPage page(path());
  {
    const Stepped one([&] {
      auto live = opened(Durability::every);
      for (std::uint64_t i = 0; i < 10; ++i) add(live, names(100 * i, 100));
      Stepped::stop_here();
      static_cast<void>(live.checkpoint().has_value());
    });
    ASSERT_TRUE(one.step_until([&] {
      return page->starts[(page->epoch + 1) & 1] == page->published && page->published > 0 &&
             page->epoch == page->saved_epoch;
    }));
  }
  EXPECT_EQ(add(other, names(5000, 1)), 1U);
  EXPECT_TRUE(verify_image(path()));
  std::filesystem::copy_file(path(), path("cut"));
  ASSERT_TRUE(other.close());
  EXPECT_EQ(opened(Durability::none).set().adds(), 1001U);
  live_test::restart_system(path("cut"));
  const auto cut = AnyLiveSet::open(path("cut"));
  ASSERT_TRUE(cut) << cut.error().sentence;
  EXPECT_EQ(absent(cut->set(), names(0, 1000)), 0U);
}

TEST_F(ExactKills, ARecordThatCountsIsNotMadeOnceMore) {
  create("bitmap", {.range = Range{0, (1U << 20) - 1}}, 1 << 20);
  const auto numbers = [](std::uint64_t first, std::uint64_t count) {
    std::vector<Ordinal> made;
    for (std::uint64_t i = first; i < first + count; ++i) made.push_back(Ordinal{i});
    return made;
  };
  AnyLiveSet other = opened(Durability::none);
  const SharedPage page(path());
  {
    const Stepped one([&] {
      auto live = opened(Durability::none);
      static_cast<void>(live.set().add_all(std::span<const Ordinal>(numbers(0, 7))).value());
      Stepped::stop_here();
      static_cast<void>(live.set().add_all(std::span<const Ordinal>(numbers(7, 20))).value());
    });
    const std::uint64_t before = page->published;
    ASSERT_TRUE(one.step_until([&] { return page->published != before && page->intent != 0; }));
  }
  EXPECT_EQ(other.set().add_all(std::span<const Ordinal>(numbers(27, 3))).value(), 3U);
  ASSERT_TRUE(other.close());
  live_test::restart_system(path());
  const auto again = AnyLiveSet::open(path());
  ASSERT_TRUE(again) << again.error().sentence;
  EXPECT_EQ(again->recovery().keys, 30U);
  for (const Ordinal n : numbers(0, 30)) EXPECT_TRUE(again->set().may_contain(n).value());
}

// A kill takes effect when a call returns: the record is there, and nothing says so yet.
TEST_F(ExactKills, ARecordThatNobodyKnowsOfIsNotTakenForACopy) {
  create("blocked", {.keys = 100'000, .rate = 1e-4}, 1 << 20);
  stop_behind_its_record([&](AnyLiveSet& live) { add(live, names(0, 100)); },
                         [&](AnyLiveSet& live) { add(live, names(100, 100)); });
  auto live = opened(Durability::none);
  EXPECT_TRUE(live.recovery().was_cut);
  EXPECT_EQ(live.recovery().summed_bytes, 0U);
  EXPECT_EQ(absent(live.set(), names(0, 100)), 0U);
  ASSERT_TRUE(live.close());
  EXPECT_TRUE(verify_image(path()));
}

// All keys of the add were there already. What it would have counted as new is not known.
TEST_F(ExactKills, KeysOfAnAddThatDidNotBeginAreNotCounted) {
  create("blocked", {.keys = 100'000, .rate = 1e-4}, 1 << 20);
  stop_behind_its_record([&](AnyLiveSet& live) { add(live, names(0, 100)); },
                         [&](AnyLiveSet& live) { add(live, names(0, 100)); });
  {
    auto live = opened(Durability::none);
    EXPECT_TRUE(live.recovery().was_cut);
    EXPECT_EQ(live.set().adds(), 100U);
    EXPECT_EQ(add(live, names(100, 5)), 5U);
    EXPECT_EQ(live.set().adds(), 105U);
  }
  EXPECT_TRUE(verify_image(path()));
  EXPECT_EQ(AnySet::open(path()).value().adds(), 105U);
}

// A reader that comes while another program opens or closes the file must not take a record that
// is written over next.
TEST_F(ExactKills, AReaderDoesNotTakeARecordThatDoesNotCount) {
  for (const std::uint64_t later : {5, 10, 20}) {
    SCOPED_TRACE(later);
    std::filesystem::remove(path());
    create("hash-set", {.keys = 100'000}, 0);
    auto other = opened(Durability::every);
    stop_behind_its_record([](AnyLiveSet&) {},
                           [&](AnyLiveSet& live) { add(live, names(1000, 10)); });
    const auto door = detail::SharedFile::open(path(), detail::SharedFile::Access::change).value();
    ASSERT_TRUE(door.lock_door());
    const auto reader = AnyLiveSet::open(path(), {.read_only = true});
    ASSERT_TRUE(reader) << reader.error().sentence;
    door.unlock_door();
    EXPECT_EQ(add(other, names(0, later)), later);
    EXPECT_EQ(absent(reader->set(), names(0, later)), 0U);
  }
}

// Some of the keys are new: these are moved together in the log. Killed after each of the first
// instructions of that, everything whose bits are set must be in a record.
TEST_F(ExactKills, NoNewKeyIsLostWhileTheyAreMovedTogether) {
  const std::vector<std::string> old = names(0, 40);
  std::vector<std::string> mixed;
  for (std::uint64_t i = 0; i < 40; ++i) {
    mixed.push_back(old[i]);
    mixed.push_back("new" + std::to_string(i));
  }
  for (const std::uint64_t skipped : {0, 1, 2, 3, 5, 8, 13, 21, 34, 55}) {
    std::filesystem::remove(path());
    create("blocked", {.keys = 100'000, .rate = 1e-6}, 1 << 20);
    AnyLiveSet other = opened(Durability::none);
    const SharedPage page(path());
    const auto block = live_test::newest_superblock(path());
    const detail::SharedFile shared =
        detail::SharedFile::open(path(), detail::SharedFile::Access::read).value();
    const detail::Memory mapped =
        shared.map(block.file_bytes + detail::page_bytes, 2 * block.live.region_bytes).value();
    const auto log = [&] {
      const std::uint64_t at = (page->epoch & 1) * block.live.region_bytes + page->published -
                               page->starts[page->epoch & 1] + detail::LogRecord::head_bytes;
      const auto words = mapped.bytes().subspan(at, 8 * mixed.size());
      return std::string(reinterpret_cast<const char*>(words.data()), words.size());
    };
    std::string intended;
    std::uint64_t since = 0;
    {
      const Stepped one([&] {
        auto live = opened(Durability::none);
        add(live, old);
        Stepped::stop_here();
        add(live, mixed);
      });
      const bool reached = one.step_until([&] {
        if (page->intent == 0) return false;
        if (intended.empty()) intended = log();
        if (since == 0 && log() == intended) return false;
        return since++ == skipped;
      });
      if (!reached) break;
    }
    add(other, {"x"});
    // Whatever is in the payload is also there after a power cut that has lost all of the payload.
    const AnySet now = AnySet::open(path()).value();
    std::filesystem::remove(path("cut"));
    std::filesystem::copy_file(path(), path("cut"));
    {
      std::fstream cut(path("cut"), std::ios::in | std::ios::out | std::ios::binary);
      const std::uint64_t from = block.table.offset + block.table.length;
      cut.seekp(static_cast<std::streamoff>(from));
      cut << std::string(block.file_bytes - from, '\0');
    }
    live_test::restart_system(path("cut"));
    const auto cut = AnyLiveSet::open(path("cut"));
    ASSERT_TRUE(cut) << cut.error().sentence;
    for (const std::string& key : mixed) {
      if (!now.may_contain(key).value()) continue;
      EXPECT_TRUE(cut->set().may_contain(key).value()) << key << " " << skipped;
    }
  }
}

}  // namespace
}  // namespace bloomery
