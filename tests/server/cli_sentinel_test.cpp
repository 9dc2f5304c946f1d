// The tool with a primary that sentinels name.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "kit/sentinel.hpp"
#include "kit/server.hpp"
#include "kit/server_binaries.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;
using namespace std::chrono_literals;

namespace {

using Json = nlohmann::json;

std::string primary_of(const kit::SentinelSet& set) {
  return set.server(set.primary()).address().to_string();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// True if the old primary stopped taking writes first, which Valkey 9.1 can do.
bool fail_over(kit::SentinelSet& set, std::size_t old) {
  const bool coordinated = kit::ServerBinaries::find().is_valkey(9, 1);
  if (coordinated) {
    set.sentinel(0).command("SENTINEL", "FAILOVER", "mymaster", "COORDINATED");
  } else {
    set.sentinel(0).command("SENTINEL", "FAILOVER", "mymaster");
  }
  (void)set.wait_for_new_primary(old, 20s);
  return coordinated;
}

}  // namespace

TEST_CASE("exec: sentinels lead to the primary, and nothing of a cluster's limits is left") {
  const kit::SentinelSet set({.replicas = 1, .quick = true});
  const CliResult result = run_cli({"exec", "--uri", set.uri()},
                                   "SET a 1\nSET b 2\nMGET a b\nRENAME a c\nSWAPDB 0 1\n"
                                   "GET c\nSWAPDB 0 1\nGET c\nROLE\n");
  INFO(result.err);
  CHECK(result.status == 0);
  const auto lines = lines_of(result.out);
  REQUIRE(lines.size() == 9);
  CHECK(lines[2] == "[\"1\", \"2\"]");
  CHECK(lines[5] == "(nil)");
  CHECK(lines[7] == "1");
  CHECK(lines[8].starts_with("[\"master\""));

  const CliResult second = run_cli({"exec", "--uri", set.uri() + "/2", "SET", "d", "2"});
  CHECK(second.out == "OK\n");
  CHECK(run_cli({"exec", "--uri", set.uri(), "EXISTS", "d"}).out == "0\n");
  CHECK(set.server(set.primary()).command("DBSIZE").num() == 2);
}

TEST_CASE("exec: errors of sentinels differ") {
  kit::SentinelSet set({.replicas = 1, .sentinels = 1, .quick = true});
  std::string uri = set.uri();
  const auto code = [](const std::string& of) {
    const CliResult result =
        run_cli({"exec", "--uri", of + "?timeout=1500ms", "--json", "SET", "k", "v"});
    CHECK(result.status == 1);
    return Json::parse(result.out)["code"].get<std::string>();
  };
  CHECK(code("valkey+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster") == "sentinels_unreachable");
  CHECK(code(uri.substr(0, uri.rfind('/')) + "/nobody") == "unknown_primary");
  CHECK(run_cli({"exec", "--uri", "valkey+sentinel://127.0.0.1:1", "PING"}).status == 2);
  CHECK(run_cli({"exec", "--uri", uri + "?sentinel_ca=/x", "PING"}).status == 2);
}

TEST_CASE("topology: a primary, its replicas, and its name at the sentinels") {
  kit::SentinelSet set({.replicas = 2, .quick = true});
  const CliResult table = run_cli({"topology", "--uri", set.uri()});
  INFO(table.out << table.err);
  CHECK(table.status == 0);
  CHECK(table.out.starts_with("sentinel, 3 nodes, primary \"mymaster\"\n"));
  CHECK_FALSE(contains(table.out, "SLOTS"));
  CHECK_FALSE(contains(table.out, " ID "));
  for (std::size_t i = 0; i < set.server_count(); ++i)
    CHECK(contains(table.out, set.server(i).address().to_string()));

  const auto look = [&] {
    return Json::parse(run_cli({"topology", "--uri", set.uri(), "--json"}).out);
  };
  const std::size_t before = set.primary();
  Json topology = look();
  CHECK(topology["mode"] == "sentinel");
  CHECK(topology["primary_name"] == "mymaster");
  REQUIRE(topology["nodes"].size() == 3);
  CHECK(topology["nodes"][0]["role"] == "primary");
  CHECK(topology["nodes"][0]["endpoint"] == primary_of(set));
  CHECK(topology["nodes"][1]["role"] == "replica");
  CHECK(topology["nodes"][0]["healthy"] == true);
  (void)fail_over(set, before);
  topology = look();
  CHECK(topology["nodes"][0]["endpoint"] == primary_of(set));
}

TEST_CASE("probe: a failover of sentinels on the way, failed 0") {
  kit::SentinelSet set({.replicas = 2, .quick = true});
  const std::size_t old = set.primary();
  const std::string before = primary_of(set);
  CliProcess probe({"probe", "--uri", set.uri(), "--workers", "4", "--rate", "400", "--json"});
  REQUIRE(probe.wait_for("\n     1 ", 10s, true));
  const bool coordinated = fail_over(set, old);
  const std::string after = primary_of(set);
  REQUIRE(before != after);
  // The change is said between the rows.
  REQUIRE(probe.wait_for(after, 10s, true));
  probe.signal(SIGINT);
  const CliResult result = probe.finish(30s);
  INFO(result.err);
  const Json totals = Json::parse(result.out);
  for (const char* name : {"failed", "wrong", "unread"})
    CHECK(totals[name] == 0);
  // Without coordination it depends on the announcement being heard in time: survival_tests.
  if (coordinated) {
    CHECK(result.status == 0);
    CHECK(totals["verdict"] == "good");
    CHECK(totals["lost"] == 0);
  }
  CHECK(totals["acked"] > 200);
  REQUIRE(totals["shards"].size() == 1);
  CHECK(totals["shards"][0]["shard"] == before + " -> " + after);
  CHECK_FALSE(contains(result.err, "READONLY"));
}

TEST_CASE("load: all of it goes to the primary that the sentinels name") {
  const kit::SentinelSet set({.replicas = 1, .quick = true});
  for (const char* in_flight : {"1", "50"}) {
    const CliResult result = run_cli({"load", "--uri", set.uri(), "--threads", "2", "--in-flight",
                                      in_flight, "--keys", "1000", "--seconds", "2", "--json"});
    INFO(result.err);
    CHECK(result.status == 0);
    const Json totals = Json::parse(result.out);
    CHECK(totals["ops"] > 500);
    CHECK(totals["errors"] == 0);
    CHECK(totals["redirects"] == 0);
    REQUIRE(totals["nodes"].size() == 1);
    CHECK(totals["nodes"][0]["node"] == primary_of(set));
    CHECK(totals["nodes"][0]["ops"] == totals["ops"]);
  }
}
