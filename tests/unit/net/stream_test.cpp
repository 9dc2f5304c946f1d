#include "net/stream.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <catch2/catch_test_macros.hpp>

#include <thread>
#include <vector>

#include "support.hpp"

using namespace net_test;
using slotwise::net::io_mode;
using slotwise::net::io_status;
using slotwise::net::Stream;

namespace {

int option(int fd, int level, int name) {
  int value = -1;
  ::socklen_t size = sizeof value;
  ::getsockopt(fd, level, name, &value, &size);
  return value;
}

::iovec part(std::string& text) {
  return {text.data(), text.size()};
}

}  // namespace

TEST_CASE("socket options and flags are what the settings say") {
  auto pair = connected_pair();
  net::socket_options options;
  options.keepalive_idle = 7s;
  options.keepalive_interval = 2s;
  options.keepalive_count = 4;
  options.user_timeout = 1234ms;
  CHECK_FALSE(pair.client.apply(options));
  const int fd = pair.client.fd();
  CHECK(option(fd, IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(option(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 7);
  CHECK(option(fd, IPPROTO_TCP, TCP_KEEPINTVL) == 2);
  CHECK(option(fd, IPPROTO_TCP, TCP_KEEPCNT) == 4);
  CHECK(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 1234);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a non-blocking read on a blocking socket says what it waits for") {
  auto pair = connected_pair();
  Stream stream(std::move(pair.client), {});
  char buffer[16];
  auto r = stream.read(buffer, io_mode::nonblocking);
  CHECK(r.status == io_status::want_read);
  CHECK_FALSE(stream.has_pending());
  send_all(pair.server.fd(), "hello");
  r = stream.read(buffer, io_mode::blocking);
  CHECK(r.status == io_status::ok);
  CHECK(std::string(buffer, r.bytes) == "hello");
  pair.server.close();
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::eof);
}

TEST_CASE("writes stop at a full buffer and go on where they stopped") {
  auto pair = connected_pair();
  Stream stream(std::move(pair.client), {});
  const std::string data(8 * 1024 * 1024, 'x');
  auto r = stream.write(data, io_mode::nonblocking);
  CHECK(r.status == io_status::want_write);
  CHECK(r.bytes > 0);
  CHECK(r.bytes < data.size());
  std::string got;
  std::thread reader([&] { got = receive(pair.server.fd(), data.size()); });
  const auto rest = stream.write(std::span(data).subspan(r.bytes), io_mode::blocking);
  CHECK(rest.status == io_status::ok);
  CHECK(rest.bytes == data.size() - r.bytes);
  reader.join();
  CHECK(got == data);
}

TEST_CASE("a gathered write takes many parts, empty ones and large ones, in both modes") {
  for (const io_mode mode : {io_mode::blocking, io_mode::nonblocking}) {
    auto pair = connected_pair();
    Stream stream(std::move(pair.client), {});
    std::vector<std::string> texts;
    for (int i = 0; i < 3000; ++i)
      texts.emplace_back(static_cast<std::size_t>(i % 7), 'a');
    texts.emplace_back(3'000'000, 'b');
    texts.emplace_back("end");
    texts.emplace_back(2'000'000, 'c');
    std::string whole;
    std::vector<::iovec> parts;
    for (auto& text : texts) {
      whole += text;
      parts.push_back(part(text));
    }
    std::string got;
    std::thread reader([&] { got = receive(pair.server.fd(), whole.size()); });
    std::size_t done = 0;
    while (done < whole.size()) {
      const auto r = stream.write(std::span<const ::iovec>(parts), mode);
      REQUIRE((r.status == io_status::ok || r.status == io_status::want_write));
      done += r.bytes;
      std::size_t left = r.bytes;
      while (!parts.empty() && left >= parts[0].iov_len) {
        left -= parts[0].iov_len;
        parts.erase(parts.begin());
      }
      if (left > 0) {
        parts[0].iov_base = static_cast<char*>(parts[0].iov_base) + left;
        parts[0].iov_len -= left;
      }
    }
    reader.join();
    CHECK(got == whole);
  }
}

TEST_CASE("a blocking read ends at its timeout") {
  auto pair = connected_pair();
  Stream stream(std::move(pair.client), {});
  stream.set_blocking_timeout(50ms);
  const auto start = std::chrono::steady_clock::now();
  char buffer[16];
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::timed_out);
  CHECK(elapsed_ms(start) >= 45);
  CHECK(elapsed_ms(start) < 1000);
  stream.set_blocking_timeout(0ms);  // at once, not for ever
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::timed_out);
  const std::string data(16 * 1024 * 1024, 'x');
  const auto r = stream.write(data, io_mode::blocking);
  CHECK(r.status == io_status::timed_out);
  CHECK(r.bytes > 0);
}

TEST_CASE("another thread wakes a blocked reader") {
  auto pair = connected_pair();
  Stream stream(std::move(pair.client), {});
  std::thread other([&] {
    std::this_thread::sleep_for(30ms);
    stream.shutdown_now();
  });
  char buffer[16];
  CHECK(stream.read(buffer, io_mode::blocking).status == io_status::eof);
  other.join();
  CHECK(stream.fd() >= 0);  // still the owner's to close
}

TEST_CASE("writing to a peer that is gone is an error, not a signal") {
  auto pair = connected_pair();
  Stream stream(std::move(pair.client), {});
  pair.server.close();
  io_status last = io_status::ok;
  for (int i = 0; i < 100 && last != io_status::failed; ++i) {
    last = stream.write(std::string_view("x"), io_mode::nonblocking).status;
    std::this_thread::sleep_for(1ms);
  }
  CHECK(last == io_status::failed);
  CHECK(stream.last_error().sys != 0);
  CHECK(stream.last_error().text.find("send") != std::string::npos);
}

TEST_CASE("a moved stream takes everything along") {
  auto pair = connected_pair();
  const int fd = pair.client.fd();
  Stream a(std::move(pair.client), *net::address::parse("127.0.0.1", 5));
  Stream b(std::move(a));
  CHECK(b.fd() == fd);
  CHECK(b.peer().port() == 5);
  Stream c;
  c = std::move(b);
  CHECK(c.fd() == fd);
  CHECK(static_cast<bool>(c));
}
