# bloomery_page(VARIABLE): makes a source file of the page that `bloomery serve` shows, and gives its
# name. Run as a script, with PAGE and SOURCE, it writes that file: the bytes of the page as an array,
# which every compiler takes at any length.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${PAGE}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  # Lines that editors and compilers can show.
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  file(WRITE "${SOURCE}" "#include <tools/cli/serve/page.hpp>

namespace bloomery::cli {
const unsigned char page_bytes[] = {
${bytes}};
const unsigned long page_size = sizeof page_bytes;
}  // namespace bloomery::cli
")
  return()
endif()

function(bloomery_page variable)
  set(page "${PROJECT_SOURCE_DIR}/docs/planner/index.html")
  if(NOT EXISTS "${page}")
    message(FATAL_ERROR "${page} is missing: the page that `bloomery serve` shows is part of the "
      "repository, and `scripts/web` makes it again")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/page_bytes.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/bloomery_page.cmake")
  add_custom_command(OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DPAGE=${page}" "-DSOURCE=${source}" -P "${script}"
    DEPENDS "${page}" "${script}" COMMENT "Putting the page into the command" VERBATIM)
  set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  set(${variable} "${source}" PARENT_SCOPE)
endfunction()
