#pragma once
// Waiting for a number in memory that processes share: std::atomic::wait() wakes up only threads of
// its own process.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace bloomery::inline v0::detail {

// Returns when another process or thread has told of a change, when `value` is not `seen` (any
// more), or after `longest`: who should tell may have been killed. So look again, and in a loop.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest);

// All who wait are woken up at once.
void tell_change(std::atomic<std::uint32_t>& value);

}  // namespace bloomery::inline v0::detail
