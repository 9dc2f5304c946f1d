// Plain blocking sockets for the tests of the kit's own servers. Checks stay in the test's thread.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "kit/error.hpp"
#include "kit/sockets.hpp"

namespace kit_test {

using namespace std::chrono_literals;
namespace kit = slotwise::kit;

inline bool readable(int fd, std::chrono::milliseconds limit) {
  ::pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, static_cast<int>(limit.count())) == 1;
}

/// One end of a connection.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}
  Peer(Peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Peer& operator=(Peer&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Peer() { close(); }

  /// `from`: an IPv4 address of ours; empty: the system's choice.
  static Peer connect(const kit::Address& address, const std::string& from = {}) {
    const auto to = kit::to_socket_address(address);
    Peer peer(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!from.empty()) {
      const auto source = kit::to_socket_address({from, 0});
      if (::bind(peer.fd_, source.data(), source.size) != 0) {
        peer.close();
        return peer;
      }
    }
    if (::connect(peer.fd_, to.data(), to.size) != 0) {
      peer.refused_ = errno == ECONNREFUSED;
      peer.close();
    }
    return peer;
  }

  bool connected() const { return fd_ >= 0; }
  bool refused() const { return refused_; }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// Sends until the other side has not made room for 200 ms; the number of bytes sent.
  std::size_t send_until_blocked(std::size_t at_most) const {
    const std::string block(16384, 'x');
    std::size_t sum = 0;
    ::pollfd p{.fd = fd_, .events = POLLOUT, .revents = 0};
    while (sum < at_most && ::poll(&p, 1, 200) == 1) {
      const auto n = ::send(fd_, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sum += static_cast<std::size_t>(n);
    }
    return sum;
  }
  /// How many reads it took to get that many bytes.
  int reads_for(std::size_t count) const {
    int reads = 0;
    for (std::size_t got = 0; got < count && readable(fd_, 5s); ++reads) {
      std::array<char, 4096> buffer{};
      const auto n = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    return reads;
  }
  /// Fewer when the stream ends or the limit passes first.
  std::string receive(std::size_t count, std::chrono::milliseconds limit = 5s) const {
    std::string got;
    std::array<char, 65536> buffer{};
    while (got.size() < count && readable(fd_, limit)) {
      const auto n = ::recv(fd_, buffer.data(), std::min(count - got.size(), buffer.size()), 0);
      if (n <= 0) break;
      got.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return got;
  }
  /// How the stream ends: "fin", "rst", or "open" after the limit; reads away what comes before.
  std::string end(std::chrono::milliseconds limit = 5s) const {
    std::array<char, 65536> buffer{};
    while (readable(fd_, limit)) {
      const auto n = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (n == 0) return "fin";
      if (n < 0) return errno == ECONNRESET ? "rst" : "error";
    }
    return "open";
  }
  void finish_sending() const { ::shutdown(fd_, SHUT_WR); }
  void reset() {
    kit::abort_connection(fd_);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  bool refused_ = false;
};

/// A listener whose connections the test takes one by one.
class Listening {
 public:
  explicit Listening(const std::string& host = "127.0.0.1")
      : fd_(kit::listen_on({host, 0}, "test")), address_{host, 0} {
    ::sockaddr_in got{};
    ::socklen_t size = sizeof got;
    ::getsockname(fd_, reinterpret_cast<::sockaddr*>(&got), &size);
    address_.port = ntohs(got.sin_port);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { close(); }

  const kit::Address& address() const { return address_; }
  bool somebody_waits(std::chrono::milliseconds limit) const { return readable(fd_, limit); }
  Peer accept() const {
    if (!readable(fd_, 5s)) throw kit::Error("nobody connected");
    return Peer(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  kit::Address address_;
};

}  // namespace kit_test
