// A law that every input must keep. Where one is broken, its sentence is printed and the program
// ends, so that libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bloomery::fuzz {

inline void must(bool holds, const char* law) {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "broken law: %s\n", law);
  std::abort();
}

// The same, and what was said instead.
inline void must(bool holds, const char* law, const std::string& said) {
  if (!holds) std::fprintf(stderr, "%s\n", said.c_str());
  must(holds, law);
}

}  // namespace bloomery::fuzz
