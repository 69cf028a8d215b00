// Threads of one process add to a live file, by one handle or by one each, while it is synced in
// the background: each key is new to exactly one of them, until the file is closed or sealed.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/image.hpp>
#include <bloomery/live.hpp>
#include <tests/storage/scratch_directory.hpp>

#include "live_superblock.hpp"

namespace bloomery {
namespace {

constexpr unsigned threads = 4;
constexpr std::size_t batch_keys = 50;
// In the bytes of the file, and as a log.
constexpr std::array kinds = {"blocked", "sharded", "compact", "chain"};

class LiveFileOfThreads {
 public:
  LiveFileOfThreads(const char* kind, std::size_t keys) : told_(keys) {
    const auto empty = AnySet::make(kind, {.keys = 2 * keys, .rate = 1e-9});
    if (!empty) throw std::runtime_error(empty.error().sentence);
    // A short log, so that there are many checkpoints.
    const auto made = create_live(path(), *empty, {.log_bytes = 8192});
    if (!made) throw std::runtime_error(made.error().sentence);
    for (std::size_t i = 0; i < keys; ++i) names_.push_back("key " + std::to_string(i));
  }

  std::string path() const { return directory_ / "F"; }
  AnyLiveSet open(Durability durability = Durability::interval) const {
    auto live = AnyLiveSet::open(path(), {.durability = durability, .interval_ms = 1});
    if (!live) throw std::runtime_error(live.error().sentence);
    return std::move(*live);
  }

  // All keys, beginning elsewhere in each thread. Returns the Error that ended it.
  std::string add_all(AnyLiveSet& live, unsigned thread) {
    const std::size_t batches = names_.size() / batch_keys;
    std::array<bool, batch_keys> fresh{};
    for (std::size_t i = 0; i < batches; ++i) {
      const std::size_t first = (i + thread * batches / threads) % batches * batch_keys;
      const std::vector<std::string_view> keys(
          names_.begin() + static_cast<std::ptrdiff_t>(first),
          names_.begin() + static_cast<std::ptrdiff_t>(first + batch_keys));
      if (const auto added = live.set().add_all(keys, fresh); !added) return added.error().sentence;
      for (std::size_t key = 0; key < batch_keys; ++key) told_[first + key] += fresh[key];
      ++batches_;
      // What this thread added it finds.
      if (!live.set().may_contain(keys.back()).value()) return "a key is lost";
    }
    return {};
  }

  // Each thread with a handle; returns what ended them.
  std::vector<std::string> run(const std::vector<AnyLiveSet*>& handles,
                               const std::function<void()>& meanwhile = {}) {
    std::vector<std::string> ends(threads);
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < threads; ++thread)
      all.emplace_back(
          [&, thread] { ends[thread] = add_all(*handles[thread % handles.size()], thread); });
    if (meanwhile) meanwhile();
    for (std::thread& one : all) one.join();
    return ends;
  }
  void wait_for_batches(std::size_t batches) const {
    while (batches_ < batches) std::this_thread::yield();
  }

  void expect_each_new_once() const {
    for (std::size_t key = 0; key < told_.size(); ++key)
      ASSERT_EQ(told_[key], 1) << "times that " << names_[key] << " was new";
  }
  // Of a file in which not all were added: those that were are in it, and were new once.
  void expect_told_in(const AnySet& set) const {
    std::size_t found = 0;
    for (std::size_t key = 0; key < told_.size(); ++key) {
      ASSERT_LE(told_[key], 1) << names_[key];
      if (told_[key] == 0) continue;
      ASSERT_TRUE(set.may_contain(names_[key]).value()) << names_[key] << " is lost";
      ++found;
    }
    EXPECT_GT(found, 0U);
  }

 private:
  detail::ScratchDirectory directory_;
  std::vector<std::string> names_;
  std::vector<std::atomic<int>> told_;
  std::atomic<std::size_t> batches_ = 0;
};

TEST(LiveThreads, OfOneHandleAreToldOfEachKeyOnce) {
  for (const char* const kind : kinds) {
    SCOPED_TRACE(kind);
    LiveFileOfThreads file(kind, 5000);
    AnyLiveSet live = file.open();
    const auto ends = file.run({&live}, [&] {
      for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(live.sync());
        EXPECT_TRUE(live.checkpoint());
        EXPECT_LE(live.set().adds(), 5000U);
      }
    });
    for (const std::string& end : ends) EXPECT_EQ(end, "");
    file.expect_each_new_once();
    EXPECT_EQ(live.set().adds(), 5000U);
    const auto closed = live.close();
    EXPECT_TRUE(closed) << closed.error().sentence;
    const auto verified = verify_image(file.path());
    EXPECT_TRUE(verified) << verified.error().sentence;
  }
}

