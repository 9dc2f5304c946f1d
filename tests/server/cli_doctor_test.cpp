#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <slotwise/config.hpp>

#include "kit/cluster.hpp"
#include "kit/dns_responder.hpp"
#include "kit/sentinel.hpp"
#include "kit/server.hpp"
#include "kit/wait.hpp"
#include "server/cli_process.hpp"

using namespace slotwise;
using namespace slotwise::test;
using namespace std::chrono_literals;

namespace {

using Json = nlohmann::json;

struct Diagnosis {
  int status = -1;
  Json report;

  /// What the findings of this check and level say.
  std::vector<std::string> said(const std::string& level, const std::string& check) const {
    std::vector<std::string> out;
    for (const Json& f : report["findings"]) {
      if (f["level"] == level && f["check"] == check) out.push_back(f["what"]);
    }
    return out;
  }
  std::string first(const std::string& level, const std::string& check) const {
    const auto all = said(level, check);
    return all.empty() ? "" : all.front();
  }
};

Diagnosis doctor(const std::string& uri) {
  const CliResult result = run_cli({"doctor", "--uri", uri, "--json"});
  return {result.status, Json::parse(result.out)};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const kit::ClusterOptions healthy{
    .primaries = 3, .replicas = 1, .node_timeout = 5s, .appendonly = true, .own_addresses = true};

}  // namespace

TEST_CASE("doctor: a healthy cluster, as text and as JSON") {
  const kit::Cluster cluster(healthy);
  const Diagnosis diagnosis = doctor(cluster.uri());
  INFO(diagnosis.report.dump(1));
  CHECK(diagnosis.status == 0);
  CHECK(diagnosis.report["healthy"] == true);
  CHECK(diagnosis.report["problems"] == 0);
  CHECK(diagnosis.report["warnings"] == 0);
  for (const char* check : {"reach", "slots", "bus", "replicas", "votes", "placement",
                            "persistence", "balance", "version", "seeds"}) {
    INFO(check);
    CHECK(diagnosis.said("ok", check).size() == 1);
  }
  CHECK(contains(diagnosis.first("ok", "version"), "sharded pub/sub"));

  const CliResult text = run_cli({"doctor", "--uri", cluster.uri()});
  CHECK(text.status == 0);
  CHECK(contains(text.out, "survives the loss of any one node"));
  for (const std::string& line : lines_of(text.out))
    CHECK((line.size() <= 100 || line.starts_with("valkey+cluster://")));
}

TEST_CASE("doctor: it changes nothing") {
  kit::Cluster cluster({.primaries = 3});
  cluster.reset_counts();
  (void)doctor(cluster.uri());
  for (const char* command : {"set", "config|set", "cluster|failover", "cluster|meet", "flushall"})
    CHECK(cluster.command_count(command) == 0);
  CHECK(cluster.command_count("config|get") > 0);
}

TEST_CASE("doctor: without replicas, without persistence") {
  const kit::Cluster cluster({.primaries = 3});
  const Diagnosis diagnosis = doctor(cluster.uri());
  CHECK(diagnosis.status == 1);
  CHECK(diagnosis.said("problem", "replicas").size() == 3);
  CHECK(contains(diagnosis.first("warning", "persistence"), "3 of 3 primaries"));
  CHECK(diagnosis.said("warning", "coverage").size() == 1);
  const CliResult text = run_cli({"doctor", "--uri", cluster.uri()});
  CHECK(text.status == 1);
  CHECK(contains(text.out, "PROBLEM"));
  CHECK(contains(text.out, "would not survive"));
}

TEST_CASE("doctor: two primaries cannot elect a successor") {
  const kit::Cluster cluster({.primaries = 2, .replicas = 1, .own_addresses = true});
  const Diagnosis diagnosis = doctor(cluster.uri());
  CHECK(diagnosis.status == 1);
  CHECK(contains(diagnosis.first("problem", "votes"), "Only 2 primary nodes"));
}

TEST_CASE("doctor: a primary that was stopped, and one that was replaced") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1, .node_timeout = 5s});
  const std::size_t victim = cluster.owner_of(0);
  const std::string address = cluster.node(victim).address.to_string();
  cluster.pause(victim);
  const Diagnosis stopped = doctor(cluster.uri());
  CHECK(stopped.status == 1);
  CHECK(contains(stopped.first("problem", "reach"), address));

  const std::size_t heir = cluster.wait_for_new_owner(0, victim, 20s);
  const Diagnosis replaced = doctor(cluster.uri());
  CHECK(replaced.status == 1);
  CHECK(replaced.said("problem", "reach").empty());
  CHECK(contains(replaced.first("warning", "reach"), address));
  CHECK(replaced.said("problem", "slots").empty());
  CHECK(contains(replaced.first("problem", "replicas"), cluster.node(heir).address.to_string()));
  cluster.resume(victim);
}

