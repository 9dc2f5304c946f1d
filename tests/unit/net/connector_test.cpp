#include "net/connector.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "connector_support.hpp"

using namespace net_test;
using Catch::Matchers::ContainsSubstring;
using slotwise::net::errc;

namespace {

// One port on several loopback addresses: the free port is found on the first.
struct World {
  DnsResponder dns;
  Dialer dialer{{.dns_servers = dns.address().to_string(), .try_timeout = 300ms, .tries = 2}};
};

}  // namespace

TEST_CASE("connector: one address, and the socket is as promised") {
  Dialer d;
  const Listener listener;
  auto& r = d.dial({.host = "127.0.0.1", .port = listener.port()});
  REQUIRE_FALSE(r.err);
  const int fd = r.stream.fd();
  CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
  CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  int value = 0;
  ::socklen_t size = sizeof value;
  ::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size);
  CHECK(value == 1);
  CHECK(r.stream.peer().to_string() == "127.0.0.1:" + std::to_string(listener.port()));
  CHECK_FALSE(r.stream.secure());
  const net::Socket server = listener.accept();
  CHECK(r.stream.write(std::string_view("hi"), net::io_mode::nonblocking).bytes == 2);
  CHECK(receive(server.fd(), 2) == "hi");
  CHECK_FALSE(d.connector.running());
}

TEST_CASE("connector: a refused address costs no time; the good one of the name is used") {
  World w;
  const Listener good("127.0.0.3");
  const ClosedPort refused("127.0.0.2", good.port());
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
  auto& r = w.dialer.dial({.host = "node.lab.test", .port = good.port()}, 5s, {.stagger = 3s});
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.3");
  CHECK(w.dialer.took < 1500);
}

TEST_CASE("connector: a black hole costs a quarter second, then the next address runs beside it") {
  World w;
  const BlackHole hole("127.0.0.2");
  const Listener good("127.0.0.3", 64, hole.port());
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
  auto& r = w.dialer.dial({.host = "node.lab.test", .port = good.port()}, 2s);
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.3");
  CHECK(w.dialer.took >= 245);
  CHECK(w.dialer.took < 15000);
}

TEST_CASE("connector: ::1 refused, 127.0.0.1 good") {
  if (!has_ipv6_loopback()) SKIP("no IPv6 on this machine");
  World w;
  const Listener good("127.0.0.1");
  w.dns.set("node.lab.test", {.ips = {"127.0.0.1"}}, {.ips = {"::1"}});
  auto& r = w.dialer.dial({.host = "node.lab.test", .port = good.port()}, 5s, {.stagger = 3s});
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.1");
  CHECK(w.dialer.took < 1500);
  const Listener six("::1");
  auto& literal = w.dialer.dial({.host = "[::1]", .port = six.port()});
  REQUIRE_FALSE(literal.err);
  CHECK(literal.stream.peer().ip() == "::1");
}

TEST_CASE("connector: the error names each address with its reason") {
  World w;
  const ClosedPort a("127.0.0.2");
  const ClosedPort b("127.0.0.3", a.port());
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
  auto& r = w.dialer.dial({.host = "node.lab.test", .port = a.port()});
  CHECK(r.err.code == errc::connect);
  CHECK(r.err.sys == ECONNREFUSED);
  const std::string port = std::to_string(a.port());
  CHECK(r.err.text == "cannot connect to node.lab.test:" + port + ": 127.0.0.2:" + port +
                          ": connection refused; 127.0.0.3:" + port + ": connection refused");
  CHECK_FALSE(static_cast<bool>(r.stream));
}

TEST_CASE("connector: a name without an address is the resolver's error") {
  World w;
  auto& r = w.dialer.dial({.host = "missing.lab.test", .port = 1});
  CHECK(r.err.code == errc::resolve);
  CHECK_THAT(r.err.text, ContainsSubstring("no address for missing.lab.test"));
  w.dns.set("empty.lab.test", {});
  CHECK(w.dialer.dial({.host = "empty.lab.test", .port = 1}).err.code == errc::resolve);
}

