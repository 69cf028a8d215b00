// Which lanes of a line a round of k probes takes, looked up instead of computed for each key.
//
//    k = 3, start = 6:   lanes 6, 7, 0        (block.hpp: lanes start, start + 1, ... mod 8)
//
//    windows     1 1 0 0 0 0 0 1 1 1 0 ...    eight words from 7 - start on, one for each lane
//    turned      1 0 0 0 0 0 1 1              lane i takes byte start - i (mod 8)
//
// Plain on purpose: the kernel files, which are compiled for wider CPUs, read it too.
#pragma once

#include <cstdint>

#include <bloomery/detail/hash/steady.hpp>

namespace bloomery::inline v0::detail {

struct LaneRuns {
  std::uint64_t windows[9][16];  // [k][7 - s + i]: 1 if lane i is in the run of k from s, else 0
  Steady turned[9];              // [k]: byte i is 1 if lane s - i is in it
};

inline constexpr LaneRuns lane_runs = [] {
  LaneRuns runs{};
  for (unsigned probes = 0; probes <= 8; ++probes)
    for (unsigned i = 0; i < 16; ++i) {
      runs.windows[probes][i] = (i + 1) % 8 < probes;
      if (i < 8 && (8 - i) % 8 < probes) runs.turned[probes] |= Steady{1} << (8 * i);
    }
  return runs;
}();

struct Kernels;

// A round of 1 to 8 probes, prepared once for many keys.
struct Round {
  Steady turned;  // here, not behind a pointer that would be loaded again for each key
  const std::uint64_t* windows;
  const Kernels* row;  // for callers that are compiled for any CPU
  std::uint32_t probes;
};

}  // namespace bloomery::inline v0::detail
