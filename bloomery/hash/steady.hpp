// A number that is the same for all the keys of a set, in a type that no word of a set has.
//
// Whatever is added is stored to words, which are std::uint64_t. Of a number of that type inside
// the set a compiler must take it that any store to a word may change it, and reads it anew for
// each key; of another type it knows better, and keeps it in a register while a caller's loop adds
// key after key. A key that waits for memory then takes less of the window in which the CPU begins
// the waits of later ones (docs/benchmarks.md "One by one").
// Plain on purpose: the kernel files, which are compiled for wider CPUs, read such numbers too.
// Limits:  of use only where std::uint64_t is unsigned long, as on Linux, and where the stores have
//          the type of words, not that of the intrinsics, which may be anything
//          (bits/native_line.hpp); by GCC with -O3, which splits a loop where it leaves a call
//          behind. To Clang all vectors may be anything, to link-time optimization by GCC both
//          types are one.
#pragma once

namespace bloomery {

using Steady = unsigned long long;

}  // namespace bloomery
