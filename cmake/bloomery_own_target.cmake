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

# bloomery_precompile(TARGET [HEADERS...])   what most files of the target read is read once
# bloomery_precompile(TARGET AS OTHER)       with the precompiled headers of OTHER
#
# GCC 12 forgets that a precompiled header is a system header, and warns about what it inlines of
# std::string. So not where warnings are errors, which also shows that each file includes what it
# uses; nor with shared libraries, whose options differ from one to the other.
function(bloomery_precompile target)
  if(BLOOMERY_WERROR OR BUILD_SHARED_LIBS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  if(ARGC EQUAL 3 AND ARGV1 STREQUAL "AS")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <functional>
      <memory> <mutex> <optional> <span> <string> <string_view> <utility> <vector> ${ARGN})
  endif()
endfunction()
