#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include <slotwise/client.hpp>

#include "cli/hotkeys/hotkeys_split.hpp"
#include "hotkey/names.hpp"
#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("hotkey: a key is split, shown and joined on the command line") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  client.set("hot:product:1", "value");

  const CliResult split = run_cli({"hotkeys", "split", "--uri", cluster.uri(), "hot:product:1"});
  INFO(split.out << split.err);
  CHECK(split.status == 0);
  CHECK(split.out.starts_with("hot:product:1: value, 1 per primary, balanced\n"));
  CHECK(lines_of(split.out).size() == 7);
  for (const auto& node : cluster.nodes())
    CHECK(split.out.find(node.address.to_string()) != std::string::npos);
  for (const auto& line : lines_of(split.out))
    CHECK(line.size() <= 100);

  const CliResult shown = run_cli({"hotkeys", "status", "--uri", cluster.uri(), "hot:product:1"});
  CHECK(shown.status == 0);
  CHECK(shown.out == split.out);

  const CliResult more = run_cli(
      {"hotkeys", "split", "--uri", cluster.uri(), "hot:product:1", "--copies", "2", "--json"});
  CHECK(more.status == 0);
  const auto status = nlohmann::json::parse(more.out);
  CHECK(status["key"] == "hot:product:1");
  CHECK(status["kind"] == "value");
  CHECK(status["copies_per_primary"] == 2);
  CHECK(status["balanced"] == true);
  CHECK(status["version"].get<std::uint64_t>() > 1'700'000'000'000'000U);
  REQUIRE(status["copies"].size() == 6);
  std::multiset<std::string> nodes;
  for (const auto& copy : status["copies"]) {
    nodes.insert(copy["node"]);
    CHECK(copy["version"] == status["version"]);
    CHECK(copy["state"] == "ready");
    CHECK(client.command<long>("EXISTS", copy["name"].get<std::string>()) == 1);
    CHECK(client.command<long>("CLUSTER", "KEYSLOT", copy["name"].get<std::string>()) ==
          copy["slot"].get<long>());
  }
  for (const auto& node : cluster.nodes())
    CHECK(nodes.count(node.address.to_string()) == 2);

  const CliResult join = run_cli({"hotkeys", "join", "--uri", cluster.uri(), "hot:product:1"});
  CHECK(join.status == 0);
  CHECK(join.out == "hot:product:1 is one key again.\n");
  CHECK(client.get("hot:product:1") == "value");
  const CliResult none = run_cli({"hotkeys", "status", "--uri", cluster.uri()});
  CHECK(none.status == 0);
  CHECK(none.out == "No key is split.\n");
}

TEST_CASE("hotkey: binary keys and counters on the command line, and all keys at once") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const std::string binary("a\0\xff{x}", 6);
  client.set(binary, "value");
  client.command<long>("INCRBY", "visits", "5");

  const CliResult split =
      run_cli({"hotkeys", "split", "--uri", cluster.uri(), "\"a\\x00\\xff{x}\"", "--json"});
  INFO(split.out << split.err);
  CHECK(split.status == 0);
  const auto status = nlohmann::json::parse(split.out);
  CHECK(status["encoding"] == "latin1");
  CHECK(status["key"] == std::string("a\0\u00ff{x}", 7));
  CHECK(status["copies"].size() == 3);

  const CliResult counter =
      run_cli({"hotkeys", "split", "--uri", cluster.uri(), "visits", "--counter"});
  CHECK(counter.status == 0);
  CHECK(counter.out.starts_with("visits: counter, 1 per primary, balanced\n"));
  CHECK(counter.out.find("PART") != std::string::npos);

  const CliResult table = run_cli({"hotkeys", "status", "--uri", cluster.uri()});
  INFO(table.out);
  CHECK(table.status == 0);
  REQUIRE(lines_of(table.out).size() == 3);
  CHECK(lines_of(table.out)[1].starts_with("\"a\\x00\\xff{x}\""));
  CHECK(lines_of(table.out)[2].starts_with("visits"));
  const CliResult all = run_cli({"hotkeys", "status", "--uri", cluster.uri(), "--json"});
  const auto keys = nlohmann::json::parse(all.out)["keys"];
  REQUIRE(keys.size() == 2);
  CHECK(keys[1]["key"] == "visits");
  CHECK(keys[1]["kind"] == "counter");

  const CliResult join =
      run_cli({"hotkeys", "join", "--uri", cluster.uri(), "\"a\\x00\\xff{x}\"", "--json"});
  CHECK(join.status == 0);
  CHECK(nlohmann::json::parse(join.out)["joined"] == true);
  CHECK(run_cli({"hotkeys", "join", "--uri", cluster.uri(), "visits"}).status == 0);
  CHECK(client.get("visits") == "5");
}

TEST_CASE("hotkey: what cannot be done on the command line has a reason and a status") {
  const kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  client.command<long>("RPUSH", "list", "a");
  const auto fails = [&](std::vector<std::string> args, int status, std::string_view reason) {
    args.insert(args.begin(), "hotkeys");
    args.insert(args.end(), {"--uri", cluster.uri()});
    const CliResult result = run_cli(args);
    INFO(result.out << result.err);
    CHECK(result.status == status);
    CHECK(result.err.find(reason) != std::string::npos);
    CHECK(result.out.empty());
  };
  fails({"status", "cold"}, 1, "cold is not split");
  fails({"join", "cold"}, 1, "cold is not split");
  fails({"split", "list"}, 1, "only strings can");
  fails({"split"}, 2, "KEY");
  fails({"split", "x", "--copies", "17"}, 2, "--copies");
  fails({"split", "\"a\\"}, 2, "KEY");
  fails({"split", ""}, 2, "KEY");

  const kit::Server single;
  const CliResult refused =
      run_cli({"hotkeys", "status", "--uri", "valkey://" + single.address().to_string()});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("cluster") != std::string::npos);

  // A manifest that somebody damaged is told of, and the others are shown.
  (void)run_cli({"hotkeys", "split", "--uri", cluster.uri(), "one"});
  (void)run_cli({"hotkeys", "split", "--uri", cluster.uri(), "two"});
  CHECK(lines_of(run_cli({"hotkeys", "status", "--uri", cluster.uri()}).out).size() == 3);
  client.command<long>("HSET", hotkey::manifest_name("one"), "number", "x");
  const CliResult damaged = run_cli({"hotkeys", "status", "--uri", cluster.uri()});
  INFO(damaged.out << damaged.err);
  CHECK(damaged.status == 1);
  CHECK(lines_of(damaged.out).size() == 2);
  CHECK(damaged.out.find("two") != std::string::npos);
  CHECK(damaged.err.find("one") != std::string::npos);
  fails({"status", "one"}, 1, "damaged");
  fails({"join", "one"}, 1, "damaged");
}
