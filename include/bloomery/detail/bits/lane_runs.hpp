// Which lanes of a line a round of k probes takes, looked up instead of computed for each key.
//
//    k = 3, start = 6:   lanes 6, 7, 0        (block.hpp: lanes start, start + 1, ... mod 8)
//
//    ones        1 0 0 0 0 0 1 1              a word for each lane, on a cache line of its own
//    turned      1 0 0 0 0 0 1 1              lane i takes byte start - i (mod 8)
//
// Plain on purpose: the kernel files, which are compiled for wider CPUs, read it too.
#pragma once

#include <cstdint>

#include <bloomery/detail/hash/steady.hpp>

namespace bloomery::inline v0::detail {

struct LaneRuns {
  // [k][s][i]: 1 if lane i is in the run of k from s, else 0. On lines of their own: runs that
  // overlapped took less room, but every other load crossed a cache line.
  alignas(64) std::uint64_t ones[9][8][8];
  Steady turned[9];  // [k]: byte i is 1 if lane s - i is in it
};

inline constexpr LaneRuns lane_runs = [] {
  LaneRuns runs{};
  for (unsigned probes = 0; probes <= 8; ++probes)
    for (unsigned i = 0; i < 8; ++i) {
      for (unsigned start = 0; start < 8; ++start)
        runs.ones[probes][start][i] = (i + 8 - start) % 8 < probes;
      if ((8 - i) % 8 < probes) runs.turned[probes] |= Steady{1} << (8 * i);
    }
  return runs;
}();

struct Kernels;

// A round of 1 to 8 probes, prepared once for many keys.
struct Round {
  Steady turned;  // here, not behind a pointer that would be loaded again for each key
  const std::uint64_t (*ones)[8];  // [start][lane]
  const Kernels* row;              // for callers that are compiled for any CPU
  std::uint32_t probes;
};

}  // namespace bloomery::inline v0::detail
