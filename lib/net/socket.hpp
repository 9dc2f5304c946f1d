// RAII socket and its options. Thread rule: one owner at a time.
//
// Sockets stay in BLOCKING mode, apart from the connect itself. The loop passes MSG_DONTWAIT with
// every call, a caller thread in direct mode waits in recv() with SO_RCVTIMEO: both can use the
// same connection, and a synchronous GET costs two system calls, not four.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "net/address.hpp"
#include "net/error.hpp"

namespace slotwise::net {

struct socket_options {
  bool no_delay = true;  // the link batches by itself
  bool keepalive = true;
  std::chrono::seconds keepalive_idle{15};
  std::chrono::seconds keepalive_interval{5};
  int keepalive_count = 3;
  // Unacknowledged data for this long: the kernel drops the connection. 0: the kernel's default
  // (about 15 minutes).
  std::chrono::milliseconds user_timeout{30'000};
};

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) noexcept : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void close() noexcept;

  // A TCP socket, close-on-exec, non-blocking until connected.
  static Socket tcp(int family, error& err);
  error apply(const socket_options& options);

  enum class progress : std::uint8_t { connected, in_progress, failed };
  progress start_connect(const address& to, int& sys) noexcept;
  // When the socket has become writable. Also notices the connection of a socket with itself,
  // which the kernel makes when nobody listens on a local port of the ephemeral range.
  progress finish_connect(int& sys) noexcept;
  error set_blocking(bool blocking) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace slotwise::net
