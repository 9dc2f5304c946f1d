// After fork() a child shares the parent's sockets and epoll sets: a shutdown(2), an epoll_ctl or
// a TLS close_notify made by the child would hit the parent's connections. Objects of this room
// remember the generation they were made in and in a later one only close their descriptors.
#pragma once

#include <cstdint>

namespace slotwise::net {

// 0 in the first process, one more in each child. Cheap: a load, no system call.
std::uint32_t fork_generation() noexcept;

}  // namespace slotwise::net
