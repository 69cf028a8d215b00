// Writers of one live file are killed at any moment (kill -9): what they acknowledged is there,
// nothing was new to two of them, and the file opens.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/image.hpp>
#include <tests/live/acknowledged.hpp>
#include <tests/storage/scratch_directory.hpp>

extern char** environ;

namespace bloomery {
namespace {

using live_test::Acknowledged;

constexpr std::size_t keys_a_batch = 20;
constexpr std::array kinds = {"blocked", "compact", "classic",  "hash-set", "split-block",
                              "bitmap",  "chain",   "counting", "sharded",  "cuckoo"};

std::uint64_t rounds_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Writer {
 public:
  explicit Writer(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (posix_spawn(&process_, pointers[0], &actions, nullptr, pointers.data(), environ) != 0)
      throw std::runtime_error("live_writer cannot be started");
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }
  void kill() const { ::kill(process_, SIGKILL); }
  void ask_to_end() const { ::kill(process_, SIGTERM); }
  // What it said, whole lines only; the status as waitpid gives it.
  int end(Acknowledged& known) {
    std::string text;
    std::array<char, 65536> piece;
    for (ssize_t got; (got = ::read(out_, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(got));
    ::close(out_);
    text.resize(text.rfind('\n') + 1);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) known.take(line);
    int status = 0;
    ::waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
  int out_ = -1;
};

TEST(LiveKills, NothingAcknowledgedIsLost) {
  const std::uint64_t rounds = rounds_of("BLOOMERY_LIVE_KILLS", 100);
  const std::uint64_t first_seed = rounds_of("BLOOMERY_LIVE_SEED", 1);
  std::uint64_t killed = 0, batches = 0, recovered = 0;
  for (std::uint64_t round = 0; killed < rounds; ++round) {
    const std::uint64_t seed = first_seed + round;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const detail::ScratchDirectory directory;
    const std::string path = directory / "F", kind = kinds[round % kinds.size()];
    const unsigned writers = 1 + random() % 4;
    const char* const durability = std::array{"every", "none", "interval"}[random() % 3];
    Acknowledged known(seed, keys_a_batch);
    // Twice over the same file: the second ones begin with what the first ones left.
    for (int life = 0; life < 2; ++life) {
      std::vector<Writer> all;
      for (unsigned writer = 0; writer < writers; ++writer)
        all.emplace_back(std::vector<std::string>{
            BLOOMERY_LIVE_WRITER, path, kind, std::to_string(writer), std::to_string(seed),
            "100000", std::to_string(keys_a_batch), durability, "4096"});
      std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 12'000));
      std::shuffle(all.begin(), all.end(), random);
      // In some rounds the last one outlives the others, and closes what they have left.
      const Writer* const survivor = random() % 2 == 0 ? &all.back() : nullptr;
      for (Writer& one : all) {
        if (&one == survivor)
          one.ask_to_end();
        else
          one.kill();
        if (random() % 2 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      }
      for (Writer& one : all) {
        const int status = one.end(known);
        if (&one == survivor) {
          const bool too_early = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
          ASSERT_TRUE(status == 0 || too_early) << "a writer could not close, with " << status;
          continue;
        }
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            << "a writer ended by itself, with " << status;
        ++killed;
      }
    }
    batches += known.batches();
    if (!std::filesystem::exists(path)) {
      ASSERT_EQ(known.batches(), 0U);
      continue;
    }
    known.expect_new_to_one_only();
    const auto read = AnySet::open(path);
    ASSERT_TRUE(read) << read.error().sentence;
    {
      auto live = AnyLiveSet::open(path);
      ASSERT_TRUE(live) << live.error().sentence;
      recovered += live->recovery().was_cut;
      known.expect_in(live->set());
      ASSERT_TRUE(live->close());
    }
    const auto verified = verify_image(path);
    ASSERT_TRUE(verified) << verified.error().sentence;
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%llu writers killed, %llu batches acknowledged, %llu files recovered, seeds from %llu\n",
      static_cast<unsigned long long>(killed), static_cast<unsigned long long>(batches),
      static_cast<unsigned long long>(recovered), static_cast<unsigned long long>(first_seed));
  EXPECT_GT(batches, 0U);
  EXPECT_GT(recovered, 0U);
}

}  // namespace
}  // namespace bloomery
