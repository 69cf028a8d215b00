// A loop invariant, typed so that stores to the bit array cannot alias it.
//
// Adding a key stores to words of type std::uint64_t. If an invariant of the set (its seed, its
// number of blocks) had that type too, the compiler would have to assume that each store changes
// it, and would load it again for each key. With another type it stays in a register while a
// caller's loop adds keys. A key that waits for memory then takes fewer places in the reorder
// window, so the CPU starts more later loads early (docs/benchmarks.md "One by one").
// Plain on purpose: the kernel files, which are compiled for wider CPUs, use this type too.
// With std::uint64_t instead, adding integers one by one to a set of 1.2 MB took 1.07 to 1.15 times
// as long (GCC 12, -O3 -march=native); a set of 120 MB, where memory decides, as long as before.
// One alias for every file and CPU, so the layout of what has it is the same everywhere.
// Limits:  helps only where std::uint64_t is unsigned long, as on Linux, and where the stores use
//          the type of the words: the types of the intrinsics may alias anything
//          (native_line.hpp). Measured with GCC -O3, which splits the loop at the call on its
//          slow path. For Clang all vector types may alias anything; for GCC's link-time
//          optimization the two integer types are one.
#pragma once

namespace bloomery::inline v0::detail {

using Steady = unsigned long long;

}  // namespace bloomery::inline v0::detail
