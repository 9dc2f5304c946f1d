// What the kit's own servers share: addresses as the kernel wants them, a listener, a wake-up.
// Not for tests.
#pragma once

#include <sys/socket.h>

#include <string>

#include "kit/connection.hpp"

namespace slotwise::kit {

struct SocketAddress {
  ::sockaddr_storage storage{};
  ::socklen_t size = 0;

  const ::sockaddr* data() const noexcept { return reinterpret_cast<const ::sockaddr*>(&storage); }
  ::sockaddr* data() noexcept { return reinterpret_cast<::sockaddr*>(&storage); }
};

/// Throws kit::Error if the host is no IP literal.
SocketAddress to_socket_address(const Address& address);
/// The IP literal without the port.
std::string host_of(const SocketAddress& address);

/// A listening TCP socket, non-blocking; throws kit::Error that begins with `who`.
int listen_on(const Address& address, const std::string& who);

/// The peer gets RST now, whatever is still on its way; the descriptor stays open.
void abort_connection(int fd);

/// Ends another thread's poll. Thread rule: any thread.
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int fd() const noexcept { return fd_; }
  void signal() const;  ///< fd() is readable from now on
  void clear() const;   ///< until this

 private:
  int fd_;
};

}  // namespace slotwise::kit
