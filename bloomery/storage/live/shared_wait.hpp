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

// Returns when another process or thread has woken up one of the groups, when `value` is not `seen`
// (any more), or after `longest`: who should do so may have been killed. So look again, and in a
// loop. Who waits goes on waiting while the number changes and another group is woken up.
void wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen,
                     std::chrono::nanoseconds longest, WaitGroups groups = all_groups);

// Adds one, and wakes up at once all who wait in one of the groups.
void tell_change(std::atomic<std::uint32_t>& value, WaitGroups groups = all_groups);

// Wakes up one of those who wait in one of the groups; the number stays.
void wake_one(const std::atomic<std::uint32_t>& value, WaitGroups groups);

}  // namespace bloomery::inline v0::detail
