# c-ares as the imported target c-ares::cares: by its own CMake package, or by pkg-config (Debian 12's
# package has no CMake files). Installed with slotwise, whose static library needs c-ares to link.
if(NOT TARGET c-ares::cares)
  find_package(c-ares CONFIG QUIET)
endif()
if(TARGET c-ares::cares)
  set(Cares_VERSION ${c-ares_VERSION})
  set(cares_where c-ares::cares)
else()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(PC_CARES QUIET libcares)
    set(Cares_VERSION ${PC_CARES_VERSION})
  endif()
  find_path(Cares_INCLUDE_DIR ares.h HINTS ${PC_CARES_INCLUDE_DIRS})
  find_library(Cares_LIBRARY cares HINTS ${PC_CARES_LIBRARY_DIRS})
  mark_as_advanced(Cares_INCLUDE_DIR Cares_LIBRARY)
  if(Cares_INCLUDE_DIR AND Cares_LIBRARY)
    set(cares_where ${Cares_LIBRARY})
    add_library(c-ares::cares UNKNOWN IMPORTED)
    set_target_properties(c-ares::cares PROPERTIES
      IMPORTED_LOCATION "${Cares_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${Cares_INCLUDE_DIR}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cares REQUIRED_VARS cares_where VERSION_VAR Cares_VERSION)
unset(cares_where)