TEST_CASE("connector: one deadline over DNS and TCP") {
  World w;
  SECTION("silent DNS") {
    w.dns.set("mute.lab.test", {.silent = true}, {.silent = true});
    auto& r = w.dialer.dial({.host = "mute.lab.test", .port = 1}, 200ms);
    CHECK(r.err.code == errc::timed_out);
    CHECK_THAT(r.err.text, ContainsSubstring("within 200 ms") && ContainsSubstring("DNS"));
  }
  SECTION("black hole") {
    const BlackHole hole;
    auto& r = w.dialer.dial({.host = "127.0.0.1", .port = hole.port()}, 200ms);
    CHECK(r.err.code == errc::timed_out);
    CHECK_THAT(r.err.text, ContainsSubstring("within 200 ms") && ContainsSubstring("127.0.0.1") &&
                               ContainsSubstring("no answer to the TCP connect"));
  }
  SECTION("slow DNS eats into the budget of the connect") {
    const BlackHole hole;
    w.dns.set("slow.lab.test", {.ips = {"127.0.0.1"}, .delay = 120ms});
    CHECK(w.dialer.dial({.host = "slow.lab.test", .port = hole.port()}, 200ms).err.code ==
          errc::timed_out);
  }
  CHECK(w.dialer.took >= 198);
  CHECK(w.dialer.took < 1500);
}

TEST_CASE("connector: a deadline in the past ends at once, and still through the loop") {
  Dialer d;
  const BlackHole hole;
  CHECK(d.dial({.host = "127.0.0.1", .port = hole.port()}, -1s).err.code == errc::timed_out);
  CHECK(d.took < 1500);
}

TEST_CASE("connector: the announced ip joins when DNS names a dead address") {
  World w;
  SECTION("refused: at once") {
    const Listener good("127.0.0.9");
    const ClosedPort refused("127.0.0.2", good.port());
    w.dns.set("node.lab.test", {.ips = {"127.0.0.2"}});
    auto& r = w.dialer.dial(
        {.host = "node.lab.test", .port = good.port(), .announced_ips = {"127.0.0.9"}}, 5s,
        {.stagger = 3s});
    REQUIRE_FALSE(r.err);
    CHECK(r.stream.peer().ip() == "127.0.0.9");
    CHECK(w.dialer.took < 1500);
  }
  SECTION("black hole: after a quarter second, before the other addresses of DNS") {
    const BlackHole hole("127.0.0.2");
    const Listener other("127.0.0.3", 64, hole.port());
    const Listener good("127.0.0.9", 64, hole.port());
    w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
    auto& r = w.dialer.dial(
        {.host = "node.lab.test", .port = hole.port(), .announced_ips = {"127.0.0.9"}});
    REQUIRE_FALSE(r.err);
    CHECK(r.stream.peer().ip() == "127.0.0.9");
    CHECK(w.dialer.took >= 245);
    CHECK(w.dialer.took < 15000);
  }
  SECTION("no DNS answer: after a quarter second") {
    const Listener good("127.0.0.9");
    w.dns.set("mute.lab.test", {.silent = true}, {.silent = true});
    auto& r = w.dialer.dial(
        {.host = "mute.lab.test", .port = good.port(), .announced_ips = {"127.0.0.9"}});
    REQUIRE_FALSE(r.err);
    CHECK(w.dialer.took >= 245);
    CHECK(w.dialer.took < 15000);
  }
  SECTION("NXDOMAIN: at once") {
    const Listener good("127.0.0.9");
    auto& r = w.dialer.dial({.host = "missing.lab.test",
                             .port = good.port(),
                             .announced_ips = {"not an ip", "127.0.0.9"}},
                            5s, {.stagger = 3s});
    REQUIRE_FALSE(r.err);
    CHECK(w.dialer.took < 1500);
  }
}

TEST_CASE("connector: DNS goes first when both are alive, and the same ip is tried once") {
  World w;
  const Listener dns_side("127.0.0.2");
  const Listener announced("127.0.0.9", 64, dns_side.port());
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2"}});
  auto& r = w.dialer.dial(
      {.host = "node.lab.test", .port = dns_side.port(), .announced_ips = {"127.0.0.9"}});
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.2");
  const ClosedPort refused("127.0.0.4");
  w.dns.set("node.lab.test", {.ips = {"127.0.0.4"}});
  auto& twice = w.dialer.dial(
      {.host = "node.lab.test", .port = refused.port(), .announced_ips = {"127.0.0.4"}});
  const std::string& text = twice.err.text;
  CHECK(text.find("127.0.0.4") == text.rfind("127.0.0.4"));
  CHECK(text.find("127.0.0.4") != std::string::npos);
}

