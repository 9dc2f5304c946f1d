// The version of these headers, and of the library that the program runs with.
#pragma once

#include "slotwise/export.hpp"

// CMake reads these three lines and stops when they differ from the project's version.
#define SLOTWISE_VERSION_MAJOR 0
#define SLOTWISE_VERSION_MINOR 1
#define SLOTWISE_VERSION_PATCH 0

namespace slotwise {

// The version of the compiled library, "0.1.0". With a shared library it can be newer than the
// headers above that the program was compiled with.
SLOTWISE_API const char* version() noexcept;

}  // namespace slotwise