TEST(LiveThreads, WithAHandleEachAreToldOfEachKeyOnce) {
  for (const char* const kind : kinds) {
    SCOPED_TRACE(kind);
    LiveFileOfThreads file(kind, 3000);
    std::vector<AnyLiveSet> live;
    std::vector<AnyLiveSet*> handles;
    for (const Durability durability :
         {Durability::interval, Durability::every, Durability::interval, Durability::none})
      live.push_back(file.open(durability));
    for (AnyLiveSet& one : live) handles.push_back(&one);
    for (const std::string& end : file.run(handles)) EXPECT_EQ(end, "");
    file.expect_each_new_once();
    for (AnyLiveSet& one : live) EXPECT_TRUE(one.close());
    const auto verified = verify_image(file.path());
    EXPECT_TRUE(verified) << verified.error().sentence;
  }
}

// One of them puts a file with a shorter log in its place, from which all read their copy again.
TEST(LiveThreads, AskOneHandleWhileItsLogIsShortened) {
  const detail::ScratchDirectory directory;
  const std::string path = directory / "F";
  constexpr std::size_t pieces = 25, piece_keys = 8192;
  const Want want{.keys = pieces * piece_keys, .rate = 1e-3};
  ASSERT_TRUE(create_live(path, AnySet::make("compact", want).value()));
  auto live = AnyLiveSet::open(path, {.durability = Durability::none}).value();
  ASSERT_TRUE(live.set().add("first"));
  std::atomic<bool> done = false;
  std::thread asking([&] {
    const std::string_view key = "first";
    bool found = false;
    while (!done) {
      const auto asked = live.set().may_contain_all(std::span(&key, 1), std::span(&found, 1));
      EXPECT_TRUE(asked) << asked.error().sentence;
      EXPECT_TRUE(found);
      if (!asked || !found) break;
    }
  });
  std::vector<Hash> hashes(piece_keys);
  const ino_t before = live_test::number_of_file(path);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    for (std::size_t i = 0; i < piece_keys; ++i)
      hashes[i] = Hasher()(std::to_string(piece * piece_keys + i));
    EXPECT_TRUE(live.set().add_all(std::span<const Hash>(hashes)));
  }
  EXPECT_TRUE(live.checkpoint());
  done = true;
  asking.join();
  EXPECT_NE(live_test::number_of_file(path), before) << "its log was not shortened";
}

// While a reader waits for one who opens or closes the file, the log grows beyond what the reader
// has mapped, and the last one closes it.
TEST(LiveThreads, OpenAFileToAskWhileItsLogGrows) {
  const detail::ScratchDirectory directory;
  const std::string path = directory / "F";
  ASSERT_TRUE(create_live(path, AnySet::make("hash-set", {.keys = 100'000}).value()));
  auto writer = AnyLiveSet::open(path, {.durability = Durability::none}).value();
  ASSERT_TRUE(writer.set().add("first"));
  const auto door = detail::SharedFile::open(path, detail::SharedFile::Access::change).value();
  ASSERT_TRUE(door.lock_door());
  std::size_t found = 0;
  std::thread asking([&] {
    const auto reader = AnyLiveSet::open(path, {.read_only = true}).value();
    for (int i = 0; i < 20'000; ++i) found += reader.set().may_contain(std::to_string(i)).value();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is at the door by now, or not
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(writer.set().add(std::to_string(i)));
  door.unlock_door();
  ASSERT_TRUE(writer.close());
  asking.join();
  EXPECT_EQ(found, 20'000U);
}

TEST(LiveThreads, AreRefusedOnceItIsSealed) {
  for (const char* const kind : kinds) {
    SCOPED_TRACE(kind);
    LiveFileOfThreads file(kind, 20'000);
    AnyLiveSet one = file.open(), other = file.open();
    const auto ends = file.run({&one, &other}, [&] {
      file.wait_for_batches(20);
      const auto sealed = seal_live(file.path());
      EXPECT_TRUE(sealed) << sealed.error().sentence;
    });
    for (const std::string& end : ends)
      EXPECT_TRUE(end.empty() || end.find("was sealed") != std::string::npos) << end;
    EXPECT_FALSE(is_live(file.path()).value());
    const auto set = AnySet::open(file.path());
    ASSERT_TRUE(set) << set.error().sentence;
    file.expect_told_in(*set);
  }
}

TEST(LiveThreads, AreRefusedOnceTheirHandleIsClosed) {
  for (const char* const kind : kinds) {
    SCOPED_TRACE(kind);
    LiveFileOfThreads file(kind, 20'000);
    AnyLiveSet live = file.open();
    const auto ends = file.run({&live}, [&] {
      file.wait_for_batches(20);
      const auto closed = live.close();
      EXPECT_TRUE(closed) << closed.error().sentence;
    });
    for (const std::string& end : ends)
      EXPECT_TRUE(end.empty() || end.find("was closed") != std::string::npos) << end;
    const auto set = AnySet::open(file.path());
    ASSERT_TRUE(set) << set.error().sentence;
    file.expect_told_in(*set);
    const auto verified = verify_image(file.path());
    EXPECT_TRUE(verified) << verified.error().sentence;
  }
}

}  // namespace
}  // namespace bloomery
