# Shared by the scripts of this folder: run(<command>...) echoes a command and fails with it.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# configure(<source> <build> <option>...): as a user would, with few settings. No build type: neither
# optimised nor with debug information, which is the quickest to compile.
function(configure source build)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${CMAKE_GENERATOR}
      -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} ${ARGN})
endfunction()

# Where slotwise's own dependencies are; in the environment, and so for all that run() starts.
set(ENV{CMAKE_PREFIX_PATH} "${DEPENDENCIES}")
