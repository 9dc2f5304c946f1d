#include "kit/sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kit/error.hpp"

namespace slotwise::kit {

SocketAddress to_socket_address(const Address& address) {
  SocketAddress result;
  if (address.host.find(':') != std::string::npos) {
    ::sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    if (::inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) == 1) result.size = sizeof v6;
    std::memcpy(&result.storage, &v6, sizeof v6);
  } else {
    ::sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    if (::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) result.size = sizeof v4;
    std::memcpy(&result.storage, &v4, sizeof v4);
  }
  if (result.size == 0) throw Error(fmt::format("'{}' is not an IP address", address.host));
  return result;
}

std::string host_of(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(address.data(), address.size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {};
  }
  return text.data();
}

int listen_on(const Address& address, const std::string& who) {
  const auto where = to_socket_address(address);
  const int fd = ::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, where.data(), where.size) != 0 || ::listen(fd, 512) != 0) {
    const int error = errno;
    ::close(fd);
    throw Error(
        fmt::format("{} cannot listen on {}: {}", who, address.to_string(), std::strerror(error)));
  }
  return fd;
}

void abort_connection(int fd) {
  // Dissolving the association makes the kernel send RST at once, while close() may come later.
  ::sockaddr nothing{};
  nothing.sa_family = AF_UNSPEC;
  ::connect(fd, &nothing, sizeof nothing);
}

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw Error("no descriptor left for a thread's wake-up");
}

WakeUp::~WakeUp() {
  ::close(fd_);
}

void WakeUp::signal() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

void WakeUp::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
}

}  // namespace slotwise::kit
