// Logarithms, exponentials and powers whose last digit is the same on every machine.
//
// Those of the C libraries differ in it: from library to library, and within one from CPU to CPU.
// A plan would then have another rate, and now and then another shape, in another program; and the
// page could not promise the numbers of the command. Here only + - * / are used, which IEEE 754
// fixes to the bit.
//
// Computed with some 70 bits and rounded once: all but one in a thousand results are the nearest
// double there is, and none is off by more than 0.51 of a unit in the last place.
// Limits:  some 30 ns each; for planning, not for every key.
// Threads: any number.
// See:     real_test, which holds them against 64-bit mantissas.
#pragma once

namespace bloomery::inline v0::detail::real {

double log(double x);
double log2(double x);
double log1p(double x);
double exp(double x);
double expm1(double x);
// x >= 0.
double pow(double x, double y);

}  // namespace bloomery::inline v0::detail::real
