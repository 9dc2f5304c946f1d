#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "connector_support.hpp"
#include "tls_support.hpp"

using namespace net_test;
using Catch::Matchers::ContainsSubstring;
using slotwise::net::errc;
using slotwise::net::io_mode;
using slotwise::net::io_status;

namespace {

struct World {
  World() {
    net::error err;
    settings.tls = net::TlsContext::make({.ca_file = folder.write("ca.pem", ca.pem())}, err);
    REQUIRE_FALSE(err);
  }
  net::connect_result& dial(net::endpoint to, std::chrono::milliseconds limit = 5s) {
    return dialer.dial(std::move(to), limit, settings);
  }
  Certificate ca = make_ca("slotwise test CA");
  Folder folder;
  DnsResponder dns;
  Dialer dialer{{.dns_servers = dns.address().to_string(), .try_timeout = 300ms, .tries = 2}};
  net::connect_settings settings;
};

// Holds each connection open without a word until the other side goes.
void stay_silent(int fd) {
  while (!receive(fd, 100'000, 3s).empty()) {
  }
}

}  // namespace

TEST_CASE("connector, TLS: good server, by name and by address") {
  World w;
  const TlsServer server(make_leaf(w.ca, "node", "DNS:node-a.lab.test,IP:127.0.0.1"));
  w.dns.set("node-a.lab.test", {.ips = {"127.0.0.1"}});
  auto& r = w.dial({.host = "node-a.lab.test", .port = server.port()});
  INFO(r.err.text);
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.secure());
  CHECK(r.stream.write(std::string_view("ping"), io_mode::blocking).status == io_status::ok);
  char buffer[16];
  const auto got = r.stream.read(buffer, io_mode::blocking);
  CHECK(std::string(buffer, got.bytes) == "ping");
  r.stream.close();
  CHECK_FALSE(w.dial({.host = "127.0.0.1", .port = server.port()}).err);
}

TEST_CASE("connector, TLS: the name is verified though an ip was dialled") {
  World w;
  const TlsServer server(make_leaf(w.ca, "node", "DNS:node-a.lab.test"));
  net::endpoint to{.host = "127.0.0.1", .port = server.port(), .tls_name = "node-a.lab.test"};
  CHECK_FALSE(w.dial(to).err);
  w.dialer.result.reset();
  while (server.names().empty())
    std::this_thread::yield();
  CHECK(server.names() == std::vector<std::string>{"node-a.lab.test"});
  to.tls_name.clear();
  auto& r = w.dial(to);
  CHECK(r.err.code == errc::tls);
  CHECK_THAT(r.err.text,
             ContainsSubstring("\"127.0.0.1\"") && ContainsSubstring("node-a.lab.test"));
}

TEST_CASE("connector, TLS: wrong name and self-signed are clear errors") {
  World w;
  w.dns.set("node-a.lab.test", {.ips = {"127.0.0.1"}});
  {
    const TlsServer server(make_leaf(w.ca, "node", "DNS:node-b.lab.test"));
    auto& r = w.dial({.host = "node-a.lab.test", .port = server.port()});
    CHECK(r.err.code == errc::tls);
    CHECK_THAT(r.err.text, ContainsSubstring("expected \"node-a.lab.test\"") &&
                               ContainsSubstring("DNS:node-b.lab.test"));
  }
  {
    const TlsServer server(make_self_signed("lonely", "DNS:node-a.lab.test"));
    auto& r = w.dial({.host = "node-a.lab.test", .port = server.port()});
    CHECK(r.err.code == errc::tls);
    CHECK_THAT(r.err.text, ContainsSubstring("self-signed"));
  }
}

TEST_CASE("connector, TLS: a reused address with another certificate does not win the race") {
  World w;
  // What stale DNS names is alive, answers fast, and is another node.
  const TlsServer wrong(make_leaf(w.ca, "node", "DNS:node-b.lab.test"),
                        {.client_ca = nullptr, .serve = {}, .ip = "127.0.0.2"});
  const TlsServer right(
      make_leaf(w.ca, "node", "DNS:node-a.lab.test"),
      {.client_ca = nullptr, .serve = {}, .ip = "127.0.0.9", .port = wrong.port()});
  w.dns.set("node-a.lab.test", {.ips = {"127.0.0.2"}});
  w.settings.stagger = 3s;
  auto& r =
      w.dial({.host = "node-a.lab.test", .port = wrong.port(), .announced_ips = {"127.0.0.9"}});
  INFO(r.err.text);
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.9");
  CHECK(w.dialer.took < 1500);
}

TEST_CASE("connector, TLS: a candidate that hangs in the handshake does not hold up the next") {
  World w;
  const Server silent(stay_silent, "127.0.0.2");
  const TlsServer right(
      make_leaf(w.ca, "node", "DNS:node-a.lab.test"),
      {.client_ca = nullptr, .serve = {}, .ip = "127.0.0.3", .port = silent.port()});
  w.dns.set("node-a.lab.test", {.ips = {"127.0.0.2", "127.0.0.3"}});
  auto& r = w.dial({.host = "node-a.lab.test", .port = silent.port()});
  INFO(r.err.text);
  REQUIRE_FALSE(r.err);
  CHECK(r.stream.peer().ip() == "127.0.0.3");
  CHECK(w.dialer.took >= 245);
}

TEST_CASE("connector, TLS: a plain server that waits silently costs the deadline, not more") {
  World w;
  const Server silent(stay_silent);
  const std::size_t before = open_descriptors();
  auto& r = w.dial({.host = "127.0.0.1", .port = silent.port()}, 300ms);
  CHECK(r.err.code == errc::timed_out);
  CHECK_THAT(r.err.text, ContainsSubstring("TLS handshake") && ContainsSubstring("300 ms"));
  CHECK(w.dialer.took >= 298);
  CHECK(w.dialer.took < 1500);
  CHECK(eventually([&] { return open_descriptors() <= before; }));
}

TEST_CASE("connector, TLS: a plain server that answers -ERR is quoted") {
  World w;
  const Server plain([](int fd) {
    receive(fd, 1);
    send_all(fd, "-ERR Protocol error\r\n");
    receive(fd, 1'000'000, 100ms);
  });
  auto& r = w.dial({.host = "127.0.0.1", .port = plain.port()});
  CHECK(r.err.code == errc::tls);
  CHECK_THAT(r.err.text,
             ContainsSubstring("does not speak TLS") && ContainsSubstring("-ERR Protocol error"));
}

TEST_CASE("connector, TLS: 300 failed handshakes leave no descriptor behind") {
  World w;
  const TlsServer server(make_leaf(w.ca, "node", "DNS:node-b.lab.test"));
  w.dial({.host = "127.0.0.1", .port = server.port()});
  const std::size_t before = open_descriptors();
  int failed = 0;
  for (int i = 0; i < 300; ++i) {
    failed += w.dial({.host = "127.0.0.1", .port = server.port()}).err ? 1 : 0;
  }
  CHECK(failed == 300);
  // The server's side may lag behind by one connection.
  CHECK(eventually([&] { return open_descriptors() <= before; }));
}
