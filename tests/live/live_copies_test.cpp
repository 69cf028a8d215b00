// Copies of live files that were made while others added, also put back under the name and number
// of the file itself; programs that leave, fork, or meet a file that another one has replaced.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/image.hpp>
#include <bloomery/live.hpp>
#include <tests/storage/scratch_directory.hpp>

#include "live_superblock.hpp"

namespace bloomery {
namespace {

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

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Over what is there: the file keeps its number.
void put_back(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
}

class LiveCopies : public testing::Test {
 protected:
  std::string path(const std::string& name = "F") const { return directory_.path() / name; }
  void create(const char* kind = "blocked", std::uint64_t log_bytes = 0,
              std::uint64_t keys = 50'000) const {
    const auto empty = AnySet::make(kind, {.keys = keys, .rate = 1e-6});
    ASSERT_TRUE(create_live(path(), empty.value(), {.log_bytes = log_bytes}));
  }
  AnyLiveSet opened(Durability durability = Durability::none) const {
    return AnyLiveSet::open(path(), {.durability = durability}).value();
  }
  // `cp` reads the beginning, others add, and it reads the rest: from the runtime page on, or from
  // the log on.
  std::string slow_copy(AnyLiveSet& live, std::uint64_t first, std::uint64_t count,
                        bool page_early) const {
    std::string early = bytes_of(path());
    for (std::uint64_t i = 0; i < count; i += 100) add(live, names(first + i, 100));
    const std::string late = bytes_of(path());
    const std::uint64_t at =
        live_test::newest_superblock(path()).file_bytes + (page_early ? detail::page_bytes : 0);
    return early.replace(at, std::string::npos, late, at);
  }

