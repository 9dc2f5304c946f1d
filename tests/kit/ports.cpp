#include "kit/ports.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include "kit/error.hpp"

namespace slotwise::kit {

namespace {

constexpr int lab_first = 10000;
constexpr int lab_last = 11999;
constexpr int test_first = 12000;
constexpr int test_last = 31999;

int random_between(int first, int last) {
  static thread_local std::mt19937 generator{std::random_device{}()};
  return std::uniform_int_distribution<int>(first, last)(generator);
}

/// A descriptor that holds the lock of this name, or -1.
int try_lock(const std::string& name) {
  static const std::filesystem::path folder = [] {
    auto path = std::filesystem::temp_directory_path() / fmt::format("slotwise-locks-{}", getuid());
    ::mkdir(path.c_str(), 0700);
    return path;
  }();
  const auto file = folder / name;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw Error(fmt::format("cannot open {}", file.string()));
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

/// Whether a server could listen there, on any IPv4 address. As servers do, it looks past
/// connections in TIME_WAIT (SO_REUSEADDR), which does not look past one that listens.
bool can_bind(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  const bool ok = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                  ::listen(fd, 1) == 0;
  ::close(fd);
  return ok;
}

int last_port_for_tests() {
  int first_ephemeral = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_ephemeral;
  // A kernel set to use nearly all ports leaves no room below; then the probe must do.
  return first_ephemeral > test_first + 1000 ? std::min(test_last, first_ephemeral - 1) : test_last;
}

std::pair<int, int> find_port(int first, int last) {
  const int count = last - first + 1;
  const int start = random_between(0, count - 1);
  for (int i = 0; i < count; ++i) {
    const int port = first + (start + i) % count;
    const int fd = try_lock(fmt::format("port-{}", port));
    if (fd < 0) continue;
    if (can_bind(port)) return {port, fd};
    ::close(fd);
  }
  throw Error(fmt::format("no free port between {} and {}", first, last));
}

}  // namespace

Port::Port(Port&& other) noexcept
    : number_(std::exchange(other.number_, 0)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

Port& Port::operator=(Port&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(lock_fd_, other.lock_fd_);
  return *this;
}

Port::~Port() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

Port Port::reserve() {
  static const int last = last_port_for_tests();
  const auto [port, fd] = find_port(test_first, last);
  return {static_cast<std::uint16_t>(port), fd};
}

Port Port::reserve_for_lab() {
  const auto [port, fd] = find_port(lab_first, lab_last);
  return {static_cast<std::uint16_t>(port), fd};
}

Port Port::try_reserve(std::uint16_t number) {
  const int fd = try_lock(fmt::format("port-{}", number));
  return fd < 0 ? Port() : Port(number, fd);
}

LoopbackNet::LoopbackNet(LoopbackNet&& other) noexcept
    : prefix_(std::exchange(other.prefix_, {})),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      last_(other.last_) {}

LoopbackNet& LoopbackNet::operator=(LoopbackNet&& other) noexcept {
  std::swap(prefix_, other.prefix_);
  std::swap(lock_fd_, other.lock_fd_);
  std::swap(last_, other.last_);
  return *this;
}

LoopbackNet::~LoopbackNet() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

LoopbackNet LoopbackNet::reserve() {
  // 127.0.x.y is left to the system (127.0.0.53, 127.0.1.1 and the like).
  for (int i = 0; i < 1000; ++i) {
    const int a = random_between(1, 250);
    const int b = random_between(0, 255);
    const int fd = try_lock(fmt::format("net-{}-{}", a, b));
    if (fd < 0) continue;
    LoopbackNet net = of(fmt::format("127.{}.{}.", a, b));
    net.lock_fd_ = fd;
    return net;
  }
  throw Error("no free loopback network");
}

LoopbackNet LoopbackNet::of(std::string prefix) {
  LoopbackNet net;
  net.prefix_ = std::move(prefix);
  return net;
}

std::string LoopbackNet::address(int n) const {
  if (n < 1 || n > 254) throw Error(fmt::format("no address {} in {}0/24", n, prefix_));
  return prefix_ + std::to_string(n);
}

std::string LoopbackNet::next() {
  return address(++last_);
}

}  // namespace slotwise::kit
