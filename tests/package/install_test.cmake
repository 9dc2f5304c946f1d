# Installs slotwise from BUILD, moves the installed tree, and builds and runs a program against it,
# once by find_package and once by pkg-config.
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed")
file(RENAME "${WORK}/installed" "${WORK}/moved")

# Nothing in the installed tree may name where it was built or first installed.
file(GLOB_RECURSE texts "${WORK}/moved/*.cmake" "${WORK}/moved/*.pc" "${WORK}/moved/*.hpp")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  foreach(place IN ITEMS "${SOURCE}" "${BUILD}" "${WORK}")
    string(FIND "${content}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${text} names ${place}")
    endif()
  endforeach()
endforeach()

string(PREPEND DEPENDENCIES "${WORK}/moved:")
set(ENV{CMAKE_PREFIX_PATH} "${DEPENDENCIES}")
configure("${consumer}" "${WORK}/build")
run(${CMAKE_COMMAND} --build "${WORK}/build")
run("${WORK}/build/consumer")

# The same program by pkg-config.
find_program(pkg_config pkg-config REQUIRED)
set(pc_path "")
set(rpath "")
string(REPLACE ":" ";" prefixes "${DEPENDENCIES}")
foreach(prefix IN LISTS prefixes)
  file(GLOB pc_folders "${prefix}/lib/pkgconfig" "${prefix}/lib/*/pkgconfig")
  foreach(folder IN LISTS pc_folders)
    string(APPEND pc_path "${folder}:")
    get_filename_component(libraries "${folder}" DIRECTORY)
    list(APPEND rpath "-Wl,-rpath,${libraries}")
  endforeach()
endforeach()
set(ENV{PKG_CONFIG_PATH} "${pc_path}")
execute_process(COMMAND ${pkg_config} --cflags --libs slotwise
                OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CMAKE_CXX_COMPILER} -std=c++20 "${consumer}/main.cpp" -o "${WORK}/by_pkg_config" ${flags} ${rpath})
run("${WORK}/by_pkg_config")
