# Builds a project that has slotwise as a subdirectory, and runs its program.
include("${CMAKE_CURRENT_LIST_DIR}/steps.cmake")

# Several sources at a time, as some projects compile all that they have; it also takes a third of the time.
configure("${SOURCE}/tests/package/superproject" "${BUILD}"
  -DSLOTWISE_SOURCE=${SOURCE} -DSLOTWISE_INSTALL=ON -DBUILD_SHARED_LIBS=${SHARED}
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8)
run(${CMAKE_COMMAND} --build "${BUILD}" --parallel 2)
run("${BUILD}/consumer")