TEST_CASE("connector: an address to avoid is the last resort") {
  World w;
  const Listener wrong("127.0.0.2");
  const Listener right("127.0.0.3", 64, wrong.port());
  w.dns.set("node.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
  net::endpoint to{.host = "node.lab.test", .port = wrong.port()};
  to.avoid = {*net::address::parse("127.0.0.2", wrong.port())};
  CHECK(w.dialer.dial(to).stream.peer().ip() == "127.0.0.3");
  to.host = "127.0.0.2";
  CHECK(w.dialer.dial(to).stream.peer().ip() == "127.0.0.2");
}

TEST_CASE("connector: nothing is reported after cancel or destruction") {
  World w;
  const BlackHole hole;
  const std::size_t before = open_descriptors();
  auto second = std::make_unique<Dialer>();
  {
    net::Connector brief(w.dialer.loop, w.dialer.resolver, w.dialer);
    brief.start({.host = "127.0.0.1", .port = hole.port()}, {}, w.dialer.loop.refresh_now() + 1s);
    w.dialer.loop.run_once(10ms);
    CHECK(brief.running());
    brief.start({.host = "127.0.0.1", .port = hole.port()}, {}, w.dialer.loop.refresh_now() + 1s);
  }
  second.reset();
  w.dialer.connector.start({.host = "127.0.0.1", .port = hole.port()}, {},
                           w.dialer.loop.refresh_now() + 100ms);
  w.dialer.loop.run_once(10ms);
  w.dialer.connector.cancel();
  CHECK_FALSE(w.dialer.connector.running());
  run_until(
      w.dialer.loop, [] { return false; }, 200ms);
  CHECK(w.dialer.calls == 0);
  CHECK(open_descriptors() == before);
}

TEST_CASE("connector: the handler may start the next attempt, or drop the connector") {
  Dialer d;
  const ClosedPort refused;
  const Listener good;
  auto own = std::make_unique<net::Connector>(d.loop, d.resolver, d);
  d.action = [&] {
    if (d.calls == 1) {
      CHECK(d.result->err);
      own->start({.host = "127.0.0.1", .port = good.port()}, {}, d.loop.now() + 1s);
    } else {
      own.reset();
    }
  };
  own->start({.host = "127.0.0.1", .port = refused.port()}, {}, d.loop.refresh_now() + 1s);
  CHECK(run_until(d.loop, [&] { return own == nullptr; }));
  CHECK(d.calls == 2);
  CHECK_FALSE(d.result->err);
}

TEST_CASE("connector: a connection of a socket with itself is not taken for a server") {
  // On loopback a connect to an ephemeral port where nobody listens succeeds when the kernel
  // happens to choose the very same port as the source; forced here by binding to it.
  const ClosedPort nobody;
  net::error err;
  net::Socket s = net::Socket::tcp(AF_INET, err);
  const int one = 1;
  ::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  std::uint16_t port = 0;
  {
    const ClosedPort free_again;
    port = free_again.port();
  }
  const auto self = *net::address::parse("127.0.0.1", port);
  REQUIRE(::bind(s.fd(), self.data(), self.size()) == 0);
  int sys = 0;
  CHECK(s.start_connect(self, sys) == net::Socket::progress::in_progress);
  CHECK(s.finish_connect(sys) == net::Socket::progress::failed);
  CHECK(sys == ECONNREFUSED);
}

TEST_CASE("connector: 10,000 failed connects leave no descriptor behind") {
  World w;
  const ClosedPort refused;
  w.dns.set("node.lab.test", {.ips = {"127.0.0.1", "127.0.0.2"}});
  w.dialer.dial({.host = "node.lab.test", .port = refused.port()});
  const std::size_t before = open_descriptors();
  int failed = 0;
  for (int i = 0; i < 9'900; ++i) {
    failed += w.dialer.dial({.host = "127.0.0.1", .port = refused.port()}).err ? 1 : 0;
  }
  for (int i = 0; i < 100; ++i) {
    failed += w.dialer.dial({.host = "node.lab.test", .port = refused.port()}).err ? 1 : 0;
  }
  CHECK(failed == 10'000);
  CHECK(open_descriptors() <= before);
}

TEST_CASE("connector: running out of descriptors is an error like any other") {
  Dialer d;
  const Listener listener;
  d.dial({.host = "127.0.0.1", .port = listener.port()});
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const ::rlimit none{0, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  auto& r = d.dial({.host = "127.0.0.1", .port = listener.port()});
  ::setrlimit(RLIMIT_NOFILE, &limit);
  CHECK(r.err.code == errc::connect);
  CHECK(r.err.sys == EMFILE);
}
