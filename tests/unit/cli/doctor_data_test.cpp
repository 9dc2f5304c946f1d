// The checks about nodes, versions and data.
#include <nlohmann/json.hpp>

#include "cli/doctor/report.hpp"
#include "unit/cli/doctor_support.hpp"

using namespace slotwise;
using namespace slotwise::cli;

TEST_CASE("doctor: nothing on disk is the trap of a restart") {
  Deployment deployment;
  deployment.primary(1).info["aof_enabled"] = "0";
  Findings findings = examine(deployment.facts);
  CHECK(first_said(findings, Level::warning, "persistence") ==
        "Nothing is kept on disk (appendonly no, save \"\") by 10.0.0.2:6379 (1 of 3 primaries).");

  deployment.primary(1).config["save"].value = "3600 1";
  findings = examine(deployment.facts);
  CHECK_FALSE(findings.trouble());
  CHECK(said(findings, Level::note, "persistence").size() == 1);

  deployment.primary(1).config["save"] = {{}, "NOPERM User x has no permissions"};
  findings = examine(deployment.facts);
  CHECK_FALSE(findings.trouble());
  CHECK(first_said(findings, Level::note, "persistence").find("is not known") != std::string::npos);
  CHECK(first_said(findings, Level::note, "not known") ==
        "Settings (CONFIG GET) of 10.0.0.2:6379 are not known, because: NOPERM User x has no "
        "permissions");
}

TEST_CASE("doctor: a disk that takes nothing") {
  Deployment deployment;
  deployment.primary(0).info["aof_last_write_status"] = "err";
  CHECK(first_said(examine(deployment.facts), Level::problem, "persistence") ==
        "10.0.0.1:6379 cannot write to its disk: aof_last_write_status is err.");
}

TEST_CASE("doctor: memory") {
  Deployment deployment;
  SECTION("nearly full, writes will be refused") {
    deployment.primary(0).info["used_memory"] = "3500000000";
    CHECK(first_said(examine(deployment.facts), Level::warning, "memory").find("87 %") !=
          std::string::npos);
    deployment.primary(0).info["used_memory"] = "3900000000";
    CHECK(said(examine(deployment.facts), Level::problem, "memory").size() == 1);
  }
  SECTION("nearly full, keys will go") {
    deployment.primary(0).info["used_memory"] = "3900000000";
    deployment.inform_all("maxmemory_policy", "allkeys-lru");
    CHECK_FALSE(examine(deployment.facts).trouble());
    CHECK(said(examine(deployment.facts), Level::note, "memory").size() == 1);
  }
  SECTION("no limit") {
    deployment.inform_all("maxmemory", "0");
    CHECK(first_said(examine(deployment.facts), Level::note, "memory").starts_with("No maxmemory"));
    CHECK_FALSE(examine(deployment.facts).trouble());
  }
  SECTION("no room for a lost shard") {
    deployment.inform_all("used_memory", "3000000000");
    CHECK(first_said(examine(deployment.facts), Level::note, "memory").starts_with("The largest"));
  }
  SECTION("a replica that can hold less") {
    deployment.replica(0).info["maxmemory"] = "2000000000";
    CHECK(first_said(examine(deployment.facts), Level::warning, "memory")
              .starts_with("Replica 10.0.0.4:6379 has a maxmemory of 1.9 GB"));
  }
}

TEST_CASE("doctor: balance") {
  Deployment deployment;
  deployment.members[0].slots = {{0, 11000}};
  deployment.members[1].slots = {{11001, 12000}};
  deployment.members[2].slots = {{12001, 16383}};
  deployment.share_views();
  CHECK(first_said(examine(deployment.facts), Level::note, "balance").starts_with("Slots are"));

  Deployment keys;
  keys.primary(0).info["db0"] = "keys=90000,expires=0";
  keys.primary(0).info["db3"] = "keys=1,expires=0";
  keys.primary(1).info["db0"] = "keys=5000,expires=0";
  CHECK(first_said(examine(keys.facts), Level::note, "balance") ==
        "Keys are uneven: 10.0.0.1:6379 has 90,001 of 95,001.");
}

TEST_CASE("doctor: versions, and what they can do") {
  Deployment deployment;
  deployment.set_all("cluster-databases", "16");
  CHECK(first_said(examine(deployment.facts), Level::ok, "version") ==
        "valkey 9.1.2; has atomic slot migration, SLOT-STATS, sharded pub/sub and numbered "
        "databases.");
  deployment.replica(1).info.erase("valkey_version");
  deployment.replica(1).info["redis_version"] = "7.0.15";
  deployment.replica(1).commands = {"spublish"};
  const Findings findings = examine(deployment.facts);
  CHECK(first_said(findings, Level::warning, "version").find("redis 7.0.15 on 10.0.0.5:6379") !=
        std::string::npos);
  CHECK(first_said(findings, Level::ok, "version").find("not atomic slot migration") !=
        std::string::npos);
}

