// Is this still the process that opened a file? A child of fork() has its locks, not its threads.
#pragma once

#include <cstdint>

namespace bloomery::inline v0::detail {

// How often this process was forked off since forks_so_far() was called first, by it or by one that
// it was forked off from. Cheaper than getpid(), which asks the system.
using ForkCount = std::uint32_t;
ForkCount forks_so_far();

}  // namespace bloomery::inline v0::detail