  detail::ScratchDirectory directory_;
};

TEST_F(LiveCopies, ACopyThatIsPutBackOverTheFileIsRecovered) {
  for (const bool page_early : {true, false}) {
    SCOPED_TRACE(page_early);
    std::filesystem::remove(path());
    create();
    std::string copy;
    {
      auto live = opened();
      add(live, names(0, 1000));
      copy = slow_copy(live, 1000, 1000, page_early);
    }
    put_back(path(), copy);
    // Those who only ask, and those who look at its sums.
    EXPECT_EQ(absent(AnySet::open(path()).value(), names(0, 2000)), 0U);
    const auto asked = AnyLiveSet::open(path(), {.read_only = true});
    ASSERT_TRUE(asked) << asked.error().sentence;
    EXPECT_EQ(absent(asked->set(), names(0, 2000)), 0U);
    {
      auto live = opened();
      EXPECT_TRUE(live.recovery().was_cut);
      EXPECT_EQ(absent(live.set(), names(0, 2000)), 0U);
      EXPECT_EQ(add(live, names(0, 2000)), 0U);
      EXPECT_EQ(add(live, names(2000, 10)), 10U);
    }
    const auto sound = verify_image(path());
    EXPECT_TRUE(sound) << sound.error().sentence;
    EXPECT_EQ(AnySet::open(path()).value().adds(), 2010U);
  }
}

// While the copy was made the log went through both regions, with the epochs that the copy would
// have used next.
TEST_F(LiveCopies, RecordsOfTheOriginalNeverCountInACopyThatGoesOn) {
  create("blocked", 8192);
  std::string copy;
  {
    auto live = opened();
    copy = slow_copy(live, 0, 6000, true);
  }
  std::ofstream(path("copy"), std::ios::binary) << copy;
  const auto keys = names(0, 6000);
  std::size_t missing = 0;
  for (int round = 0; round < 3; ++round) {
    {
      auto live = AnyLiveSet::open(path("copy"), {.durability = Durability::none});
      ASSERT_TRUE(live) << live.error().sentence;
      const std::size_t now = absent(live->set(), keys);
      if (round == 0) missing = now;
      EXPECT_EQ(now, missing) << "keys neither come nor go";
      add(*live, names(100'000 + 1000 * static_cast<std::uint64_t>(round), 7));
    }
    EXPECT_EQ(absent(AnySet::open(path("copy")).value(), keys), missing);
    const auto sound = verify_image(path("copy"));
    EXPECT_TRUE(sound) << sound.error().sentence;
  }
}

TEST_F(LiveCopies, ACopyBegunWhileItWasClosedSaysThatItHasNoSums) {
  create();
  { add(*std::make_unique<AnyLiveSet>(opened()), names(0, 100)); }
  std::string copy = bytes_of(path());
  {
    auto live = opened();
    add(live, names(100, 5000));
    const std::string late = bytes_of(path());
    copy.replace(2 * detail::slot_bytes, std::string::npos, late, 2 * detail::slot_bytes);
  }
  std::ofstream(path("copy"), std::ios::binary) << copy;
  const auto sound = verify_image(path("copy"));
  ASSERT_FALSE(sound);
  EXPECT_EQ(sound.error().code, Code::unsupported) << sound.error().sentence;
  auto live = AnyLiveSet::open(path("copy"));
  ASSERT_TRUE(live) << live.error().sentence;
  EXPECT_TRUE(live->recovery().was_cut);
  EXPECT_EQ(absent(live->set(), names(0, 5100)), 0U);
  ASSERT_TRUE(live->close());
  EXPECT_TRUE(verify_image(path("copy")));
}

// A sector of the log was lost, and the one behind it was not: what it says must not come back.
TEST_F(LiveCopies, ALogThatGrowsNeverTakesUpAnEpochAgain) {
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    std::filesystem::remove(path());
    create("hash-set");
    const std::uint64_t log_at =
        live_test::newest_superblock(path()).file_bytes + detail::page_bytes;
    {
      auto live = opened();
      add(live, names(0, 30));  // 512 bytes
      ASSERT_TRUE(live.set().clear());
      std::filesystem::copy_file(path(), path("cut"));
    }
    std::filesystem::rename(path("cut"), path());
    {
      std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(log_at));
      file << std::string(512, '\0');
    }
    live_test::restart_system(path());
    if (killed) {  // after recovery, before the first record
      const pid_t child = ::fork();
      if (child == 0) {
        const auto live = AnyLiveSet::open(path());
        if (live) ::kill(::getpid(), SIGKILL);
      }
      ::waitpid(child, nullptr, 0);
    }
    {
      auto live = opened(Durability::every);
      EXPECT_EQ(add(live, names(1000, 30)), 30U);
    }
    EXPECT_EQ(absent(opened().set(), names(1000, 30)), 0U);
    std::filesystem::remove(path("cut"));
  }
}

TEST_F(LiveCopies, WhoOpensAsAnotherClosesIsAlone) {
  create();
  auto one = opened();
  add(one, names(0, 10));
  ASSERT_TRUE(one.close());  // and lives on
  auto other = opened();
  EXPECT_FALSE(live_test::says_closed(path()));
  EXPECT_EQ(add(other, names(10, 10)), 10U);
}

TEST_F(LiveCopies, AChildOfForkDoesNotCloseTheFileOfItsParent) {
  create();
  for (const Durability durability : {Durability::every, Durability::interval}) {
    auto live = opened(durability);
    add(live, names(0, 10));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      const bool refused = !live.set().add("x");
      { const auto gone = std::move(live); }
      ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(live_test::says_closed(path()));
    add(live, names(10, 10));
    ASSERT_TRUE(live.close());
  }
}

TEST_F(LiveCopies, AFileThatWasReplacedByAProcessThatEndedTakesNoMoreKeys) {
  create("hash-set");
  auto live = opened();
  add(live, names(0, 10));
  {
    const live_test::SharedPage page(path());
    page->retiring = static_cast<std::uint32_t>(detail::Retired::replaced);
  }
  // It ended before the new file had the name.
  EXPECT_EQ(add(live, names(10, 10)), 10U);
  {
    const live_test::SharedPage page(path());
    page->retiring = static_cast<std::uint32_t>(detail::Retired::sealed);
  }
  ASSERT_TRUE(AnySet::open(path()).value().save(path("sealed")));
  std::filesystem::rename(path("sealed"), path());
  const auto added = live.set().add("x");
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().sentence.find("was sealed"), std::string::npos);
}

// Who put it there has not told those who have the old one open, or ended before it could.
TEST_F(LiveCopies, ThoseWhoOnlyAskGoOnInTheNewFile) {
  create("hash-set");
  const auto reader = AnyLiveSet::open(path(), {.read_only = true});
  ASSERT_TRUE(reader) << reader.error().sentence;
  auto attached = opened();
  add(attached, names(0, 10));
  EXPECT_EQ(absent(reader->set(), names(0, 10)), 0U);
  const auto old = live_test::number_of_file(path());
  {
    const live_test::SharedPage page(path());
    auto writer = opened();
    for (std::uint64_t i = 0; i < 200'000; i += 1000) add(writer, names(i, 1000));
    ASSERT_TRUE(writer.checkpoint());
    ASSERT_NE(live_test::number_of_file(path()), old);
    page->retired = 0;
    page->retiring = static_cast<std::uint32_t>(detail::Retired::replaced);
  }
  auto writer = opened(Durability::every);
  EXPECT_EQ(add(writer, names(199'000, 2000)), 1000U);
  EXPECT_EQ(absent(reader->set(), names(0, 201'000)), 0U);
  EXPECT_EQ(absent(attached.set(), names(0, 201'000)), 0U);
}

// A file with a shorter log took the place of the one that is open, and then another set did: of
// another hash, another kind, or another layout.
TEST_F(LiveCopies, AnotherSetUnderTheNameIsNotTakenForTheNextFile) {
  struct Other {
    const char* kind;
    std::uint64_t seed;
  };
  for (const Other& other :
       {Other{"compact", 77}, Other{"compact", 0}, Other{"hash-set", 0}, Other{"blocked", 0}}) {
    SCOPED_TRACE(std::string(other.kind) + " " + std::to_string(other.seed));
    std::filesystem::remove(path());
    create("compact", 0, 400'000);
    const auto reader = AnyLiveSet::open(path(), {.read_only = true}).value();
    auto idle = opened(Durability::every);
    {
      auto writer = opened();
      for (std::uint64_t i = 0; i < 300'000; i += 1000) add(writer, names(i, 1000));
      ASSERT_TRUE(writer.checkpoint());
      EXPECT_FALSE(idle.set().may_contain("absent").value());  // follows
    }
    auto second = opened();
    for (std::uint64_t i = 300'000; i < 700'000; i += 1000) add(second, names(i, 1000));
    ASSERT_TRUE(second.checkpoint());
    auto made = AnySet::make(other.kind, {.keys = 400'000, .rate = 1e-4}, Hasher(other.seed));
    ASSERT_TRUE(create_live(path("other"), made.value()));
    std::filesystem::rename(path("other"), path());
    const auto asked = reader.set().may_contain("k0");
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, Code::mismatch);
    const std::string_view key = "late";
    const auto added = idle.set().add_all(std::span(&key, 1));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().sentence, path() + " was replaced by another set; open it again");
  }
}

// Its writer was killed: whoever recovers it must know what it is.
TEST_F(LiveCopies, AnotherSetUnderTheNameIsNotRecoveredByThoseWhoLookForTheNextFile) {
  create("compact", 0, 400'000);
  auto idle = opened();
  auto writer = opened();
  for (std::uint64_t i = 0; i < 300'000; i += 1000) add(writer, names(i, 1000));
  ASSERT_TRUE(writer.checkpoint());
  const auto other = AnySet::make("blocked", {.keys = 50'000, .rate = 1e-6});
  ASSERT_TRUE(create_live(path("other"), other.value()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto live = AnyLiveSet::open(path("other"), {.durability = Durability::none}).value();
    add(live, names(0, 1000));
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  std::filesystem::rename(path("other"), path());
  const std::string_view key = "late";
  const auto added = idle.set().add_all(std::span(&key, 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::mismatch);
  auto live = opened();
  EXPECT_TRUE(live.recovery().was_cut);
  EXPECT_EQ(live.recovery().keys, 1000U);
  EXPECT_EQ(absent(live.set(), names(0, 1000)), 0U);
}

// It was copied in the moment in which a file with a shorter log took its place.
TEST_F(LiveCopies, ThePageOfACopyDoesNotTellThatItWasReplaced) {
  create("hash-set");
  {
    auto live = opened();
    add(live, names(0, 100));
    const live_test::SharedPage page(path());
    page->retired = static_cast<std::uint32_t>(detail::Retired::replaced);
    std::filesystem::copy_file(path(), path("copy"));
    page->retired = 0;
  }
  const auto reader = AnyLiveSet::open(path("copy"), {.read_only = true}).value();
  const auto asked = reader.set().may_contain("k0");
  ASSERT_TRUE(asked) << asked.error().sentence;
  EXPECT_EQ(absent(reader.set(), names(0, 100)), 0U);
}

TEST_F(LiveCopies, ARelativeNameIsThatOfTheDirectoryWhereItWasOpened) {
  create("hash-set");
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const auto before = live_test::number_of_file("F");
  auto live = AnyLiveSet::open("F", {.durability = Durability::none});
  std::filesystem::create_directory("sub");
  std::filesystem::current_path("sub");
  for (std::uint64_t i = 0; i < 200'000; i += 1000) add(live.value(), names(i, 1000));
  const auto shortened = live->checkpoint();
  EXPECT_TRUE(shortened) << shortened.error().sentence;
  EXPECT_NE(live_test::number_of_file(path()), before);
  EXPECT_FALSE(std::filesystem::exists("F"));
  std::filesystem::current_path(here);
  EXPECT_EQ(add(*live, names(0, 10)), 0U);
  EXPECT_EQ(absent(opened().set(), names(199'000, 1000)), 0U);
}

TEST_F(LiveCopies, AFileThatLostItsNameToAnotherIsNotWrittenOverIt) {
  create("hash-set");
  auto live = opened();
  for (std::uint64_t i = 0; i < 200'000; i += 1000) add(live, names(i, 1000));
  std::filesystem::rename(path(), path("old"));
  create("hash-set");
  auto next = opened();
  EXPECT_EQ(add(next, names(0, 100)), 100U);
  static_cast<void>(live.checkpoint().has_value());
  EXPECT_EQ(absent(opened().set(), names(0, 100)), 0U);
  EXPECT_EQ(add(next, names(100, 1)), 1U);
  EXPECT_EQ(opened().set().adds(), 101U);
}

TEST_F(LiveCopies, AReaderOfAFileThatWasNotRecoveredSeesWhatComesLater) {
  create();
  const std::string fresh = bytes_of(path());
  {
    auto live = opened();
    add(live, names(0, 1000));
    std::filesystem::copy_file(path(), path("cut"));
  }
  // Nothing of the payload has reached the disk.
  std::string cut = bytes_of(path("cut"));
  const auto block = live_test::newest_superblock(path());
  const std::uint64_t from = block.table.offset + block.table.length;
  cut.replace(from, block.file_bytes - from, fresh, from, block.file_bytes - from);
  put_back(path(), cut);
  live_test::restart_system(path());
  const auto reader = AnyLiveSet::open(path(), {.read_only = true});
  ASSERT_TRUE(reader) << reader.error().sentence;
  EXPECT_EQ(absent(reader->set(), names(0, 1000)), 0U);
  auto live = opened();
  add(live, names(1000, 1000));
  EXPECT_EQ(absent(reader->set(), names(0, 2000)), 0U);
}

#ifdef __GLIBC__
// The system marks the locks of a thread that ends, but not where it cannot write to their page.
TEST_F(LiveCopies, ALockWhoseDeadOwnerIsNotMarkedIsTaken) {
  create();
  auto live = opened(Durability::every);
  add(live, names(0, 10));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  {
    // Also where this thread has got the number of the dead one.
    const live_test::SharedPage page(path());
    page->add_lock.__data.__lock = ::gettid();
    page->sync_lock.__data.__lock = child;
    page->checkpoint_lock.__data.__lock = child;
  }
  EXPECT_EQ(add(live, names(0, 20)), 10U);
  EXPECT_TRUE(live.checkpoint());
  ASSERT_TRUE(live.close());
  EXPECT_EQ(absent(opened().set(), names(0, 20)), 0U);
}
#endif

TEST_F(LiveCopies, SumsAreGoodWhileThreadsAdd) {
  create("blocked", 1 << 16, 2'000'000);
  auto live = opened();
  std::atomic<bool> is_over = false;
  std::thread adding([&] {
    for (std::uint64_t i = 0; !is_over; i += 50) add(live, names(i, 50));
  });
  for (int i = 0; i < 60; ++i) {
    const auto sound = verify_image(path());
    EXPECT_TRUE(sound) << sound.error().sentence;
  }
  is_over = true;
  adding.join();
}

TEST_F(LiveCopies, DamageIsNotSealed) {
  for (const char* const kind : {"blocked", "counting", "compact"}) {
    SCOPED_TRACE(kind);
    std::filesystem::remove(path());
    auto full = AnySet::make(kind, {.keys = 50'000, .rate = 1e-6}).value();
    for (const std::string& key : names(0, 1000)) ASSERT_TRUE(full.add(key));
    ASSERT_TRUE(create_live(path(), full));
    const auto block = live_test::newest_superblock(path());
    std::string bytes = bytes_of(path());
    std::size_t at = block.table.offset + block.table.length + 4096;
    while (bytes[at] == 0) ++at;
    bytes[at] = static_cast<char>(bytes[at] & (bytes[at] - 1));
    put_back(path(), bytes);
    const auto sealed = seal_live(path());
    ASSERT_FALSE(sealed);
    EXPECT_EQ(sealed.error().code, Code::damaged) << sealed.error().sentence;
    EXPECT_TRUE(is_live(path()).value());
    EXPECT_FALSE(verify_image(path()));
    // Sets that are read as a whole are looked at as a whole.
    EXPECT_EQ(AnyLiveSet::open(path()).has_value(), kind == std::string("blocked"));
  }
}

TEST_F(LiveCopies, OneVerbWaitsForOneSyncHoweverManyKeysItBrings) {
  for (const char* const kind : {"blocked", "counting", "hash-set"}) {
    SCOPED_TRACE(kind);
    std::filesystem::remove(path());
    create(kind);
    auto live = opened(Durability::every);
    const live_test::SharedPage page(path());
    const std::uint32_t before = page->syncs;
    EXPECT_EQ(add(live, names(0, 20'000)), 20'000U);
    EXPECT_EQ(page->syncs - before, 1U);
    EXPECT_EQ(page->durable, page->published);
    if (kind != std::string("counting")) continue;
    const auto keys = names(0, 5000);
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    ASSERT_TRUE(live.set().remove_all(std::span<const std::string_view>(views)));
    EXPECT_EQ(page->durable, page->published);
    EXPECT_EQ(page->syncs - before, 2U);
  }
}

TEST_F(LiveCopies, ASetToWhichLittleIsAddedHasAShortLogOnTheDisk) {
  create("blocked", 0, 8'000'000);
  struct stat facts {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  const auto image = live_test::newest_superblock(path()).file_bytes;
  EXPECT_GT(static_cast<std::uint64_t>(facts.st_size), 10 * image);
  EXPECT_LT(static_cast<std::uint64_t>(facts.st_blocks) * 512, image + (2U << 20));
  auto live = opened();
  for (std::uint64_t i = 0; i < 400'000; i += 100) add(live, names(i, 100));
  ASSERT_TRUE(live.close());
  EXPECT_EQ(absent(opened().set(), names(0, 400'000)), 0U);
}

}  // namespace
}  // namespace bloomery