TEST_CASE("doctor: a replica that died") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  const std::size_t primary = cluster.owner_of(0);
  const std::size_t replica = cluster.replicas_of(primary).front();
  const std::string address = cluster.node(replica).address.to_string();
  cluster.kill(replica);
  const Diagnosis diagnosis = doctor(cluster.uri());
  CHECK(diagnosis.status == 1);
  CHECK(contains(diagnosis.first("problem", "replicas"), address));
  CHECK(diagnosis.said("problem", "replicas").size() == 1);
}

TEST_CASE("doctor: a user who may not look says so, and shows no password") {
  kit::Cluster cluster(healthy);
  for (const std::size_t node : cluster.members()) {
    cluster.server(node).command("ACL", "SETUSER", "looker", "on", ">open-sesame", "~*", "+ping",
                                 "+hello", "+auth", "+client", "+cluster", "+command");
  }
  std::string uri = cluster.uri();
  uri.insert(uri.find("//") + 2, "looker:open-sesame@");
  const CliResult text = run_cli({"doctor", "--uri", uri});
  CHECK(text.status == 0);
  CHECK(contains(text.out, "not known"));
  CHECK_FALSE(contains(text.out + text.err, "open-sesame"));
  const Diagnosis diagnosis = doctor(uri);
  CHECK_FALSE(contains(diagnosis.report.dump(), "open-sesame"));
  CHECK(diagnosis.said("note", "not known").size() >= 2);  // INFO and CONFIG GET
  CHECK(diagnosis.said("ok", "slots").size() == 1);
  CHECK(contains(diagnosis.first("note", "not known"), "NOPERM"));
}

TEST_CASE("doctor: CONFIG that was renamed away is not known") {
  const kit::Server server({.config = {{"rename-command", "CONFIG \"\""}}});
  const Diagnosis diagnosis = doctor("valkey://" + server.address().to_string());
  CHECK(diagnosis.said("note", "not known").size() == 1);
}

TEST_CASE("doctor: names that DNS keeps for longer than the node timeout") {
  kit::ClusterOptions options = healthy;
  options.hostnames = true;
  options.dns = std::make_shared<kit::DnsResponder>();
  kit::Cluster cluster(options);
  const Diagnosis slow = doctor(cluster.uri());  // the responder says an hour
  CHECK(slow.status == 1);
  CHECK(contains(slow.first("warning", "dns"), "(3600 s)"));

  for (const std::size_t node : cluster.members()) {
    const std::string& name = cluster.node(node).hostname;
    auto answer = options.dns->a(name);
    answer.ttl = 2s;
    options.dns->set(name, answer);
  }
  const Diagnosis quick = doctor(cluster.uri());
  CHECK(quick.status == 0);
  CHECK(contains(quick.first("ok", "dns"), "2 s at most"));
}

TEST_CASE("doctor: a single server, a node called one, and nobody at all") {
  const kit::Server server;
  const Diagnosis single = doctor("valkey://" + server.address().to_string());
  CHECK(single.status == 1);
  CHECK(contains(single.first("warning", "replicas"), "single server without a replica"));
  CHECK(single.said("warning", "persistence").size() == 1);

  const kit::Cluster cluster({.primaries = 1});
  const Diagnosis node = doctor("valkey://" + cluster.node(0).address.to_string());
  CHECK(contains(node.first("warning", "mode"), "node of a cluster"));

  const Diagnosis nobody = doctor("valkey+cluster://127.0.0.1:1?timeout=500ms");
  CHECK(nobody.status == 1);
  CHECK(nobody.said("problem", "reach").size() == 1);

  CHECK(run_cli({"doctor", "--uri", "http://x"}).status == 2);
  CHECK(run_cli({"doctor"}).status == 2);
}

