# Install rules: headers, library, CMake package, pkg-config file. All of it can be moved afterwards:
# nothing names the prefix.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/slotwise")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/slotwise" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(TARGETS slotwise EXPORT slotwiseTargets)
install(EXPORT slotwiseTargets NAMESPACE slotwise:: DESTINATION "${package_dir}")

get_target_property(slotwise_type slotwise TYPE)
if(slotwise_type STREQUAL STATIC_LIBRARY)
  # Whoever links the static library also links what it uses.
  set(SLOTWISE_IS_STATIC ON)
  set(PC_REQUIRES "Requires: openssl libcares >= 1.18 hiredis >= 1.1")
  set(PC_CFLAGS " -DSLOTWISE_STATIC")
  set(PC_LIBS " -pthread")
  install(FILES cmake/FindCares.cmake cmake/FindHiredis.cmake DESTINATION "${package_dir}")
else()
  set(SLOTWISE_IS_STATIC OFF)
  set(PC_REQUIRES "Requires.private: openssl libcares >= 1.18 hiredis >= 1.1")
endif()

configure_package_config_file(cmake/slotwiseConfig.cmake.in slotwiseConfig.cmake
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break programs.
write_basic_package_version_file(slotwiseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/slotwiseConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/slotwiseConfigVersion.cmake"
        DESTINATION "${package_dir}")

# slotwise.pc finds its prefix from where it lies.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH PC_PREFIX "/prefix/${pc_dir}" "/prefix")
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
configure_file(cmake/slotwise.pc.in slotwise.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/slotwise.pc" DESTINATION "${pc_dir}")
