# Finds liblz4 and gives it the name its own CMake package uses: LZ4::lz4.
# Installed beside bloomeryConfig.cmake, because Debian ships no package file for it.
find_path(lz4_INCLUDE_DIR lz4frame.h)
find_library(lz4_LIBRARY lz4)
mark_as_advanced(lz4_INCLUDE_DIR lz4_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(lz4
  REQUIRED_VARS lz4_LIBRARY lz4_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "On Debian it is the package liblz4-dev")

if(lz4_FOUND AND NOT TARGET LZ4::lz4)
  add_library(LZ4::lz4 UNKNOWN IMPORTED)
  set_target_properties(LZ4::lz4 PROPERTIES
    IMPORTED_LOCATION "${lz4_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${lz4_INCLUDE_DIR}")
endif()
