# Finds cpp-httplib, as Debian has it: a header and a library that was compiled with certain options,
# which decide how its classes look and which only pkg-config knows. Gives httplib::httplib.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(httplib_pc QUIET cpp-httplib)
endif()
find_path(httplib_INCLUDE_DIR httplib.h HINTS ${httplib_pc_INCLUDE_DIRS})
find_library(httplib_LIBRARY cpp-httplib HINTS ${httplib_pc_LIBRARY_DIRS})
mark_as_advanced(httplib_INCLUDE_DIR httplib_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(httplib
  REQUIRED_VARS httplib_LIBRARY httplib_INCLUDE_DIR httplib_pc_FOUND
  VERSION_VAR httplib_pc_VERSION
  REASON_FAILURE_MESSAGE "On Debian it is the package libcpp-httplib-dev, with pkg-config")

if(httplib_FOUND AND NOT TARGET httplib::httplib)
  add_library(httplib::httplib UNKNOWN IMPORTED)
  set_target_properties(httplib::httplib PROPERTIES
    IMPORTED_LOCATION "${httplib_LIBRARY}"
    INTERFACE_COMPILE_OPTIONS "${httplib_pc_CFLAGS_OTHER}"
    INTERFACE_INCLUDE_DIRECTORIES "${httplib_INCLUDE_DIR}")
endif()
