// How large the caches are: what bulk verbs choose their sizes by, instead of by those of one
// machine (docs/benchmarks.md "Choices by the caches").
// Threads: looked up once, by the first call, which may come from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace bloomery::inline v0::detail {

// Of one core's second level and of the level that the cores share, in bytes. What the system does
// not tell is 0 in what was found, and a middling server's in what is used.
struct Caches {
  std::uint64_t second = 0;
  std::uint64_t shared = 0;
};

// As the system tells them of the first core, in a directory with index0/level, index0/size, ...
Caches caches_told_in(const std::string& directory);

// Of this machine, with nothing left at 0.
const Caches& caches();

}  // namespace bloomery::inline v0::detail
