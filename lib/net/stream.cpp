#include "net/stream.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "net/fork.hpp"
#include "net/tls_state.hpp"

namespace slotwise::net {
namespace {

constexpr std::size_t max_parts = 1024;  // IOV_MAX on Linux

int flags_of(io_mode mode) noexcept {
  return mode == io_mode::nonblocking ? MSG_DONTWAIT : 0;
}

::timeval to_timeval(duration timeout) noexcept {
  if (timeout == duration::max()) return {0, 0};  // the kernel's way to say "for ever"
  const auto us =
      std::max<std::int64_t>(std::chrono::ceil<std::chrono::microseconds>(timeout).count(), 1);
  return {static_cast<::time_t>(us / 1'000'000), static_cast<::suseconds_t>(us % 1'000'000)};
}

}  // namespace

Stream::Stream() noexcept : generation_(fork_generation()) {}

Stream::Stream(Socket socket, const address& peer) noexcept
    : socket_(std::move(socket)), peer_(peer), generation_(fork_generation()) {}

Stream::Stream(Socket socket, const address& peer, tls_handle tls) noexcept
    : socket_(std::move(socket)),
      ssl_(tls->ssl),
      tls_(std::move(tls)),
      peer_(peer),
      generation_(fork_generation()) {}

Stream::~Stream() {
  close();
}

Stream::Stream(Stream&& other) noexcept
    : socket_(std::move(other.socket_)),
      ssl_(std::exchange(other.ssl_, nullptr)),
      tls_(std::move(other.tls_)),
      peer_(other.peer_),
      blocking_timeout_(other.blocking_timeout_),
      generation_(other.generation_),
      drained_(other.drained_),
      broken_(other.broken_),
      error_(std::move(other.error_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  close();
  socket_ = std::move(other.socket_);
  ssl_ = std::exchange(other.ssl_, nullptr);
  tls_ = std::move(other.tls_);
  peer_ = other.peer_;
  blocking_timeout_ = other.blocking_timeout_;
  generation_ = other.generation_;
  drained_ = other.drained_;
  broken_ = other.broken_;
  error_ = std::move(other.error_);
  return *this;
}

void Stream::close() noexcept {
  if (ssl_ != nullptr) say_goodbye();
  ssl_ = nullptr;
  tls_.reset();
  socket_.close();
}

void Stream::shutdown_now() noexcept {
  // In a forked child the connection is the parent's.
  if (socket_ && generation_ == fork_generation()) ::shutdown(socket_.fd(), SHUT_RDWR);
}

void Stream::set_blocking_timeout(duration timeout) noexcept {
  if (timeout == blocking_timeout_) return;
  blocking_timeout_ = timeout;
  const ::timeval value = to_timeval(timeout);
  ::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  ::setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

io_result Stream::read(std::span<char> into, io_mode mode) {
  if (ssl_ != nullptr) return tls_read(into, mode);
  for (;;) {
    const ::ssize_t n = ::recv(socket_.fd(), into.data(), into.size(), flags_of(mode));
    if (n > 0) [[likely]]
      return {static_cast<std::size_t>(n), io_status::ok};
    if (n == 0) return {0, into.empty() ? io_status::ok : io_status::eof};
    if (errno != EINTR) return plain_failure(errno, mode, io_status::want_read, "recv()");
  }
}

io_result Stream::write(std::span<const char> data, io_mode mode) {
  if (ssl_ != nullptr) return tls_write(data, mode);
  io_result result;
  while (result.bytes < data.size()) {
    const ::ssize_t n = ::send(socket_.fd(), data.data() + result.bytes, data.size() - result.bytes,
                               flags_of(mode) | MSG_NOSIGNAL);
    if (n >= 0) {
      result.bytes += static_cast<std::size_t>(n);
      // A short count means a full buffer: the next call could only say so once more.
      if (mode == io_mode::nonblocking && result.bytes < data.size()) {
        result.status = io_status::want_write;
        break;
      }
    } else if (errno != EINTR) {
      result.status = plain_failure(errno, mode, io_status::want_write, "send()").status;
      break;
    }
  }
  return result;
}

io_result Stream::write(std::span<const ::iovec> parts, io_mode mode) {
  if (ssl_ != nullptr) return tls_write_parts(parts, mode);
  io_result result;
  std::size_t skip = 0;  // bytes of parts[0] that are already sent
  while (!parts.empty()) {
    if (skip > 0) {  // only in blocking mode: finish the part that was cut, then gather again
      const auto* base = static_cast<const char*>(parts[0].iov_base);
      const io_result rest = write(std::span{base + skip, parts[0].iov_len - skip}, mode);
      result.bytes += rest.bytes;
      result.status = rest.status;
      if (rest.status != io_status::ok) return result;
      parts = parts.subspan(1);
      skip = 0;
      continue;
    }
    ::msghdr message{};
    message.msg_iov = const_cast<::iovec*>(parts.data());  // sendmsg() does not write to it
    message.msg_iovlen = std::min(parts.size(), max_parts);
    const ::ssize_t n = ::sendmsg(socket_.fd(), &message, flags_of(mode) | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      result.status = plain_failure(errno, mode, io_status::want_write, "sendmsg()").status;
      return result;
    }
    result.bytes += static_cast<std::size_t>(n);
    std::size_t left = static_cast<std::size_t>(n);
    std::size_t done = 0;
    while (done < message.msg_iovlen && left >= parts[done].iov_len)
      left -= parts[done++].iov_len;
    const bool cut = done < message.msg_iovlen;
    parts = parts.subspan(done);
    skip = left;
    if (cut && mode == io_mode::nonblocking) {
      result.status = io_status::want_write;
      return result;
    }
  }
  return result;
}

io_result Stream::plain_failure(int sys, io_mode mode, io_status wanted, const char* what) {
  if (sys == EAGAIN || sys == EWOULDBLOCK) {
    return {0, mode == io_mode::nonblocking ? wanted : io_status::timed_out};
  }
  error_ = system_error(what, sys);
  return {0, io_status::failed};
}

}  // namespace slotwise::net
