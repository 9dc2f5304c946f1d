// Who answers reads: Config::read_from against real replicas.
#include <fmt/format.h>

#include <string>
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
  if (!zones.empty()) options.config.emplace_back("availability-zone", zones);
  return kit::Cluster(options);
}

Client reader(const kit::Cluster& cluster, ReadFrom from, const std::string& zone = {}) {
  Config config = Config::parse(cluster.uri());
  config.read_from = from;
  config.availability_zone = zone;
  return Client::connect(config);
}

/// Reads until nothing but the nodes of `where` answers: connections are being made meanwhile.
void settle(const Client& client, kit::Cluster& cluster, const std::vector<std::size_t>& where,
            const std::vector<std::string>& keys = {"k"}) {
  std::string last;
  const auto settled = [&] {
    cluster.reset_counts();
    for (int i = 0; i < 20; ++i) {
      for (const std::string& key : keys)
        client.get(key);
    }
    std::int64_t elsewhere = 20 * static_cast<std::int64_t>(keys.size());
    last.clear();
    for (const std::size_t node : where) {
      const auto count = cluster.command_count("get", node);
      elsewhere -= count;
      last += fmt::format("node {} answers {} times, ", node, count);
    }
    last += fmt::format("others {} times", elsewhere);
    return elsewhere == 0;
  };
  kit::wait_until(settled, 10s, [&] { return "reads to reach the replicas; " + last; });
  cluster.reset_counts();
}

/// A key of each shard, in the order of the primaries that they have now.
std::vector<std::string> key_of_each_shard(const kit::Cluster& cluster) {
  std::vector<std::string> keys;
  for (const std::size_t primary : cluster.primaries()) {
    int n = 0;
    while (cluster.owner_of(slot("k" + std::to_string(n))) != primary)
      ++n;
    keys.push_back("k" + std::to_string(n));
  }
  return keys;
}

/// Every shard's key is read 20 times, and by its node of `where` each time.
void check_readers(const Client& client, kit::Cluster& cluster,
                   const std::vector<std::string>& keys, const std::vector<std::size_t>& where) {
  settle(client, cluster, where, keys);
  for (std::size_t shard = 0; shard < keys.size(); ++shard) {
    INFO("shard " << shard << ", node " << where[shard]);
    const auto before = cluster.command_count("get", where[shard]);
    for (int i = 0; i < 20; ++i)
      client.get(keys[shard]);
    CHECK(cluster.command_count("get", where[shard]) - before == 20);
  }
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
  if (!kit::ServerBinaries::find().has_availability_zone()) SKIP("the server has no zones");
  kit::Cluster cluster = one_shard(2, "elsewhere");
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

TEST_CASE("same_zone: each shard for itself, whoever of it is in the zone") {
  if (!kit::ServerBinaries::find().has_availability_zone()) SKIP("the server has no zones");
  // Nodes 0, 1 and 2 are primaries, 3, 4 and 5 their replicas.
  kit::Cluster cluster(
      {.primaries = 3, .replicas = 1, .config = {{"availability-zone", "elsewhere"}}});
  cluster.server(3).command("CONFIG", "SET", "availability-zone", "here");
  cluster.server(1).command("CONFIG", "SET", "availability-zone", "here");
  const auto keys = key_of_each_shard(cluster);
  // Which nodes a client asks for its map, and so is connected to, is chance: hence many of them.
  for (int n = 0; n < 8; ++n) {
    // A replica in the zone, the primary in the zone, any replica.
    check_readers(reader(cluster, ReadFrom::same_zone, "here"), cluster, keys, {3, 1, 5});
  }
  const Client client = reader(cluster, ReadFrom::same_zone, "here");
  check_readers(client, cluster, keys, {3, 1, 5});
  // Roles change and zones do not.
  cluster.failover(1);
  check_readers(client, cluster, keys, {3, 1, 5});
  // One shard loses its near node: the others keep theirs.
  cluster.kill(3);
  check_readers(client, cluster, keys, {0, 1, 5});
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

TEST_CASE("lowest_latency: each shard for itself") {
  // Nodes 0 and 1 are primaries, 2 and 3 their replicas.
  kit::Cluster cluster({.primaries = 2, .replicas = 1, .proxied = true});
  const auto far_away = [&](std::size_t one, std::size_t another) {
    for (const std::size_t node : cluster.members()) {
      const bool is_far = node == one || node == another;
      cluster.proxy(node).set_faults({.delay = is_far ? 50ms : 0ms});
    }
  };
  const auto keys = key_of_each_shard(cluster);
  far_away(0, 3);
  Config config = Config::parse(cluster.uri());
  config.read_from = ReadFrom::lowest_latency;
  config.health_check_interval = 100ms;
  for (int n = 0; n < 8; ++n) {  // as above
    const Client client = Client::connect(config);
    kit::wait_until([&] { return client.stats().connects >= 3; }, 5s, "both replicas to be known");
    check_readers(client, cluster, keys, {2, 1});
  }
  const Client client = Client::connect(config);
  check_readers(client, cluster, keys, {2, 1});
  far_away(2, 1);
  check_readers(client, cluster, keys, {0, 3});
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
