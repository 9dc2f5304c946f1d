// Who answers reads: Config::read_from against real replicas.
#include <vector>

#include "kit/cluster.hpp"
#include "kit/fault_proxy.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// One shard: node 0 is the primary, the others are its replicas.
kit::Cluster one_shard(int replicas, const std::string& zones = {}) {
  kit::ClusterOptions options{.primaries = 1, .replicas = replicas};
  if (!zones.empty()) options.config.push_back({"availability-zone", zones});
  return kit::Cluster(options);
}

Client reader(const kit::Cluster& cluster, ReadFrom from, const std::string& zone = {}) {
  Config config = Config::parse(cluster.uri());
  config.read_from = from;
  config.availability_zone = zone;
  return Client::connect(config);
}

/// Reads until nothing but the nodes of `where` answers: connections are being made meanwhile.
void settle(const Client& client, kit::Cluster& cluster, const std::vector<std::size_t>& where) {
  kit::wait_until(
      [&] {
        cluster.reset_counts();
        for (int i = 0; i < 20; ++i)
          client.get("k");
        std::int64_t there = 0;
        for (const std::size_t node : where)
          there += cluster.command_count("get", node);
        return there == 20;
      },
      10s, "reads to reach the replicas");
  cluster.reset_counts();
}

}  // namespace

TEST_CASE("replica_preferred: replicas share the reads, writes go to the primary") {
  kit::Cluster cluster = one_shard(2);
  const Client client = reader(cluster, ReadFrom::replica_preferred);
  client.set("k", "v");
  kit::wait_until([&] { return client.get("k") == "v"; }, 5s, "replication");
  settle(client, cluster, {1, 2});
  for (int i = 0; i < 100; ++i) {
    CHECK(client.get("k") == "v");
    client.set("other", "v");
  }
  CHECK(cluster.command_count("get", 0) == 0);
  CHECK(cluster.command_count("get", 1) == 50);
  CHECK(cluster.command_count("get", 2) == 50);
  CHECK(cluster.error_count("MOVED") == 0);

  // One call may want the primary all the same; an own write is read back there.
  CHECK(client.with({.read_from = ReadFrom::primary}).get("k") == "v");
  CHECK(cluster.command_count("get", 0) == 1);
  // What must see the writes before it, or comes back with a cursor, is the primary's.
  auto pipeline = client.pipeline();
  pipeline.set("k", "w");
  const auto read = pipeline.get("k");
  CHECK(pipeline.exec()[read].value() == "w");
  client.command("HSET", "h", "f", "v");
  client.command("HSCAN", "h", "0");
  CHECK(cluster.command_count("hscan", 0) == 1);
}

TEST_CASE("B15: READONLY is said again on every new connection, and a write does not loop") {
  kit::Cluster cluster = one_shard(1);
  const Client client = reader(cluster, ReadFrom::replica_preferred);
  client.set("k", "v");
  kit::wait_until([&] { return client.get("k") == "v"; }, 5s, "replication");
  settle(client, cluster, {1});
  const auto lost = client.stats().disconnects;
  cluster.server(1).command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  kit::wait_until([&] { return client.stats().disconnects > lost; }, 5s, "the client to notice");
  for (int i = 0; i < 100; ++i)
    CHECK(client.get("k") == "v");
  client.set("k", "w");
  CHECK(cluster.command_count("get", 1) == 100);
  CHECK(cluster.command_count("set", 0) == 1);
  CHECK(cluster.error_count("MOVED") == 0);
}

TEST_CASE("any: the primary takes its turn") {
  kit::Cluster cluster = one_shard(1);
  const Client client = reader(cluster, ReadFrom::any);
  settle(client, cluster, {0, 1});
  kit::wait_until(
      [&] {
        client.get("k");
        return cluster.command_count("get", 1) > 0;
      },
      5s, "the replica to take part");
  cluster.reset_counts();
  for (int i = 0; i < 100; ++i)
    client.get("k");
  CHECK(cluster.command_count("get", 0) == 50);
  CHECK(cluster.command_count("get", 1) == 50);
}

TEST_CASE("same_zone: the replica in the client's zone") {
  kit::Cluster cluster = one_shard(2, "elsewhere");
  if (!cluster.binaries().has_availability_zone()) SKIP("the server has no availability-zone");
  cluster.server(2).command("CONFIG", "SET", "availability-zone", "here");
  const Client client = reader(cluster, ReadFrom::same_zone, "here");
  settle(client, cluster, {2});
  for (int i = 0; i < 50; ++i)
    client.get("k");
  CHECK(cluster.command_count("get", 2) == 50);
  // It dies: another replica is better than none.
  cluster.kill(2);
  for (int i = 0; i < 50; ++i)
    client.get("k");
  settle(client, cluster, {1});
}

TEST_CASE("lowest_latency: the nearest node is asked, and another one when it is that no more") {
  kit::Cluster cluster({.primaries = 1, .replicas = 2, .proxied = true});
  const auto far_away = [&](std::size_t node, std::chrono::milliseconds delay) {
    cluster.proxy(node).set_faults({.delay = delay});
  };
  far_away(0, 50ms);
  far_away(1, 50ms);
  Config config = Config::parse(cluster.uri());
  config.read_from = ReadFrom::lowest_latency;
  config.health_check_interval = 100ms;
  const Client client = Client::connect(config);
  settle(client, cluster, {2});
  far_away(1, 0ms);
  far_away(2, 50ms);
  settle(client, cluster, {1});
}

TEST_CASE("replicas that die or sync are passed over at once, and used again afterwards") {
  kit::Cluster cluster = one_shard(1);
  const Client client = reader(cluster, ReadFrom::replica_preferred);
  client.set("k", "v");
  kit::wait_until([&] { return client.get("k") == "v"; }, 5s, "replication");
  settle(client, cluster, {1});
  cluster.kill(1);
  for (int i = 0; i < 200; ++i) {
    const auto start = Clock::now();
    CHECK(client.get("k") == "v");
    CHECK(ms_since(start) < 500);
  }
  cluster.restart(1);
  kit::wait_until(
      [&] {
        cluster.reset_counts();
        for (int i = 0; i < 20; ++i)
          CHECK(client.get("k") == "v");
        return cluster.command_count("get", 1) == 20;
      },
      20s, "the replica to be read from again");
}

TEST_CASE("B13: a replica that is loading or lost its primary: the primary answers, at once") {
  Pair pair;
  kit::ScriptedRange range{0, 16383, {pair.a.map_node(), pair.b.map_node()}};
  pair.map->set({range});
  pair.a.always({"GET"}, resp::bulk("from the primary"));
  Config config = pair.config();
  config.read_from = ReadFrom::replica_preferred;
  const char* const errors[] = {"LOADING Valkey is loading the dataset in memory",
                                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data "
                                "is set to 'no'.",
                                "CLUSTERDOWN The cluster is down"};
  for (const char* text : errors) {
    INFO(text);
    pair.b.always({"GET"}, resp::error(text));
    const Client client = Client::connect(config);
    const auto before = pair.b.count("GET");
    const auto start = Clock::now();
    for (int i = 0; i < 100; ++i)
      CHECK(client.get("foo") == "from the primary");
    CHECK(ms_since(start) < 1000);
    CHECK(pair.b.count("GET") - before <= 2);
    CHECK(pair.b.count("READONLY") >= 1);
  }
}
