// The cluster's own word about a node's address against what DNS says.
#include "kit/dns_responder.hpp"
#include "kit/ports.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("DNS names the address of another node: the address that the cluster announced is used") {
  const kit::LoopbackNet net = kit::LoopbackNet::reserve();
  const kit::Port port = kit::Port::reserve();
  ScriptedNode old_place(
      {.host = net.address(2), .port = port.number(), .id = std::string(40, 'a')});
  ScriptedNode new_place(
      {.host = net.address(3), .port = port.number(), .id = std::string(40, 'b')});
  kit::DnsResponder dns;
  // The pod moved to new_place; its name still leads to old_place, where another pod lives now.
  dns.set("node-a.example.test", {.ips = {old_place.host()}});
  Pair n;
  kit::ScriptedMapNode moved = n.b.map_node();
  moved.host = "node-a.example.test";
  moved.port = port.number();
  moved.metadata = {{"ip", new_place.host()}};
  moved.id = new_place.id();
  n.map->set({{0, 16383, {moved}}});
  new_place.always({"GET"}, resp::bulk("1"));
  Config config = n.config();
  config.dns_servers = {dns.address().to_string()};
  const auto start = Clock::now();
  const Client client = Client::connect(config);
  CHECK(client.get("foo") == "1");
  CHECK(ms_since(start) < 1500);
  CHECK(old_place.count("GET") == 0);
  SECTION("unless that is switched off") {
    config.use_announced_ips = false;
    config.timeout = 1s;
    const Client strict = Client::connect(config);
    const Error e = error_of([&] { return strict.get("foo"); });
    CHECK(e.code() == ErrorCode::wrong_node);
    CHECK(e.did_not_run());
    CHECK(e.message().find(new_place.id()) != std::string_view::npos);
    CHECK(e.message().find(old_place.id()) != std::string_view::npos);
  }
}
