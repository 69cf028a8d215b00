// Slots of a Redis Cluster: which of the 16384 a key belongs to, and tags that choose one.
//
//    slot = CRC-16/XMODEM(what is between the first { and the next }, else the whole key) mod 16384
//
// For programs that send commands of their own through a RedisRouter, or that want keys of theirs
// beside each other.
//
// Example:
//    const unsigned slot = slot_of("seen");        // the same as that of "hits:{seen}"
//    const std::string tag(tag_of_slot(slot));
//    const std::string beside = "hits:{" + tag + "}:7";
//    if (slot_of(beside) != slot) crawl("never");  // one command may use both keys
//
// A tag for every slot: the smallest decimal number that falls into it, so that "set.g1:{tag}:7"
// lies where we want it.
// Errors:  none.
// Limits:  a slot must be below cluster_slots.
// Threads: any number.
#pragma once

#include <cstdint>
#include <string_view>

namespace bloomery::inline v0 {

inline constexpr unsigned cluster_slots = 16384;

unsigned slot_of(std::string_view key);
// Decimal; slot_of("{" + tag + "}") == slot. Valid for ever.
std::string_view tag_of_slot(unsigned slot);

}  // namespace bloomery::inline v0
