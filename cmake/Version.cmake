# The version stands twice, in project() and in version.hpp (which must work without CMake); this
# stops the build when they differ.
file(STRINGS "${PROJECT_SOURCE_DIR}/include/slotwise/version.hpp" lines
     REGEX "^#define SLOTWISE_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM lines REPLACE "^.* ([0-9]+)$" "\\1")
list(JOIN lines "." header_version)
if(NOT header_version STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "slotwise: include/slotwise/version.hpp says ${header_version}, "
                      "CMakeLists.txt says ${PROJECT_VERSION}")
endif()
unset(lines)
unset(header_version)
