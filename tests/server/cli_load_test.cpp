#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

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

namespace {

/// The operations of each full row so far.
std::vector<std::uint64_t> operations_of_rows(const std::string& out) {
  std::vector<std::uint64_t> all;
  for (const std::string& row : lines_of(out)) {
    if (row.find("Totals") != std::string::npos) break;
    if (row.find('|') != std::string::npos) continue;  // an event
    std::istringstream columns(row);
    double second = 0;
    std::string operations;
    if (!(columns >> second >> operations)) continue;
    std::erase(operations, ',');
    all.push_back(std::stoull(operations));
  }
  return all;
}

}  // namespace

TEST_CASE("load: goes on after a failover by SIGKILL") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  for (const char* in_flight : {"1", "20"}) {
    cluster.wait_ready_to_fail_over();
    CliProcess process({"load", "--uri", cluster.uri() + "?timeout=1s", "--threads", "2",
                        "--in-flight", in_flight, "--keys", "1000"});
    const auto rows_of_work = [&](std::size_t rows, std::size_t after) {
      return process.wait_until(
          [=](const std::string& out) {
            const auto all = operations_of_rows(out);
            const auto from =
                all.begin() + static_cast<std::ptrdiff_t>(std::min(after, all.size()));
            return static_cast<std::size_t>(
                       std::count_if(from, all.end(), [](auto n) { return n >= 100; })) >= rows;
          },
          15s);
    };
    REQUIRE(rows_of_work(1, 0));
    const std::size_t victim = cluster.owner_of(0);
    cluster.kill(victim);
    (void)cluster.wait_for_new_owner(0, victim, 20s);
    std::size_t rows = 0;
    REQUIRE(process.wait_until(
        [&](const std::string& out) {
          rows = operations_of_rows(out).size();
          return true;
        },
        1s));
    // The row that is being counted now may be one of before.
    CHECK(rows_of_work(2, rows + 1));
    process.signal(SIGINT);
    const CliResult result = process.finish(10s);
    INFO(result.out);
    CHECK(result.status == 0);
    cluster.restart(victim);
  }
}
