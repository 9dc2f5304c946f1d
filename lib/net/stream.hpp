// An established byte stream, plain or TLS. One type and no virtual call: the plain path is one
// branch away from recv()/sendmsg().
//
// Thread rule: one owner at a time (the loop, or a caller in direct mode; handing over is the
// link's business). shutdown_now() alone may be called from any thread while the Stream lives.
//
// Invariants
//  1. SIGPIPE is never raised; EINTR is handled here.
//  2. The descriptor is closed by close() or the destructor, never by shutdown_now(): its number
//     cannot be reused under the feet of a thread that is blocked in it.
//  3. Bytes of the peer that have left the kernel are never forgotten: has_pending() says that
//     read() may give data although epoll would stay silent.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/address.hpp"
#include "net/error.hpp"
#include "net/socket.hpp"
#include "net/timer.hpp"
#include "net/tls_handle.hpp"

struct ssl_st;  // OpenSSL's SSL, kept out of this header

namespace slotwise::net {

enum class io_mode : std::uint8_t {
  nonblocking,  // never waits
  blocking,     // waits, up to set_blocking_timeout()
};

enum class io_status : std::uint8_t {
  ok,          // read: `bytes` > 0. write: everything was taken
  want_read,   // would block until the socket is readable
  want_write,  // would block until it is writable (a TLS read can want this, and the reverse)
  timed_out,   // blocking mode: the timeout passed
  eof,         // the peer closed
  failed,      // see Stream::last_error()
};

// `bytes` counts for every status: a write may have taken some bytes before it had to wait.
struct io_result {
  std::size_t bytes = 0;
  io_status status = io_status::ok;
};

class Stream {
 public:
  Stream() noexcept;
  Stream(Socket socket, const address& peer) noexcept;
  // TLS: `tls` comes from TlsContext::new_session(). Call handshake() until it says ok.
  Stream(Socket socket, const address& peer, tls_handle tls) noexcept;
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  int fd() const noexcept { return socket_.fd(); }
  const address& peer() const noexcept { return peer_; }
  bool secure() const noexcept { return ssl_ != nullptr; }

  io_result handshake(io_mode mode);

  // One recv() or SSL_read(); gives what there is.
  io_result read(std::span<char> into, io_mode mode);

  // Takes as many bytes as it can; in blocking mode all of them or an error. After want_write
  // the same bytes that were not taken must be offered again (more may follow them): a TLS record
  // of them may be half sent already.
  io_result write(std::span<const char> data, io_mode mode);
  io_result write(std::span<const ::iovec> parts, io_mode mode);

  bool has_pending() const noexcept;

  // Limit of one blocking read or write; zero or less means "at once", duration::max() for ever.
  // Costs a system call only when the value changes. The kernel counts in ticks (1-4 ms).
  void set_blocking_timeout(duration timeout) noexcept;

  // Any thread: both directions end, a blocked reader wakes up with eof.
  void shutdown_now() noexcept;
  void close() noexcept;

  // The reason of the last io_status::failed; for TLS names what the server said.
  const error& last_error() const noexcept { return error_; }
  const char* tls_version() const noexcept;  // "TLSv1.3"; "" when plain

 private:
  io_result tls_read(std::span<char> into, io_mode mode);
  io_result tls_write(std::span<const char> data, io_mode mode);
  io_result tls_write_parts(std::span<const ::iovec> parts, io_mode mode);
  io_result tls_result(int returned, io_mode mode, const char* what);
  io_result plain_failure(int sys, io_mode mode, io_status wanted, const char* what);
  void say_goodbye() noexcept;

  Socket socket_;
  ::ssl_st* ssl_ = nullptr;  // owned by tls_; here for the branch
  tls_handle tls_;
  address peer_;
  duration blocking_timeout_ = duration::max();
  std::uint32_t generation_;
  bool drained_ = false;  // the last TLS read found no whole record
  bool broken_ = false;   // TLS allows no further call
  error error_;
};

}  // namespace slotwise::net
