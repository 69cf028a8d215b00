// bloomery bench in a build without benchmarks, in place of bench.cpp: says how to get them.
#include "command.hpp"

namespace bloomery::cli {

Command bench_command() {
  return {
      .name = "bench",
      .summary = "how fast every kind is; this build has no benchmarks",
      .usage = "bench",
      .story = R"(The benchmarks take longer to compile than any other command, and few need them.
In the source folder, `scripts/run bench` builds a command that has them, as CMake
does with -DBLOOMERY_BUILD_BENCH=ON.

Exit codes: 2 error.

Examples:
  scripts/run bench --quick
)",
      .run = {},
      .absent =
          "this build has no benchmarks; in the source folder 'scripts/run bench' makes one "
          "that has, as CMake does with -DBLOOMERY_BUILD_BENCH=ON",
  };
}

}  // namespace bloomery::cli
