#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include <slotwise/slotwise.hpp>

#include "kit/cluster.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* hot = "hot:product:1";

/// Mostly one key, until the end of its life.
class HotTraffic {
 public:
  explicit HotTraffic(const std::string& uri)
      : client_(Client::connect(uri)), thread_([this](std::stop_token stop) {
          client_.set(hot, "value");
          for (int i = 0; !stop.stop_requested(); ++i) {
            auto pipeline = client_.pipeline();
            for (int n = 0; n < 20; ++n)
              pipeline.get(hot);
            pipeline.set("cold:" + std::to_string(i % 500), "value");
            static_cast<void>(pipeline.exec());
          }
        }) {}

 private:
  Client client_;
  std::jthread thread_;
};

void configure(kit::Cluster& cluster, const std::string& name, const std::string& value) {
  for (const std::size_t node : cluster.members())
    cluster.server(node).command("CONFIG", "SET", name, value);
}

}  // namespace

TEST_CASE("hotkeys find: the hot key of a cluster, as a table and as JSON") {
  kit::Cluster cluster({.primaries = 3});
  const bool counts_slots = cluster.binaries().is_valkey(8);
  configure(cluster, "maxmemory-policy", "allkeys-lfu");
  if (counts_slots) configure(cluster, "cluster-slot-stats-enabled", "yes");
  const HotTraffic traffic(cluster.uri());
  const std::string node = cluster.client_address(cluster.owner_of_key(hot)).to_string();
  // By OBJECT FREQ it stands out after some traffic; by CPU time at once.
  nlohmann::json json;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const CliResult found =
        run_cli({"hotkeys", "find", "--uri", cluster.uri(), "--json", "--limit", "5"});
    INFO(found.err);
    REQUIRE(found.status == 0);
    json = nlohmann::json::parse(found.out);
    if (!json["keys"].empty() && json["keys"][0]["key"] == hot) break;
  }
  INFO(json.dump());
  REQUIRE(!json["keys"].empty());
  CHECK(json["keys"].size() <= 5);
  const auto& first = json["keys"][0];
  CHECK(first["key"] == hot);
  CHECK(first["node"] == node);
  CHECK(first["size"].get<int>() > 10);
  CHECK(first["counter"].get<int>() > 5);
  CHECK(first["source"] == (counts_slots ? "SLOT-STATS" : "OBJECT FREQ"));
  if (counts_slots) CHECK(first["share"].get<double>() > 0.5);
  if (!counts_slots) CHECK(first["share"].is_null());
  CHECK(json["notes"].is_array());
  CHECK(!json["notes"].empty());

  const CliResult table = run_cli({"hotkeys", "find", "--uri", cluster.uri()});
  INFO(table.out);
  CHECK(table.status == 0);
  CHECK(table.out.starts_with("KEY"));
  CHECK(lines_of(table.out)[1].starts_with(hot));
  CHECK(table.out.find("note: ") != std::string::npos);
}

TEST_CASE("hotkeys find: a cluster that counts nothing says what to switch on") {
  const kit::Cluster cluster({.primaries = 3});
  const CliResult found = run_cli({"hotkeys", "find", "--uri", cluster.uri()});
  CHECK(found.status == 0);
  CHECK(found.out.starts_with("No hot key was found."));
  CHECK(found.out.find("CONFIG SET maxmemory-policy allkeys-lfu") != std::string::npos);
  CHECK(found.out.find("CONFIG SET cluster-slot-stats-enabled yes") != std::string::npos);
}

TEST_CASE("hotkeys watch: a line of JSON for each view, with what the nodes do") {
  kit::Cluster cluster({.primaries = 3});
  const bool counts_slots = cluster.binaries().is_valkey(8);
  if (counts_slots) configure(cluster, "cluster-slot-stats-enabled", "yes");
  const HotTraffic traffic(cluster.uri());
  const std::string owner = cluster.client_address(cluster.owner_of_key(hot)).to_string();
  const CliResult watched = run_cli({"hotkeys", "watch", "--uri", cluster.uri(), "--interval",
                                     "500ms", "--count", "3", "--json"});
  INFO(watched.out << watched.err);
  CHECK(watched.status == 0);
  const auto lines = lines_of(watched.out);
  REQUIRE(lines.size() == 3);
  const auto last = nlohmann::json::parse(lines[2]);
  REQUIRE(last["nodes"].size() == 3);
  double owners = 0;
  double others = 0;
  for (const auto& node : last["nodes"]) {
    CHECK(node["role"] == "primary");
    CHECK(node["cpu"].get<double>() >= 0);
    (node["node"] == owner ? owners : others) += node["ops_per_second"].get<double>();
    if (!counts_slots) continue;
    if (node["node"] == owner) {
      REQUIRE(!node["keys"].empty());
      CHECK(node["keys"][0]["key"] == hot);
      CHECK(node["keys"][0]["share"].get<double>() > 0.5);
    }
  }
  CHECK(owners > 3 * others);

  const CliResult text =
      run_cli({"hotkeys", "watch", "--uri", cluster.uri(), "--interval", "500ms", "--count", "2"});
  CHECK(text.status == 0);
  CHECK(text.out.find('\x1b') == std::string::npos);
  CHECK(text.out.find("####") != std::string::npos);
  CHECK(text.out.find(owner) != std::string::npos);
}

TEST_CASE("hotkeys: what makes no sense is named, with exit status 2") {
  const auto refused = [](std::vector<std::string> args, std::string_view text) {
    args.insert(args.begin(), "hotkeys");
    const CliResult result = run_cli(args);
    INFO(result.err);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find(text) != std::string::npos);
  };
  refused({}, "name a command: find, ");
  refused({"fnd"}, "did you mean find?");
  refused({"find"}, "--uri");
  refused({"find", "--uri", "http://x"}, "http");
  refused({"find", "--uri", "valkey://127.0.0.1:1", "--limit", "0"}, "--limit");
  refused({"watch", "--uri", "valkey://127.0.0.1:1", "--interval", "soon"}, "--interval");
  refused({"watch", "--uri", "valkey://127.0.0.1:1", "--count", "-1"}, "--count");
}
