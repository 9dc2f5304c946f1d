# hiredis as the imported target hiredis::hiredis, from any of
#   - hiredis's own CMake package (hiredis-config.cmake), which has that target;
#   - Debian's package, by the variables that its HiredisConfig.cmake sets, or by looking for the same
#     files (that file is not read here: its version file fails unless exactly one version is asked for);
#   - pkg-config, or just a header and a library in the search path.
# slotwise uses hiredis's reply reader and nothing of hiredis_ssl. Installed with slotwise, whose static
# library needs hiredis to link.

function(slotwise_hiredis_from_parts)
  if(NOT (HIREDIS_INCLUDE_DIRS AND HIREDIS_LIBRARIES))
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(PC_HIREDIS QUIET hiredis)
    endif()
    find_path(HIREDIS_INCLUDE_DIRS hiredis/hiredis.h HINTS ${PC_HIREDIS_INCLUDE_DIRS})
    find_library(HIREDIS_LIBRARIES hiredis HINTS ${PC_HIREDIS_LIBRARY_DIRS})
    mark_as_advanced(HIREDIS_INCLUDE_DIRS HIREDIS_LIBRARIES)
  endif()
  if(HIREDIS_INCLUDE_DIRS AND HIREDIS_LIBRARIES)
    add_library(hiredis::hiredis UNKNOWN IMPORTED)
    set_target_properties(hiredis::hiredis PROPERTIES
      IMPORTED_LOCATION "${HIREDIS_LIBRARIES}"
      INTERFACE_INCLUDE_DIRECTORIES "${HIREDIS_INCLUDE_DIRS}")
  endif()
endfunction()

# The header is asked for the version: every way of packaging has it.
function(slotwise_hiredis_version result)
  get_target_property(folders hiredis::hiredis INTERFACE_INCLUDE_DIRECTORIES)
  find_file(slotwise_hiredis_header NAMES hiredis/hiredis.h hiredis.h
            PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
  set(version "")
  if(slotwise_hiredis_header)
    file(STRINGS "${slotwise_hiredis_header}" lines
         REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) +[0-9]+$")
    list(TRANSFORM lines REPLACE "^.* ([0-9]+)$" "\\1")
    list(JOIN lines "." version)
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

if(NOT TARGET hiredis::hiredis)
  find_package(hiredis CONFIG QUIET)
endif()
if(NOT TARGET hiredis::hiredis)
  slotwise_hiredis_from_parts()
endif()

if(TARGET hiredis::hiredis)
  slotwise_hiredis_version(Hiredis_VERSION)
  if(Hiredis_FIND_REQUIRED AND Hiredis_VERSION VERSION_LESS Hiredis_FIND_VERSION)
    message(FATAL_ERROR
      "slotwise needs hiredis ${Hiredis_FIND_VERSION} or newer, because older ones have neither RESP3 nor "
      "TLS, and the one found is ${Hiredis_VERSION}: install a newer hiredis and name its prefix in "
      "CMAKE_PREFIX_PATH, or run ./dev setup in a checkout, which fetches one into .deps/prefix/usr.")
  endif()
  set(hiredis_where hiredis::hiredis)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis REQUIRED_VARS hiredis_where VERSION_VAR Hiredis_VERSION)
unset(hiredis_where)
