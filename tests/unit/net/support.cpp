#include "support.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace net_test {
namespace {

net::Socket bound(const std::string& ip, std::uint16_t& port) {
  auto where = net::address::parse(ip, port);
  net::Socket s{::socket(where->family(), SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const int one = 1;
  ::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(s.fd(), where->data(), where->size()) != 0) {
    throw std::runtime_error("bind " + where->to_string() + ": " + net::errno_text(errno));
  }
  ::sockaddr_storage got{};
  ::socklen_t size = sizeof got;
  ::getsockname(s.fd(), reinterpret_cast<::sockaddr*>(&got), &size);
  port = net::address::from(reinterpret_cast<::sockaddr*>(&got), size)->port();
  return s;
}

bool wait_for(int fd, short what, std::chrono::milliseconds limit) {
  ::pollfd p{fd, what, 0};
  return ::poll(&p, 1, static_cast<int>(limit.count())) == 1;
}

}  // namespace

bool run_until(net::Loop& loop, const std::function<bool()>& done,
               std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return false;
    loop.run_once(end - now);
  }
  return true;
}

bool eventually(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    if (elapsed_ms(start) > limit.count()) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  ::DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr)
    ++count;
  ::closedir(dir);
  return count;
}

std::size_t inherited_by_exec() {
  std::size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++count;
  }
  return count;
}

std::int64_t elapsed_ms(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               since)
      .count();
}

Listener::Listener(const std::string& ip, int backlog, std::uint16_t port) : port_(port) {
  socket_ = bound(ip, port_);
  if (::listen(socket_.fd(), backlog) != 0) throw std::runtime_error("listen");
}

net::Socket Listener::accept(std::chrono::milliseconds limit) const {
  if (!wait_for(socket_.fd(), POLLIN, limit)) return {};
  return net::Socket{::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC)};
}

ClosedPort::ClosedPort(const std::string& ip, std::uint16_t port) : port_(port) {
  socket_ = bound(ip, port_);
}

BlackHole::BlackHole(const std::string& ip, std::uint16_t port) : listener_(ip, 0, port) {
  const auto to = net::address::parse(ip, listener_.port());
  for (int i = 0; i < 16; ++i) {
    net::Socket s{::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    ::connect(s.fd(), to->data(), to->size());
    const bool answered = wait_for(s.fd(), POLLOUT, 100ms);
    filling_.push_back(std::move(s));
    if (!answered) return;  // the queue is full
  }
  throw std::runtime_error("the listening queue does not fill");
}

Server::Server(handler serve, const std::string& ip, std::uint16_t port)
    : listener_(ip, 64, port), thread_([this, serve = std::move(serve)] { run(serve); }) {}

Server::~Server() {
  {
    const std::scoped_lock lock{mutex_};
    stop_ = true;
    if (current_ >= 0) ::shutdown(current_, SHUT_RDWR);  // a handler that reads comes back
  }
  thread_.join();
}

void Server::run(const handler& serve) {
  // OpenSSL's own socket BIO raises it when a client goes. Only here: in the test's own thread a
  // SIGPIPE must show.
  ::sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  for (;;) {
    const net::Socket s = listener_.accept(5ms);
    {
      const std::scoped_lock lock{mutex_};
      if (stop_) return;
      current_ = s.fd();
    }
    if (!s) continue;
    ++accepted_;
    const ::timeval limit{5, 0};  // a test that went wrong must not hang
    ::setsockopt(s.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    serve(s.fd());
    const std::scoped_lock lock{mutex_};
    current_ = -1;
  }
}

tcp_pair connected_pair() {
  const Listener listener;
  tcp_pair result;
  net::error err;
  result.client = net::Socket::tcp(AF_INET, err);
  int sys = 0;
  result.client.start_connect(*net::address::parse("127.0.0.1", listener.port()), sys);
  result.server = listener.accept();
  result.client.set_blocking(true);
  return result;
}

std::string receive(int fd, std::size_t at_least, std::chrono::milliseconds limit) {
  std::string result;
  const auto end = std::chrono::steady_clock::now() + limit;
  char buffer[65536];
  while (result.size() < at_least) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !wait_for(fd, POLLIN, left)) break;
    const ::ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    result.append(buffer, static_cast<std::size_t>(n));
  }
  return result;
}

void send_all(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ::ssize_t n = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

bool has_ipv6_loopback() {
  const auto where = net::address::parse("::1", 0);
  const net::Socket s{::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return s && ::bind(s.fd(), where->data(), where->size()) == 0;
}

}  // namespace net_test
