# The package for Python with the address and undefined-behaviour sanitizers. The interpreter is not
# built with them: it gets Clang's run time by LD_PRELOAD, the command, which has its own, must not.
#
# Best with BLOOMERY_PYTHON=/usr/bin/python3-dbg, as the preset clang has it: that build of CPython
# asserts what extensions must keep to, and counts the references to all objects (leak_test.py).
execute_process(
  COMMAND "${CMAKE_CXX_COMPILER}" --print-runtime-dir
  OUTPUT_VARIABLE runtime_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(runtime "${runtime_folder}/libclang_rt.asan-${CMAKE_HOST_SYSTEM_PROCESSOR}.so")
if(NOT EXISTS "${runtime}")
  message(FATAL_ERROR "${runtime} is missing: install the sanitizers of ${CMAKE_CXX_COMPILER}, on "
    "Debian libclang-rt-14-dev, or configure with -DBLOOMERY_BUILD_PYTHON=OFF")
endif()
file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/bloomery" CONTENT [=[
#!/bin/sh
unset LD_PRELOAD
exec "$<TARGET_FILE:bloomery_cli>" "$@"
]=] FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)

# Not those that mostly run others: Scrapy, pandas, pip, mypy, Redis.
foreach(name IN ITEMS arrow bulk doc keys leak live misuse)
  add_test(NAME python_sanitized_${name}
    COMMAND "${python_program}" "${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py")
  set_tests_properties(python_sanitized_${name} PROPERTIES
    TIMEOUT 600
    # What CPython itself keeps until its end is no leak of ours; leak_test.py looks for ours.
    ENVIRONMENT "LD_PRELOAD=${runtime};ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1:allocator_may_return_null=1;BLOOMERY=${CMAKE_CURRENT_BINARY_DIR}/bloomery;BLOOMERY_SOURCE=${PROJECT_SOURCE_DIR};BLOOMERY_BUILD=${PROJECT_BINARY_DIR};PYTHONPATH=${PROJECT_BINARY_DIR}/python:${CMAKE_CURRENT_SOURCE_DIR};BLOOMERY_LEAK_CYCLES=20000;BLOOMERY_BUILT_FOR_IT=1")
endforeach()
