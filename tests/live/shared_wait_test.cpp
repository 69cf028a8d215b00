// Waiting for a number that processes share: those who wait are told, or look again after a while.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <bloomery/storage/live/shared_wait.hpp>

namespace bloomery::detail {
namespace {

using namespace std::chrono_literals;
using Number = std::atomic<std::uint32_t>;
// Far longer than any test takes: who returns after it was not told.
constexpr auto for_ever = std::chrono::milliseconds(10min);

void wait_until(const Number& number, std::uint32_t value) {
  for (std::uint32_t seen = number; seen != value; seen = number)
    wait_for_change(number, seen, for_ever);
}

TEST(SharedWait, ANumberThatHasChangedIsNotWaitedFor) {
  const Number number{7};
  wait_for_change(number, 6, for_ever);
}

TEST(SharedWait, NobodyTellsOfAProcessThatWasKilled) {
  const Number number{7};
  wait_for_change(number, 7, 5ms);
  EXPECT_EQ(number, 7U);
}

TEST(SharedWait, AllThreadsThatWaitAreTold) {
  Number number{0}, told{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i)
    waiting.emplace_back([&] {
      for (std::uint32_t value = 1; value <= 100; ++value) {
        for (std::uint32_t seen = number; seen < value; seen = number)
          wait_for_change(number, seen, for_ever);
        ++told;
      }
    });
  for (int i = 0; i < 100; ++i) tell_change(number);
  for (std::thread& one : waiting) one.join();
  EXPECT_EQ(told, 400U);
}

// Does the system say that this thread sleeps? It comes behind the name, which is in brackets.
bool is_asleep(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

TEST(SharedWait, ThreadsOfAnotherGroupSleepOnThoughTheNumberChanges) {
  Number number{0}, now_awake{0}, later_awake{0};
  std::array<std::atomic<pid_t>, 4> ids{};
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < ids.size(); ++i)
    waiting.emplace_back([&, i] {
      const bool is_later = i >= 2;
      ids[i] = ::gettid();
      wait_for_change(number, 0, for_ever, group_of(is_later ? 1 : 0));
      ++(is_later ? later_awake : now_awake);
    });
  for (const auto& id : ids)
    while (id == 0 || !is_asleep(id)) std::this_thread::yield();

  // Both of the number before, and one of those who wait for the next end.
  tell_group(number);
  while (now_awake < 2 || later_awake < 1) std::this_thread::yield();
  EXPECT_EQ(later_awake, 1U);
  tell_group(number);
  for (std::thread& one : waiting) one.join();
  EXPECT_EQ(later_awake, 2U);
}

TEST(SharedWait, AnotherProcessIsTold) {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const numbers = new (page) Number[2]{};
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::uint32_t value = 1; value <= 100; ++value) {
      wait_until(numbers[0], value);
      tell_change(numbers[1]);
    }
    ::_exit(0);
  }
  for (std::uint32_t value = 1; value <= 100; ++value) {
    tell_change(numbers[0]);
    wait_until(numbers[1], value);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::munmap(page, 4096);
}

}  // namespace
}  // namespace bloomery::detail
