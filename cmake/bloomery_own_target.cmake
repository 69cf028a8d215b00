# Warnings for a target of ours. Those who use the library never inherit them.
function(bloomery_own_target target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns of overlap inside its own `"literal" + std::string` (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(BLOOMERY_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# Counts which edges of its code were taken, for the fuzzers, and tells them what was compared with
# what. Beside the tests only the counts: calls at each comparison would make tests a third slower.
# Programs that are no fuzzers link it as it is, since the sanitizers have functions for all this.
function(bloomery_watched target)
  if(BLOOMERY_FUZZ AND BLOOMERY_BUILD_TESTS)
    target_compile_options(${target} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
  elseif(BLOOMERY_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# What the suite compiles with the address sanitizer for the warnings alone, and does not run. The
# libraries it links stay sanitized.
function(bloomery_only_compiled target)
  if(BLOOMERY_SANITIZE MATCHES "address")
    target_compile_options(${target} PRIVATE -fno-sanitize=all -O0 -g0)
  endif()
endfunction()

# bloomery_precompile(TARGET [HEADERS...])   what most files of the target read is read once
# bloomery_precompile(TARGET AS OTHER)       with the precompiled headers of OTHER
#
# GCC 12 forgets that a precompiled header is a system header, and warns about what it inlines of
# std::string. So not where its warnings are errors, which also shows that each file includes what it
# uses; nor with shared libraries, whose options differ from one to the other.
function(bloomery_precompile target)
  if(BUILD_SHARED_LIBS)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(BLOOMERY_WERROR)
      return()
    endif()
    target_compile_options(${target} PRIVATE
      -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  if(ARGC EQUAL 3 AND ARGV1 STREQUAL "AS")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <functional>
      <memory> <mutex> <optional> <span> <string> <string_view> <utility> <vector> ${ARGN})
  endif()
endfunction()