TEST_CASE("doctor: sentinels, all there, and then too few") {
  kit::SentinelSet watched({.replicas = 1, .sentinels = 3, .own_addresses = true});
  const std::string primary = watched.server(watched.primary()).address().to_string();
  const Diagnosis all = doctor(watched.uri());
  INFO(all.report.dump(1));
  CHECK(contains(all.first("ok", "quorum"), "3 sentinels, quorum 2"));
  CHECK(contains(all.first("ok", "sentinels"), primary));
  CHECK(all.said("ok", "replicas").size() == 1);
  CHECK(all.report["problems"] == 0);

  const std::string dead = watched.sentinel(1).address().to_string();
  watched.kill(watched.sentinel(1));
  watched.kill(watched.sentinel(2));
  // Here it is seen at once ...
  const Diagnosis at_once = doctor(watched.uri());
  CHECK(at_once.status == 1);
  CHECK(at_once.first("problem", "votes") ==
        "Only 1 of 3 sentinels answers, and a failover needs 2 votes.");
  // ... the one that is left needs its down-after time.
  Diagnosis few;
  kit::wait_until(
      [&] {
        few = doctor(watched.uri());
        return few.said("problem", "quorum").size() == 1;
      },
      20s, "CKQUORUM to fail");
  CHECK(few.status == 1);
  CHECK(contains(few.first("problem", "quorum"), "NOQUORUM"));
  CHECK(few.said("warning", "sentinels").size() == 2);
  CHECK(contains(few.first("warning", "sentinels"), dead));
}

TEST_CASE("doctor: sentinels with another password and other certificates than the servers") {
  const kit::SentinelSet watched({.replicas = 1,
                                  .sentinels = 3,
                                  .user = "app",
                                  .password = "data-secret",
                                  .sentinel_password = "watch-secret",
                                  .tls = true,
                                  .sentinel_tls = true,
                                  .sentinel_authority = true});
  const Diagnosis good = doctor(watched.uri());
  INFO(good.report.dump(1));
  CHECK(good.report["problems"] == 0);
  CHECK(contains(good.first("ok", "sentinels"), "3 sentinels answer"));
  CHECK(good.said("ok", "replicas").size() == 1);
  CHECK_FALSE(contains(good.report.dump(), "-secret"));

  Config config = Config::parse(watched.uri());
  const std::string endpoint = config.endpoints[0].to_string();
  const std::string plain = "valkeys+sentinel://app:data-secret@" + endpoint +
                            "/mymaster?ca=" + watched.ca()->ca_file().string();
  const Diagnosis foreign = doctor(plain + "&sentinel_password=watch-secret");
  CHECK(contains(foreign.first("problem", "sentinels"), "certificate"));
  const Diagnosis wrong = doctor(
      plain + "&sentinel_password=other&sentinel_ca=" + watched.sentinel_ca()->ca_file().string());
  CHECK(contains(wrong.first("problem", "sentinels"), "WRONGPASS"));
  CHECK_FALSE(contains(wrong.report.dump(), "-secret"));
}

TEST_CASE("doctor: a sentinel of the URI is enough to find the others") {
  kit::SentinelSet watched({.replicas = 1, .sentinels = 3, .own_addresses = true});
  const std::string first = watched.sentinel(0).address().to_string();
  const std::string third = watched.sentinel(2).address().to_string();
  const Diagnosis all = doctor("valkey+sentinel://" + first + "/mymaster");
  CHECK(contains(all.first("ok", "sentinels"), "3 sentinels answer"));
  CHECK(contains(all.first("warning", "seeds"), "one sentinel only"));
  watched.kill(watched.sentinel(2));
  const Diagnosis two = doctor("valkey+sentinel://" + first + "/mymaster");
  CHECK(contains(two.first("warning", "sentinels"), third));
  CHECK(contains(two.first("warning", "votes"), "2 of 3 sentinels answer"));
  const Diagnosis unknown = doctor("valkey+sentinel://" + first + "/hismaster");
  CHECK(contains(unknown.first("problem", "sentinels"), "no primary of the name \"hismaster\""));
}
