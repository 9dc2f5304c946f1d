#include "net/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace slotwise::net {
namespace {

std::atomic<std::uint32_t> generation{0};

// Registered when the library is loaded, so before any object of this room exists.
const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_generation() noexcept {
  // Naming `registered` keeps the linker from dropping the registration from a static library.
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace slotwise::net
