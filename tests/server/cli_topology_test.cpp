#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("topology: nodes, roles, slots and epochs of a cluster") {
  const kit::Cluster cluster({.primaries = 3, .replicas = 1});
  const CliResult table = run_cli({"topology", "--uri", cluster.uri()});
  INFO(table.out);
  CHECK(table.status == 0);
  CHECK(table.out.find("cluster, 6 nodes, 3 shards, 16,384 of 16,384 slots served") == 0);
  for (const auto& node : cluster.nodes()) {
    CHECK(table.out.find(node.address.to_string()) != std::string::npos);
  }
  for (const auto& line : lines_of(table.out))
    CHECK(line.size() <= 100);

  const CliResult json = run_cli({"topology", "--uri", cluster.uri(), "--json"});
  const auto topology = nlohmann::json::parse(json.out);
  CHECK(topology["mode"] == "cluster");
  CHECK(topology["covered_slots"] == 16384);
  REQUIRE(topology["nodes"].size() == 6);
  int slots = 0;
  for (const auto& node : topology["nodes"]) {
    slots += node["slot_count"].get<int>();
    CHECK(node["healthy"] == true);
    CHECK(node["id"].get<std::string>().size() == 40);
    CHECK((node["role"] == "primary") == node["primary_id"].get<std::string>().empty());
  }
  CHECK(slots == 16384);
}

TEST_CASE("topology: a single server") {
  const kit::Server server;
  const CliResult table =
      run_cli({"topology", "--uri", "valkey://" + server.address().to_string()});
  CHECK(table.status == 0);
  CHECK(table.out.find("single, 1 node\n") == 0);
  CHECK(table.out.find(server.address().to_string()) != std::string::npos);
}
