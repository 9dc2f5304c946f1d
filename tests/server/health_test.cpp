// Connections that are dead though nobody has said so.
#include <catch2/generators/catch_generators.hpp>

#include "kit/fault_proxy.hpp"
#include "kit/server.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

struct HalfOpen {
  kit::Server server;
  kit::FaultProxy proxy{server.address()};

  Config config() const {
    Config c;
    c.endpoints = {{proxy.address().host, proxy.address().port}};
    c.attempt_timeout = 300ms;
    c.health_check_interval = 300ms;
    return c;
  }
  /// What is open now is dead from now on; new connections are fine.
  void kill_open_connections() {
    proxy.swallow();
    proxy.set_faults({}, kit::Direction::both, kit::Scope::new_connections);
  }
};

}  // namespace

TEST_CASE("B20: half-open connections are noticed while nobody calls") {
  HalfOpen h;
  Config config = h.config();
  config.direct_connections = GENERATE(0, 4);
  INFO("direct connections: " << config.direct_connections);
  const Client client = Client::connect(config);
  for (int i = 0; i < 50; ++i)
    client.set("foo", "1");
  h.kill_open_connections();
  kit::wait_until([&] { return client.stats().disconnects >= 1; }, 2s, "the PING to be missed");
  // Nothing that is known to be dead is used any more, on either way of a call.
  const auto start = Clock::now();
  CHECK(client.incr("n") == 1);
  CHECK(client.async().incr("n").get() == 2);
  CHECK(ms_since(start) < 250);
}

TEST_CASE("B20: a lone caller waits for one dead connection, not for one after the other") {
  HalfOpen h;
  Config config = h.config();
  config.health_check_interval = 0ms;  // nobody has noticed before the call
  const Client client = Client::connect(config);
  for (int i = 0; i < 50; ++i)
    client.set("foo", "1");  // in place: beside the main connection there is another one
  h.kill_open_connections();
  const auto start = Clock::now();
  CHECK(client.get("foo") == "1");
  CHECK(ms_since(start) >= 250);
  CHECK(ms_since(start) < 550);
}

TEST_CASE(
    "B20: calls end on time while nothing comes back, and work with the first new connection") {
  HalfOpen h;
  Config config = h.config();
  config.timeout = 300ms;
  config.connect_timeout = 300ms;
  const Client client = Client::connect(config);
  client.set("foo", "1");
  h.proxy.swallow();
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    const Error e = error_of([&] { return client.get("foo"); });
    CHECK(e.outcome() != Outcome::executed);
    CHECK(ms_since(start) >= 250);
    CHECK(ms_since(start) < 450);
  }
  h.proxy.set_faults({}, kit::Direction::both, kit::Scope::new_connections);
  const auto start = Clock::now();
  kit::wait_until(
      [&] {
        const auto result = client.async().get("foo").wait();
        return result && *result == "1";
      },
      3s, "a call to succeed");
  CHECK(ms_since(start) < 1000);
}
