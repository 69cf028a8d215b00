# What `cmake --install` puts where, and how others find it there.
#
# `cmake --install` takes all components. bloomery_package.cmake makes a package of each of command,
# library and module, and has another place or form for what is in `unpackaged`.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bloomery")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(to_libraries
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library)
install(TARGETS bloomery EXPORT bloomeryTargets ${to_libraries})
if(TARGET bloomery_text)
  install(TARGETS bloomery_text EXPORT bloomeryTextTargets ${to_libraries})
endif()
if(TARGET bloomery_redis)
  install(TARGETS bloomery_redis EXPORT bloomeryRedisTargets ${to_libraries})
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/bloomery/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/bloomery" COMPONENT library
  FILES_MATCHING PATTERN "*.hpp" PATTERN "served" EXCLUDE)
# Plug-ins for other programs, whose headers they need; nothing of ours includes them.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/adapters/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/bloomery/adapters" COMPONENT library
  FILES_MATCHING PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT unpackaged)

# CMake: find_package(bloomery CONFIG REQUIRED), with COMPONENTS text redis for bloomery::text and
# bloomery::redis
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/bloomeryConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/bloomeryConfig.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break the one before it.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/bloomeryConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(EXPORT bloomeryTargets NAMESPACE bloomery::
  DESTINATION "${package_dir}" COMPONENT library)
if(TARGET bloomery_text)
  install(EXPORT bloomeryTextTargets NAMESPACE bloomery::
    DESTINATION "${package_dir}" COMPONENT library)
endif()
if(TARGET bloomery_redis)
  install(EXPORT bloomeryRedisTargets NAMESPACE bloomery::
    DESTINATION "${package_dir}" COMPONENT library)
endif()
install(FILES
  "${PROJECT_BINARY_DIR}/bloomeryConfig.cmake"
  "${PROJECT_BINARY_DIR}/bloomeryConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/Findhiredis.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/Findlz4.cmake"
  DESTINATION "${package_dir}" COMPONENT library)

# pkg-config: the prefix is found from where the .pc file lies, so the tree may be moved.
file(RELATIVE_PATH pkgconfig_to_prefix "/${pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/bloomery.pc.in"
  "${PROJECT_BINARY_DIR}/bloomery.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/bloomery.pc"
  DESTINATION "${pkgconfig_dir}" COMPONENT library)
if(TARGET bloomery_text)
  # A static library cannot name what it needs; those who link it must.
  set(pkgconfig_text_libs "")
  if(NOT BUILD_SHARED_LIBS)
    set(pkgconfig_text_libs " -lsimdjson -luriparser -lz -lbz2 -llzma -lzstd -llz4")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/bloomery-text.pc.in"
    "${PROJECT_BINARY_DIR}/bloomery-text.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/bloomery-text.pc"
    DESTINATION "${pkgconfig_dir}" COMPONENT library)
endif()

if(TARGET bloomery_redis)
  set(pkgconfig_redis_libs "")
  if(NOT BUILD_SHARED_LIBS)
    set(pkgconfig_redis_libs " -lhiredis -luriparser")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/bloomery-redis.pc.in"
    "${PROJECT_BINARY_DIR}/bloomery-redis.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/bloomery-redis.pc"
    DESTINATION "${pkgconfig_dir}" COMPONENT library)
endif()

if(TARGET bloomery_cli)
  install(TARGETS bloomery_cli RUNTIME
    DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
  # Where http_module.cpp looks for it.
  install(TARGETS bloomery_http LIBRARY
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/bloomery" COMPONENT command)
endif()
if(TARGET bloomery_redis_module)
  # lib/redis/modules, also where libraries go to lib/x86_64-linux-gnu: so do Debian's modules.
  string(REGEX REPLACE "/.*" "" module_dir "${CMAKE_INSTALL_LIBDIR}")
  # Executable: Redis refuses to load a module that is not; CMake's default on Debian is 644.
  install(TARGETS bloomery_redis_module LIBRARY
    DESTINATION "${module_dir}/redis/modules" COMPONENT module
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
      WORLD_READ WORLD_EXECUTE)
endif()
if(TARGET bloomery_pages)
  install(FILES "${bloomery_page_dir}/bloomery"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT command)
  install(FILES "${bloomery_page_dir}/_bloomery"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT unpackaged)
  install(FILES "${bloomery_page_dir}/bloomery.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT command)
  install(FILES "${bloomery_page_dir}/bloomery.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT unpackaged)
endif()
