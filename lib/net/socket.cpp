#include "net/socket.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>

namespace slotwise::net {
namespace {

bool set_int(int fd, int level, int name, int value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

bool connected_to_itself(int fd) noexcept {
  ::sockaddr_storage local{};
  ::sockaddr_storage remote{};
  ::socklen_t local_size = sizeof local;
  ::socklen_t remote_size = sizeof remote;
  if (::getsockname(fd, reinterpret_cast<::sockaddr*>(&local), &local_size) != 0) return false;
  if (::getpeername(fd, reinterpret_cast<::sockaddr*>(&remote), &remote_size) != 0) return false;
  const auto a = address::from(reinterpret_cast<::sockaddr*>(&local), local_size);
  const auto b = address::from(reinterpret_cast<::sockaddr*>(&remote), remote_size);
  return a && b && *a == *b;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::close() noexcept {
  // No retry on EINTR: Linux has released the number by then.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Socket Socket::tcp(int family, error& err) {
  Socket result{::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP)};
  if (!result) err = system_error("socket()", errno);
  return result;
}

error Socket::apply(const socket_options& options) {
  const auto seconds = [](std::chrono::seconds s) { return static_cast<int>(s.count()); };
  bool ok = set_int(fd_, IPPROTO_TCP, TCP_NODELAY, options.no_delay ? 1 : 0);
  ok = ok && set_int(fd_, SOL_SOCKET, SO_KEEPALIVE, options.keepalive ? 1 : 0);
  if (options.keepalive) {
    ok = ok && set_int(fd_, IPPROTO_TCP, TCP_KEEPIDLE, seconds(options.keepalive_idle));
    ok = ok && set_int(fd_, IPPROTO_TCP, TCP_KEEPINTVL, seconds(options.keepalive_interval));
    ok = ok && set_int(fd_, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_count);
  }
  ok = ok &&
       set_int(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(options.user_timeout.count()));
  return ok ? error{} : system_error("setting socket options", errno);
}

Socket::progress Socket::start_connect(const address& to, int& sys) noexcept {
  if (::connect(fd_, to.data(), to.size()) == 0) return finish_connect(sys);
  // EINTR: the connect goes on in the background, exactly as with EINPROGRESS.
  if (errno == EINPROGRESS || errno == EINTR) return progress::in_progress;
  sys = errno;
  return progress::failed;
}

Socket::progress Socket::finish_connect(int& sys) noexcept {
  int pending = 0;
  ::socklen_t size = sizeof pending;
  if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &pending, &size) != 0) pending = errno;
  if (pending == 0 && connected_to_itself(fd_)) pending = ECONNREFUSED;
  sys = pending;
  return pending == 0 ? progress::connected : progress::failed;
}

error Socket::set_blocking(bool blocking) noexcept {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) return system_error("fcntl()", errno);
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  if (wanted != flags && ::fcntl(fd_, F_SETFL, wanted) != 0) return system_error("fcntl()", errno);
  return {};
}

}  // namespace slotwise::net
