// Sockets and waiting for the tests of lib/net. Catch2's checks stay in the test's own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/loop.hpp"
#include "net/socket.hpp"

namespace net_test {

using namespace std::chrono_literals;
namespace net = slotwise::net;

// Turns the loop until `done` or the time is up; says whether `done` came true.
bool run_until(net::Loop& loop, const std::function<bool()>& done,
               std::chrono::milliseconds limit = 5s);

// The same without a loop, for what another thread does.
bool eventually(const std::function<bool()>& done, std::chrono::milliseconds limit = 5s);

// How many descriptors this process has open.
std::size_t open_descriptors();

// How many of them a program started by exec would get.
std::size_t inherited_by_exec();

std::int64_t elapsed_ms(std::chrono::steady_clock::time_point since);

// A listening TCP socket on a free port of `ip`.
class Listener {
 public:
  explicit Listener(const std::string& ip = "127.0.0.1", int backlog = 64, std::uint16_t port = 0);
  std::uint16_t port() const { return port_; }
  int fd() const { return socket_.fd(); }
  net::Socket accept(std::chrono::milliseconds limit = 5s) const;  // empty when nobody came
  void close() { socket_.close(); }

 private:
  net::Socket socket_;
  std::uint16_t port_ = 0;
};

// A port of `ip` where nobody listens: bound, so nobody else gets it, but not listening.
class ClosedPort {
 public:
  explicit ClosedPort(const std::string& ip = "127.0.0.1", std::uint16_t port = 0);
  std::uint16_t port() const { return port_; }

 private:
  net::Socket socket_;
  std::uint16_t port_ = 0;
};

// Listens, but its queue is full and nobody accepts: a TCP connect gets no answer.
class BlackHole {
 public:
  explicit BlackHole(const std::string& ip = "127.0.0.1", std::uint16_t port = 0);
  std::uint16_t port() const { return listener_.port(); }

 private:
  Listener listener_;
  std::vector<net::Socket> filling_;
};

// Accepts and, in a thread, hands each connection to `serve`; stops with the object.
class Server {
 public:
  using handler = std::function<void(int fd)>;
  explicit Server(handler serve, const std::string& ip = "127.0.0.1", std::uint16_t port = 0);
  ~Server();
  std::uint16_t port() const { return listener_.port(); }
  int accepted() const { return accepted_; }

 private:
  void run(const handler& serve);
  Listener listener_;
  std::atomic<int> accepted_{0};
  std::mutex mutex_;
  int current_ = -1;  // the connection being served; -1: none
  bool stop_ = false;
  std::thread thread_;
};

// Two connected sockets over TCP on loopback, blocking.
struct tcp_pair {
  net::Socket client;
  net::Socket server;
};
tcp_pair connected_pair();

// Full duplex for test peers: waits for bytes at most `limit`; empty at the end or timeout.
std::string receive(int fd, std::size_t at_least, std::chrono::milliseconds limit = 5s);
void send_all(int fd, const std::string& bytes);

bool has_ipv6_loopback();

}  // namespace net_test
