# FindHiredis.cmake against each way in which hiredis is packaged, and against one that is too old.
# The prefixes are made up here: a header that tells a version, and a library that is only a name.
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

function(make_hiredis prefix version)
  string(REPLACE "." ";" parts "${version}")
  list(GET parts 0 major)
  list(GET parts 1 minor)
  list(GET parts 2 patch)
  file(WRITE "${prefix}/include/hiredis/hiredis.h"
       "#define HIREDIS_MAJOR ${major}\n#define HIREDIS_MINOR ${minor}\n#define HIREDIS_PATCH ${patch}\n")
  file(WRITE "${prefix}/lib/libhiredis.so" "")
endfunction()

# expect(<name> <regex>): what configuring with the prefix of that name says, in one line.
function(expect name regex)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/hiredis -B ${WORK}/${name}-build
            -G ${CMAKE_GENERATOR} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DHIREDIS_PREFIX=${WORK}/${name}
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "${name}: expected '${regex}', got: ${output}")
  endif()
  message(STATUS "${name}: as expected")
endfunction()

file(REMOVE_RECURSE "${WORK}")

make_hiredis("${WORK}/own" 1.2.0)
file(WRITE "${WORK}/own/lib/cmake/hiredis/hiredis-config.cmake" [[
get_filename_component(prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
add_library(hiredis::hiredis SHARED IMPORTED)
set_target_properties(hiredis::hiredis PROPERTIES
  IMPORTED_LOCATION "${prefix}/lib/libhiredis.so" INTERFACE_INCLUDE_DIRECTORIES "${prefix}/include")
]])
expect(own "hiredis 1.2.0 at ${WORK}/own/lib/libhiredis.so")

# Debian's: its HiredisConfig.cmake sets variables, from the same header and library.
make_hiredis("${WORK}/debian" 1.2.0)
file(WRITE "${WORK}/debian/lib/cmake/Hiredis/HiredisConfig.cmake" [[
find_path(HIREDIS_INCLUDE_DIRS hiredis/hiredis.h HINTS "/usr/include")
find_library(HIREDIS_LIB_HIREDIS NAMES hiredis HINTS "/usr/lib")
set(HIREDIS_LIBRARIES ${HIREDIS_LIB_HIREDIS})
]])
expect(debian "hiredis 1.2.0 at ${WORK}/debian/lib/libhiredis.so")

# Only pkg-config knows where the files are.
make_hiredis("${WORK}/elsewhere" 1.3.0)
file(WRITE "${WORK}/pkg_config/lib/pkgconfig/hiredis.pc" "
Name: hiredis
Description: made up
Version: 1.3.0
Libs: -L${WORK}/elsewhere/lib -lhiredis
Cflags: -I${WORK}/elsewhere/include
")
expect(pkg_config "hiredis 1.3.0 at ${WORK}/elsewhere/lib/libhiredis.so")

make_hiredis("${WORK}/old" 0.14.1)
expect(old "slotwise needs hiredis 1.1 or newer, because older ones have neither RESP3 nor TLS, and the one found is 0.14.1: install a newer hiredis")

file(MAKE_DIRECTORY "${WORK}/none")
expect(none "Could NOT find Hiredis")
