// Clusters behind proxies, and clusters whose names a DNS knows, as their nodes and clients see
// them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "kit/cluster.hpp"
#include "kit/error.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

namespace {

/// The node's own entry in a CLUSTER SLOTS reply: preferred endpoint, port, id, metadata.
const kit::Reply& entry_of(const kit::Reply& slots, const std::string& id) {
  for (const auto& range : slots.items) {
    for (std::size_t i = 2; i < range.items.size(); ++i) {
      if (range.at(i).at(2).text == id) return range.at(i);
    }
  }
  throw kit::Error("no entry in CLUSTER SLOTS for " + id);
}

kit::Connection connect_as_client(const kit::Cluster& cluster, std::size_t node) {
  auto options = cluster.server(node).connection_options();
  options.connect_limit = 500ms;
  options.command_limit = 500ms;
  return kit::Connection(cluster.client_address(node), std::move(options));
}

}  // namespace

TEST_CASE("kit: a proxied cluster leads its clients and replicas through the proxies") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1, .proxied = true, .tls = true});
  const auto nodes = cluster.nodes();
  REQUIRE(nodes.size() == 6);
  for (const auto& seen_from : nodes) {
    const auto slots = cluster.server(seen_from.index).command("CLUSTER", "SLOTS");
    const auto view = cluster.view(seen_from.index);
    for (const auto& node : nodes) {
      const auto port = cluster.client_address(node.index).port;
      CHECK(port != node.address.port);
      CHECK(port == cluster.proxy(node.index).address().port);
      CHECK(entry_of(slots, node.id).at(0).text == "127.0.0.1");
      CHECK(entry_of(slots, node.id).at(1).num() == port);
      CHECK(view.find(node.id)->port == port);
      CHECK(cluster.uri().find(cluster.client_address(node.index).to_string()) !=
            std::string::npos);
      CHECK(cluster.index_of(cluster.client_address(node.index).to_string()) == node.index);
    }
  }

  // The client's way is the proxy's, the kit's is not.
  const auto owner = cluster.owner_of_key("foo");
  auto client = connect_as_client(cluster, owner);
  client.command("SET", "foo", "1");
  CHECK(cluster.proxy(owner).counts().bytes_to_server > 0);
  const auto other = owner == 0 ? 1U : 0U;
  auto stranger = connect_as_client(cluster, other);
  const auto moved = stranger.try_command("GET", "foo");
  CHECK(moved.is_error("MOVED"));
  CHECK(moved.text.ends_with(cluster.client_address(owner).to_string()));

  // A swallow cuts replication too, but not the bus: nobody fails over.
  cluster.proxy(owner).swallow();
  cluster.server(owner).command("SET", "foo", "2");
  CHECK(cluster.server(owner).command("WAIT", 1, 300).num() == 0);
  CHECK_THROWS_AS(connect_as_client(cluster, owner), kit::Error);
  CHECK(cluster.owner_of_key("foo") == owner);
  cluster.proxy(owner).heal();
  CHECK(client.command("GET", "foo").str() == "2");  // it was idle and has lost nothing
  cluster.wait_ready_to_fail_over();
  CHECK(cluster.server(owner).command("WAIT", 1, 5000).num() == 1);

  // Another port on the same host: clients find it where it was.
  const auto old = cluster.client_address(owner);
  cluster.restart(owner, cluster.spare_address());
  CHECK(cluster.client_address(owner) == old);
  CHECK(connect_as_client(cluster, owner).command("PING").str() == "PONG");
  cluster.wait_ready_to_fail_over();

  // New nodes have proxies too; slots move through them.
  const auto shard = cluster.add_shards(1).front();
  const auto id = cluster.id(shard);
  CHECK(entry_of(cluster.server(0).command("CLUSTER", "SLOTS"), id).at(1).num() ==
        cluster.proxy(shard).address().port);
  const auto gone = cluster.client_address(shard);
  cluster.remove_shards(1);
  CHECK_THROWS_AS(kit::Connection(gone), kit::Error);
}

TEST_CASE("kit: the names of a cluster are in its DNS, which does not follow by itself") {
  auto dns = std::make_shared<kit::DnsResponder>();
  kit::Cluster cluster(
      {.primaries = 3, .own_addresses = true, .hostnames = true, .dns = dns, .proxied = true});
  const auto uri = cluster.uri();
  CHECK(uri.find("n1.lab.test:") != std::string::npos);
  CHECK(uri.ends_with("?dns_servers=" + dns->address().to_string()));
  const auto check_metadata = [&](std::size_t node) {
    const auto hostname = "n" + std::to_string(node + 1) + ".lab.test";
    const auto address = cluster.client_address(node);
    for (const std::size_t seen_from : {0, 1, 2}) {
      auto& server = cluster.server(seen_from);
      const auto slots = server.command("CLUSTER", "SLOTS");
      const auto& entry = entry_of(slots, cluster.id(node));
      CHECK(entry.at(0).text == hostname);
      CHECK(entry.at(1).num() == address.port);
      CHECK(entry.at(3).at("ip").text == address.host);
      const auto view = cluster.view(seen_from);
      const auto& line = *view.find(cluster.id(node));
      CHECK(line.hostname == hostname);
      CHECK(line.host == address.host);
      CHECK(line.port == address.port);
    }
  };
  for (const std::size_t node : {0, 1, 2}) {
    check_metadata(node);
    CHECK(dns->a(cluster.nodes()[node].hostname).ips ==
          std::vector<std::string>{cluster.server(node).address().host});
  }

  const auto old = cluster.client_address(1);
  cluster.restart(1, cluster.spare_address());
  cluster.wait_ready_to_serve();
  CHECK(cluster.client_address(1).host != old.host);
  CHECK(cluster.client_address(1).port == old.port);
  kit::wait_until([&] { return cluster.view(0).find(cluster.id(1))->host != old.host; }, 10s,
                  "the others to know the new address");
  check_metadata(1);
  CHECK_THROWS_AS(kit::Connection(old), kit::Error);
  CHECK(connect_as_client(cluster, 1).command("PING").str() == "PONG");
  CHECK(dns->a("n2.lab.test").ips == std::vector<std::string>{old.host});
  cluster.update_dns(1);
  CHECK(dns->a("n2.lab.test").ips == std::vector<std::string>{cluster.server(1).address().host});

  const auto added = cluster.add_empty_shards(1).front();
  CHECK(dns->a("n4.lab.test").ips.size() == 1);
  cluster.remove_shard(added);
  CHECK(dns->a("n4.lab.test").code == kit::DnsCode::nxdomain);
}
