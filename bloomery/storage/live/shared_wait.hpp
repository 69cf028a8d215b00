#pragma once
// Waiting for a number in memory that processes share: std::atomic::wait() wakes up only threads of
// its own process.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace bloomery::inline v0::detail {

// Those who wait for the same change of the number: a bit each, or several of them. Where the
// system cannot wake up some and not others, all look again.
using WaitGroups = std::uint32_t;
constexpr WaitGroups all_groups = ~WaitGroups{0};
constexpr WaitGroups group_of(std::uint32_t value) { return WaitGroups{1} << (value % 32); }

// Returns when another process or thread has woken up one of the groups, or after `longest`: who
// should do so may have been killed. So look again, and in a loop. Returns at once when `value` is
// not `seen`; if it changes later, only a wake-up of its groups, or the time, ends the wait.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest, WaitGroups groups = all_groups);

// Adds one, and wakes up all who wait.
void tell_change(std::atomic<std::uint32_t>& value);

// Adds one, and wakes up all in the group of the number before, and one of those in the group of
// the number that it is now. Of several who do so at once, each has a number of its own.
void tell_group(std::atomic<std::uint32_t>& value);

}  // namespace bloomery::inline v0::detail
