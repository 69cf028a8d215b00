# bloomery_library(NAME ALIAS SOURCES...): an installed library of ours, and how our own programs see it.
#
#   NAME          static or shared, as BUILD_SHARED_LIBS says; bloomery::ALIAS for others
#   NAME_inside   the same static, with everything in it, for the command, the module, tests and
#                 benchmarks, which use private parts; the same target where NAME is static
#
# A shared library exports what its public headers declare. A source file without a header of its
# name under include/ defines private names only, unless it is listed here.
set(bloomery_defines_public
  any_set_build any_set_files image_files image_stream image_writer line_counts redis_epochs)

file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/bloomery/*.hpp")
set(bloomery_public_stems ${bloomery_defines_public})
foreach(header IN LISTS public_headers)
  cmake_path(GET header STEM stem)
  list(APPEND bloomery_public_stems "${stem}")
endforeach()

function(bloomery_prepare_library target)
  bloomery_own_target(${target})
  bloomery_watched(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # What is private is included from the top of the tree, by our own targets only.
  target_include_directories(${target}
    PUBLIC
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
      "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}")
  # bloomery.so for Redis is linked from static libraries too.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(bloomery_library name alias)
  add_library(${name} ${ARGN})
  add_library(bloomery::${alias} ALIAS ${name})
  bloomery_prepare_library(${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${alias}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(NOT BUILD_SHARED_LIBS)
    add_library(${name}_inside ALIAS ${name})
    return()
  endif()
  add_library(${name}_inside STATIC ${ARGN})
  bloomery_prepare_library(${name}_inside)
  # Options of a source file would reach both libraries, so the private files are a library apart.
  set(private)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM stem)
    if(NOT stem IN_LIST bloomery_public_stems)
      list(APPEND private ${source})
    endif()
  endforeach()
  get_target_property(sources ${name} SOURCES)
  list(REMOVE_ITEM sources ${private})
  set_property(TARGET ${name} PROPERTY SOURCES ${sources})
  set_target_properties(${name} PROPERTIES VISIBILITY_INLINES_HIDDEN ON)
  add_library(${name}_hidden OBJECT ${private})
  bloomery_prepare_library(${name}_hidden)
  set_target_properties(${name}_hidden PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_hidden>)
endfunction()

# bloomery_link(NAME ...): as target_link_libraries, for each library that NAME is made of.
function(bloomery_link name)
  foreach(target IN ITEMS ${name} ${name}_inside ${name}_hidden)
    if(TARGET ${target})
      get_target_property(aliased ${target} ALIASED_TARGET)
      if(NOT aliased)
        target_link_libraries(${target} ${ARGN})
      endif()
    endif()
  endforeach()
endfunction()

# What is installed links what is installed; what is ours links what is ours.
function(bloomery_link_core name)
  target_link_libraries(${name} PUBLIC bloomery)
  if(BUILD_SHARED_LIBS)
    target_link_libraries(${name}_hidden PUBLIC bloomery)
    target_link_libraries(${name}_inside PUBLIC bloomery_inside)
  endif()
endfunction()
