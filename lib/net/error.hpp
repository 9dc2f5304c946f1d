// What went wrong below the protocol. Plain values: this room throws only from constructors that
// cannot give a usable object (no file descriptors left for an event loop).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace slotwise::net {

enum class errc : std::uint8_t {
  none,
  system,     // a system call failed; `sys` has the errno
  eof,        // the peer closed the stream
  timed_out,  // the deadline passed
  resolve,    // no address for the name
  connect,    // no address of the endpoint could be connected
  tls,        // certificate, name, handshake or record trouble
  settings,   // a file or setting given by the user cannot be used
  cancelled,  // the owner gave up
};

struct error {
  errc code = errc::none;
  int sys = 0;       // errno where there was one, else 0
  std::string text;  // a sentence a person can act on; never holds a secret

  error() = default;
  error(errc c, std::string t, int e = 0) : code(c), sys(e), text(std::move(t)) {}

  explicit operator bool() const noexcept { return code != errc::none; }
};

// "connection refused" rather than "Connection refused": for use inside a longer sentence.
std::string errno_text(int sys);

// "send failed: connection reset by peer"
error system_error(const char* what, int sys);

}  // namespace slotwise::net
