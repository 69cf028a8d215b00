// The CPU that a file is compiled for, as a type.
//
// Whatever inlines wider instructions into a caller has it as a template argument, up to the verbs
// of Set:
//
//    Set<BlockedBloom>::add<unsigned long, AnyCpu>       in a file for any CPU
//    Set<BlockedBloom>::add<unsigned long, Avx512Cpu>    in a file for a CPU with AVX-512
//
// The linker keeps one of all the definitions of an inline function or template, whichever file it
// is from. Under one name, a file for any CPU would run the AVX-512 body of another, and end with
// SIGILL on an older CPU. Under two names each file has its own.
// Limits:  what the compiler itself makes of -march in code that files share (a copy of 32 bytes in
//          one register, in std::vector say) has one name in C++, and is not ours to rename: give
//          all files that the older CPU runs the same flags.
//          The default argument Cpu = ThisCpu names another type in a file for another CPU, which
//          the standard does not allow for one class; compilers put the type at hand into the name
//          at each call, so nothing comes of it but names that differ, as they must.
// See:     tests/mixed_cpu.
#pragma once

namespace bloomery::inline v0::detail {

struct AnyCpu {};  // calls the kernel of the CPU it runs on
struct Avx2Cpu {};
struct Avx512Cpu {};
struct NeonCpu {};  // every aarch64: there no file is for an older CPU than another

#if defined(__AVX512F__) && defined(__AVX512DQ__)
using ThisCpu = Avx512Cpu;
#elif defined(__AVX2__)
using ThisCpu = Avx2Cpu;
#elif defined(__aarch64__)
using ThisCpu = NeonCpu;
#else
using ThisCpu = AnyCpu;
#endif

}  // namespace bloomery::inline v0::detail
