#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "kit/cluster.hpp"
#include "kit/server.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;
using namespace std::chrono_literals;

TEST_CASE("load: rows, totals and nodes, one call at a time and many") {
  const kit::Cluster cluster({.primaries = 3});
  for (const char* in_flight : {"1", "50"}) {
    const CliResult result = run_cli({"load", "--uri", cluster.uri(), "--threads", "2",
                                      "--in-flight", in_flight, "--ratio", "1:1", "--keys", "1000",
                                      "--value-size", "2k", "--seconds", "2", "--json"});
    INFO(result.err);
    CHECK(result.status == 0);
    const auto totals = nlohmann::json::parse(result.out);
    const auto ops = totals["ops"].get<std::uint64_t>();
    CHECK(ops > 1000);
    CHECK(totals["errors"] == 0);
    CHECK(totals["sets"].get<std::uint64_t>() > ops * 4 / 10);
    CHECK(totals["sets"].get<std::uint64_t>() < ops * 6 / 10);
    CHECK(totals["hits"].get<std::uint64_t>() > ops / 4);
    CHECK(totals["nodes"].size() == 3);
    std::uint64_t sum = 0;
    for (const auto& node : totals["nodes"])
      sum += node["ops"].get<std::uint64_t>();
    CHECK(sum == ops);
    CHECK(totals["latency_ms"]["p50"] <= totals["latency_ms"]["p99"]);
    CHECK(totals["latency_ms"]["p99"] <= totals["latency_ms"]["max"]);
  }
}

TEST_CASE("load: goes on after a failover by SIGKILL") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  for (const char* in_flight : {"1", "20"}) {
    cluster.wait_ready_to_fail_over();
    CliProcess process({"load", "--uri", cluster.uri() + "?timeout=1s", "--threads", "2",
                        "--in-flight", in_flight, "--keys", "1000"});
    REQUIRE(process.wait_for("p99 ms", 5s));
    std::this_thread::sleep_for(1s);
    const std::size_t victim = cluster.owner_of(0);
    cluster.kill(victim);
    (void)cluster.wait_for_new_owner(0, victim, 20s);
    std::this_thread::sleep_for(2500ms);
    process.signal(SIGINT);
    const CliResult result = process.finish(10s);
    INFO(result.out);
    CHECK(result.status == 0);
    // The last full row before the totals is one of work again.
    const auto rows = lines_of(result.out);
    std::string last;
    for (const auto& row : rows) {
      if (row.find("Totals") != std::string::npos) break;
      if (!row.empty() && row.find('|') == std::string::npos) last = row;
    }
    std::istringstream columns(last);
    std::string second;
    std::string operations;
    columns >> second >> operations;
    CHECK(operations.size() >= 3);  // hundreds a second and more
    cluster.restart(victim);
  }
}
