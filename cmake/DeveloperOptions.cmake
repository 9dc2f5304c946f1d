# Switches for people who work on slotwise. All are off, and unseen in effect, in a project that
# takes slotwise in by add_subdirectory.
if(PROJECT_IS_TOP_LEVEL)
  set(at_top_level ON)
else()
  set(at_top_level OFF)
endif()
option(SLOTWISE_BUILD_TESTS "Build the tests" ${at_top_level})
option(SLOTWISE_BUILD_EXAMPLES "Build the examples and the command-line tool" ${at_top_level})
option(SLOTWISE_BUILD_BENCH "Build the benchmarks" ${at_top_level})
option(SLOTWISE_DEVELOPER "Many warnings, each an error" OFF)
set(SLOTWISE_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
unset(at_top_level)

# Linked by every target of this project, and by no installed one.
add_library(slotwise_developer INTERFACE)
if(SLOTWISE_DEVELOPER)
  target_compile_options(slotwise_developer INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
    # g++ 12 gives it for designated initializers, whose point is to leave out the rest.
    -Wno-missing-field-initializers
    # g++ 12 sees overlaps and overruns in std::string operator+ that are not there (GCC bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endif()
if(SLOTWISE_SANITIZE)
  set(sanitize -fsanitize=${SLOTWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # A target with the property SLOTWISE_UNSANITIZED is compiled without, which takes half the time.
  target_compile_options(slotwise_developer INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:SLOTWISE_UNSANITIZED>>>:${sanitize}>")
  target_link_options(slotwise_developer INTERFACE ${sanitize})
  unset(sanitize)
endif()
