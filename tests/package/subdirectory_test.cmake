# Builds a project that has slotwise as a subdirectory, and runs its program.
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

configure("${SOURCE}/tests/package/superproject" "${BUILD}"
  -DSLOTWISE_SOURCE=${SOURCE} -DSLOTWISE_INSTALL=ON -DBUILD_SHARED_LIBS=${SHARED})
run(${CMAKE_COMMAND} --build "${BUILD}" --parallel 2)
run("${BUILD}/consumer")
