// What the shared library shows. Everything else is hidden (the library is built with
// -fvisibility=hidden), so that only what carries SLOTWISE_API is a promise.
#pragma once

#if defined(SLOTWISE_STATIC)
// Set by the build, by slotwise's CMake target and by slotwise.pc when the library is static.
#define SLOTWISE_API
#else
#define SLOTWISE_API __attribute__((visibility("default")))
#endif
