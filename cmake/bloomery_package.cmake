# Debian packages: `cpack -G DEB --config build/release/CPackConfig.cmake` in three parts, or four.
#
#   bloomery                the command, its manual and completions
#   libbloomery-dev         static libraries, headers, files for CMake and pkg-config
#   bloomery-redis-module   /usr/lib/redis/modules/bloomery.so
#   python3-bloomery        the package bloomery, where BLOOMERY_BUILD_PYTHON is ON
#
# They need the Debian they were made on, or a later one: dpkg-shlibdeps asks it for versions.
# Limits: static libraries only; a shared one would want a package of its own.
# See:    tests/tools/programs/packages_test.py, scripts/check_install.
find_program(gzip_program gzip)
find_program(date_program date)
mark_as_advanced(gzip_program date_program)
if(NOT gzip_program OR NOT date_program OR NOT TARGET bloomery_pages)
  message(STATUS "cpack makes no packages: they need gzip, date and the command's own pages")
  return()
endif()

# As in Debian's own tools, who makes the packages says so in DEBFULLNAME and DEBEMAIL.
set(maintainer "The Bloomery authors")
set(maintainer_address "bloomery@packages.invalid")
if(DEFINED ENV{DEBFULLNAME})
  set(maintainer "$ENV{DEBFULLNAME}")
endif()
if(DEFINED ENV{DEBEMAIL})
  set(maintainer_address "$ENV{DEBEMAIL}")
endif()

set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME bloomery)
set(CPACK_PACKAGE_VENDOR "${maintainer}")
set(CPACK_PACKAGE_CONTACT "${maintainer} <${maintainer_address}>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL command library module)
if(TARGET bloomery_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME bloomery)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION
"de-duplicate lines and ask sets of billions of keys
Prints each line the first time it comes, makes set files (Bloom filters,
bitmaps, exact sets), changes them and asks them. Reads compressed files,
columns of CSV and paths in JSON lines.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libbloomery-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
# The static libraries name nothing themselves. Below: bloomery, bloomery::text, bloomery::redis.
string(CONCAT CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS
  "libxxhash-dev, "
  "zlib1g-dev, libbz2-dev, liblzma-dev, libzstd-dev, liblz4-dev, "
  "libsimdjson-dev, liburiparser-dev, libhiredis-dev")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "cmake, pkg-config, libleveldb-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"C++20 library of Bloom filters, bitmaps and exact sets
Static libraries, headers, and what find_package(bloomery) and pkg-config
read: bloomery, bloomery-text for keys out of compressed files, CSV and JSON
lines, and bloomery-redis for sets on Redis servers.")

set(CPACK_DEBIAN_MODULE_PACKAGE_NAME bloomery-redis-module)
set(CPACK_DEBIAN_MODULE_PACKAGE_SECTION database)
set(CPACK_DEBIAN_MODULE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MODULE_PACKAGE_RECOMMENDS "redis-server (>= 5:7.0~) | valkey-server")
set(CPACK_DEBIAN_MODULE_DESCRIPTION
"Bloom and cuckoo filters inside Redis and Valkey
Brings the commands BF.* and CF.* of RedisBloom. A server loads it with the
line \"loadmodule /usr/lib/redis/modules/bloomery.so\" in its settings.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-bloomery)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11~)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-scrapy, python3-pandas")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
"Bloom filters, bitmaps and exact sets for Python
Sets of billions of keys in a few bits each, filled and asked in bulk from
arrays of numpy and Arrow, kept in files that the command bloomery shares; a
filter of duplicates for Scrapy.")

# What only packages have: copyright, both change logs, the compressed manual, and the completions
# where Debian's zsh looks for those of packages. EXCLUDE_FROM_ALL: `cmake --install` leaves them
# out.
set(package_files "${PROJECT_BINARY_DIR}/package_files")
file(MAKE_DIRECTORY "${package_files}")
execute_process(COMMAND "${date_program}" -u -R -d "${bloomery_date}"
  OUTPUT_VARIABLE changelog_date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/changelog.Debian.in"
  "${package_files}/changelog.Debian" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${package_files}/changelog" COPYONLY)
# -n: no date inside, so that the same files give the same bytes.
foreach(log IN ITEMS changelog changelog.Debian)
  execute_process(COMMAND "${gzip_program}" -9nkf "${package_files}/${log}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(doc_dir "share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright
    DESTINATION "${doc_dir}" COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${package_files}/changelog.gz" "${package_files}/changelog.Debian.gz"
    DESTINATION "${doc_dir}" COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(FILES "${bloomery_page_dir}/bloomery.1.gz"
  DESTINATION share/man/man1 COMPONENT command EXCLUDE_FROM_ALL)
install(FILES "${bloomery_page_dir}/_bloomery"
  DESTINATION share/zsh/vendor-completions COMPONENT command EXCLUDE_FROM_ALL)

include(CPack)
