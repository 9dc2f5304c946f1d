# An overlay port: it builds the checkout that it lies in (--overlay-ports=<checkout>/cmake/vcpkg/ports),
# so there is no archive to download and no hash to keep. A port in a registry would have
# vcpkg_from_github() with the release's tag in place of the next line, and the rest unchanged.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DSLOTWISE_BUILD_TESTS=OFF
        -DSLOTWISE_BUILD_EXAMPLES=OFF
        -DSLOTWISE_BUILD_BENCH=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/slotwise)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