TEST_CASE("doctor: slots that nobody has, that two have, that are half moved") {
  Deployment deployment;
  deployment.members[1].slots = {{5461, 6000}};
  deployment.share_views();
  CHECK(first_said(examine(deployment.facts), Level::problem, "slots")
            .starts_with("4,921 of 16,384 slots"));

  Deployment disputed;
  disputed.primary(2).view[1].slots = {{5561, 10921}};
  disputed.primary(2).view[0].slots = {{0, 5560}};
  CHECK(first_said(examine(disputed.facts), Level::warning, "slots") ==
        "Nodes do not agree on the owners of 100 slots.");

  Deployment open;
  open.members[0].open_slots = 1;
  open.share_views();
  CHECK(said(examine(open.facts), Level::note, "slots").size() == 1);

  Deployment down;
  down.primary(0).cluster_info["cluster_state"] = "fail";
  CHECK(first_said(examine(down.facts), Level::problem, "slots") ==
        "cluster_state is not ok on 10.0.0.1:6379.");
}

TEST_CASE("doctor: the bus") {
  Deployment deployment;
  deployment.primary(0).view[4].link_up = false;
  CHECK(first_said(examine(deployment.facts), Level::warning, "bus") ==
        "The cluster bus is broken from 10.0.0.1:6379 to 10.0.0.5:6379.");
}

TEST_CASE("doctor: seeds") {
  Deployment deployment;
  deployment.facts.seeds = {{"10.0.0.1", 6379}};
  CHECK(said(examine(deployment.facts), Level::warning, "seeds").size() == 1);
  deployment.facts.seeds = {{"cluster.test", 6379}};
  CHECK(said(examine(deployment.facts), Level::note, "seeds").size() == 1);
}

TEST_CASE("doctor: a single server") {
  Facts facts;
  facts.mode = Mode::single;
  facts.nodes.emplace_back().endpoint = "10.0.0.1:6379";
  facts.nodes[0].info = {{"role", "master"},
                         {"aof_enabled", "1"},
                         {"redis_version", "7.0.15"},
                         {"connected_slaves", "0"}};
  CHECK(first_said(examine(facts), Level::warning, "replicas") ==
        "This is a single server without a replica.");
  facts.nodes[0].info["connected_slaves"] = "2";
  facts.nodes[0].info["slave0"] = "ip=10.0.0.2,port=6379,state=online,offset=1,lag=0";
  facts.nodes[0].info["slave1"] = "ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0";
  CHECK(first_said(examine(facts), Level::warning, "replicas") ==
        "This is a single server; 1 of its 2 replicas are online.");
  facts.nodes[0].info["role"] = "slave";
  CHECK(first_said(examine(facts), Level::problem, "mode") == "This server is a replica.");
  facts.nodes[0].info["cluster_enabled"] = "1";
  CHECK(said(examine(facts), Level::warning, "mode").size() == 1);
}

TEST_CASE("doctor: nobody answers at all") {
  Deployment deployment;
  for (std::size_t i = 0; i < 6; ++i)
    deployment.kill(i);
  const Findings findings = examine(deployment.facts);
  CHECK(findings.trouble());
  CHECK_FALSE(said(findings, Level::problem, "slots").empty());
  const Findings nothing = examine(Facts{});
  CHECK_FALSE(said(nothing, Level::problem, "slots").empty());
}

TEST_CASE("doctor: the report") {
  Deployment deployment;
  deployment.remove(deployment.replica_index(1));
  deployment.primary(0).trouble = "bytes \xff \"quoted\"";
  const Findings findings = examine(deployment.facts);
  const std::string text = doctor_text("valkey+cluster://h", findings);
  CHECK(text.find("PROBLEM   ") != std::string::npos);
  CHECK(text.find("  do      ") != std::string::npos);
  CHECK(text.find("PROBLEM") < text.find("ok   "));
  CHECK(text.find("would not survive") != std::string::npos);
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    CHECK(end - start <= 100);
    start = end + 1;
  }
  const auto json = nlohmann::json::parse(doctor_json("valkey+cluster://h", findings));
  CHECK(json["healthy"] == false);
  CHECK(json["findings"].size() == findings.all().size());
  CHECK(json["problems"] == findings.count(Level::problem));
  CHECK(json["findings"][0].contains("do"));
}
