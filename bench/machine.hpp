// What the numbers were measured on, as far as it explains them.
#pragma once

#include <cstdint>
#include <string>

namespace bloomery::bench {

struct Machine {
  std::string cpu;  // as it calls itself
  unsigned cores = 0;
  // Of one core's second level and of the last level; 0 where the system does not tell.
  std::uint64_t l2_bytes = 0;
  std::uint64_t l3_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;  // that programs can still have
  std::string huge_pages;        // "always", "madvise", "never" or "unknown"
  std::string kernels;           // the row in use
};

Machine this_machine();

}  // namespace bloomery::bench
