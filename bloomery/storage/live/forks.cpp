#include <bloomery/storage/live/forks.hpp>

#include <pthread.h>

#include <atomic>

namespace bloomery::inline v0::detail {
namespace {

std::atomic<ForkCount> forks = 0;

}  // namespace

ForkCount forks_so_far() {
  [[maybe_unused]] static const int counted =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace bloomery::inline v0::detail
