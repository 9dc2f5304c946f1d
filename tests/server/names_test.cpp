// Theme 4: names that lead elsewhere after a while, to nowhere at times, or are spelt in two ways.
#include <fmt/format.h>

#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <thread>

#include "kit/cluster.hpp"
#include "kit/dns_responder.hpp"
#include "kit/ports.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

constexpr const char* node_name = "node-a.example.test";

/// Two places with one port, and a name that leads to one of them.
struct TwoPlaces {
  kit::LoopbackNet net = kit::LoopbackNet::reserve();
  kit::Port port = kit::Port::reserve();
  kit::DnsResponder dns;
  ScriptedNode old_place{place(2)};
  ScriptedNode new_place{place(3)};

  kit::ScriptedNodeOptions place(int n) const {
    return {.host = net.address(n), .port = port.number(), .mode = "standalone"};
  }
  void point_to(const ScriptedNode& node) { dns.set(node_name, {.ips = {node.host()}}); }
  Config config() const {
    Config c;
    c.endpoints = {{node_name, port.number()}};
    c.dns_servers = {dns.address().to_string()};
    return c;
  }
};

}  // namespace

TEST_CASE("B22: a new connection resolves the name anew") {
  TwoPlaces t;
  t.point_to(t.old_place);
  t.old_place.always({"GET"}, resp::bulk("old"));
  t.new_place.always({"GET"}, resp::bulk("new"));
  t.new_place.always({"SET"}, resp::simple("OK"));
  const Client client = Client::connect(t.config());
  CHECK(client.get("foo") == "old");
  t.point_to(t.new_place);
  SECTION("the old place is closed") {
    t.old_place.stop_listening();
    t.old_place.close_all();
    CHECK(client.get("foo") == "new");
  }
  SECTION("the old place lives on as a replica: READONLY makes the client look again") {
    t.old_place.always({"SET"},
                       resp::error("READONLY You can't write against a read only replica."));
    const auto start = Clock::now();
    client.set("foo", "1");
    CHECK(ms_since(start) < 1000);
    CHECK(t.new_place.count("SET") == 1);
    kit::wait_until([&] { return t.old_place.open_connections() == 0; }, 2s,
                    "all connections to the old place to be closed");
    CHECK(client.get("foo") == "new");
  }
}

TEST_CASE("B24: a name without an address is waited for, and says so when it stays so") {
  TwoPlaces t;
  t.new_place.always({"GET"}, resp::bulk("1"));
  const bool empty = GENERATE(true, false);
  if (empty) t.dns.set(node_name, {});  // NOERROR with no record; else NXDOMAIN
  INFO((empty ? "empty answers" : "NXDOMAIN"));
  SECTION("for a while") {
    auto connected = std::async(std::launch::async, [&] { return Client::connect(t.config()); });
    kit::wait_until([&] { return t.dns.questions(node_name) >= 4; }, 3s, "two tries");
    const auto start = Clock::now();
    t.point_to(t.new_place);
    const Client client = connected.get();
    CHECK(ms_since(start) < 1500);
    CHECK(client.get("foo") == "1");
  }
  SECTION("for ever") {
    Config config = t.config();
    config.timeout = 500ms;
    const Error e = error_of([&] { return Client::connect(config).get("foo"); });
    CHECK(e.code() == ErrorCode::connect_failed);
    CHECK(e.outcome() == Outcome::not_sent);
    CHECK(e.message().find(node_name) != std::string_view::npos);
  }
}

TEST_CASE("B24: a replica whose name leads nowhere does not sink the cluster") {
  const kit::DnsResponder dns;
  Pair n;
  kit::ScriptedMapNode replica = n.b.map_node();
  replica.host = "replica.example.test";
  n.map->set({{0, 16383, {n.a.map_node(), replica}}});
  n.a.always({"GET"}, resp::bulk("1"));
  Config config = n.config();
  config.dns_servers = {dns.address().to_string()};
  config.read_from = GENERATE(ReadFrom::primary, ReadFrom::replica_preferred);
  const auto start = Clock::now();
  const Client client = Client::connect(config);
  for (int i = 0; i < 20; ++i)
    CHECK(client.get("foo") == "1");
  CHECK(ms_since(start) < 1500);
}

TEST_CASE("B25: names here and addresses there are one node") {
  const auto dns = std::make_shared<kit::DnsResponder>();
  kit::Cluster cluster(
      {.primaries = 3, .hostnames = true, .preferred_endpoint_type = "ip", .dns = dns});
  Config config = Config::parse(cluster.uri());  // by name
  REQUIRE(config.endpoints[0].host.find("lab.test") != std::string::npos);
  config.refresh_min_interval = 20ms;
  config.refresh_interval = 20ms;
  const Client client = Client::connect(config);
  const auto call_all = [&] {
    for (int i = 0; i < 30; ++i)
      client.set(fmt::format("key{}", i), "v");
  };
  call_all();
  kit::wait_until([&] { return client.stats().refreshes >= 6; }, 5s, "the first refreshes");
  call_all();
  const auto before = client.stats();
  const auto connections = cluster.connections_received();
  kit::wait_until(
      [&] {
        call_all();
        return client.stats().refreshes >= before.refreshes + 20;
      },
      10s, "20 refreshes");
  CHECK(cluster.connections_received() == connections);
  CHECK(client.stats().disconnects == before.disconnects);
  CHECK(client.topology().nodes.size() == 3);
}

TEST_CASE("B25: MOVED says the name, the map says the address") {
  kit::DnsResponder dns;
  dns.set("node-b.example.test", {.ips = {"127.0.0.1"}});
  Pair n;
  kit::ScriptedMapNode b = n.b.map_node();
  b.metadata = {{"hostname", "node-b.example.test"}};
  n.map->set({{0, 8191, {b}}, {8192, 16383, {n.a.map_node()}}});
  n.b.always({"GET"}, resp::bulk("1"));
  n.a.always({"GET"},
             resp::error(fmt::format("MOVED {} node-b.example.test:{}", foo_slot, n.b.port())));
  Config config = n.config();
  config.dns_servers = {dns.address().to_string()};
  config.direct_connections = 0;  // one connection a node
  const Client client = Client::connect(config);
  CHECK(client.get("bar") == "1");  // slot 5061, by the map
  for (int i = 0; i < 20; ++i)
    CHECK(client.get("foo") == "1");  // slot 12182, by MOVED
  CHECK(n.b.accepts() == 1);
  CHECK(client.stats().moved >= 1);
}
