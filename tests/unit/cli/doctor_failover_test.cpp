// The checks about who takes over.
#include "unit/cli/doctor_support.hpp"

using namespace slotwise;
using namespace slotwise::cli;

TEST_CASE("doctor: a healthy cluster has nothing above a note") {
  const Deployment deployment;
  const Findings findings = examine(deployment.facts);
  for (const Finding& f : findings.all())
    CHECK_FALSE(f.level >= Level::warning);
  CHECK_FALSE(findings.trouble());
  for (const char* check : {"reach", "slots", "bus", "replicas", "votes", "placement",
                            "persistence", "coverage", "memory", "balance", "version", "seeds"}) {
    INFO(check);
    CHECK_FALSE(first_said(findings, Level::ok, check).empty());
  }
}

TEST_CASE("doctor: every trouble says why it matters and what to do") {
  Deployment deployment;
  deployment.kill(0);
  deployment.set_all("cluster-require-full-coverage", "yes");
  deployment.set_all("cluster-node-timeout", "100");
  deployment.inform_all("aof_enabled", "0");
  const Findings findings = examine(deployment.facts);
  CHECK(findings.trouble());
  for (const Finding& f : findings.all()) {
    INFO(f.what);
    CHECK_FALSE(f.what.empty());
    CHECK((f.level == Level::ok) == f.why.empty());
    CHECK((f.level == Level::ok) == f.action.empty());
  }
}

TEST_CASE("doctor: a shard without a replica") {
  Deployment deployment;
  deployment.remove(deployment.replica_index(1));
  const Findings findings = examine(deployment.facts);
  CHECK(said(findings, Level::problem).size() == 1);
  CHECK(first_said(findings, Level::problem, "replicas") ==
        "Shard 10.0.0.2:6379 (5,461 slots) has no replica.");
}

TEST_CASE("doctor: a replica that could not take over") {
  const auto only_problem = [](Deployment& deployment) {
    return first_said(examine(deployment.facts), Level::problem, "replicas");
  };
  SECTION("link down") {
    Deployment deployment;
    deployment.replica(0).info["master_link_status"] = "down";
    CHECK(only_problem(deployment).find("10.0.0.4:6379: its link to the primary is down") !=
          std::string::npos);
  }
  SECTION("still synchronising") {
    Deployment deployment;
    deployment.replica(0).info["master_link_status"] = "down";
    deployment.replica(0).info["master_sync_in_progress"] = "1";
    CHECK(only_problem(deployment).find("still being synchronised") != std::string::npos);
  }
  SECTION("told not to") {
    Deployment deployment;
    deployment.replica(0).config["cluster-replica-no-failover"].value = "yes";
    CHECK(only_problem(deployment).find("cluster-replica-no-failover is yes") != std::string::npos);
  }
  SECTION("dead") {
    Deployment deployment;
    deployment.kill(deployment.replica_index(0));
    const Findings findings = examine(deployment.facts);
    CHECK(first_said(findings, Level::problem, "replicas").find("does not answer") !=
          std::string::npos);
    CHECK(first_said(findings, Level::warning, "reach")
              .starts_with("Replica 10.0.0.4:6379 does not answer: connection refused."));
  }
  SECTION("INFO is forbidden: nothing is held against it") {
    Deployment deployment;
    deployment.replica(0).info.clear();
    deployment.replica(0).info_trouble = "NOPERM no";
    const Findings findings = examine(deployment.facts);
    CHECK(said(findings, Level::problem).empty());
    CHECK(first_said(findings, Level::note, "not known").find("because: NOPERM no") !=
          std::string::npos);
  }
}

TEST_CASE("doctor: a second replica that is there makes it a warning") {
  Deployment deployment;
  Member second = deployment.members[deployment.replica_index(0)];
  second.id = "id9";
  second.ip = "10.0.0.9";
  deployment.members.push_back(second);
  NodeFacts facts = deployment.replica(0);
  facts.id = "id9";
  facts.endpoint = "10.0.0.9:6379";
  facts.info["master_link_status"] = "down";
  deployment.facts.nodes.push_back(facts);
  deployment.share_views();
  const Findings findings = examine(deployment.facts);
  CHECK(said(findings, Level::problem).empty());
  CHECK(first_said(findings, Level::warning, "replicas").find("10.0.0.9:6379") !=
        std::string::npos);
}

TEST_CASE("doctor: a dead primary, and a dead one that was replaced") {
  Deployment deployment;
  deployment.kill(0);
  Findings findings = examine(deployment.facts);
  CHECK(first_said(findings, Level::problem, "reach")
            .starts_with("Primary 10.0.0.1:6379 (5,461 slots) does not answer"));
  CHECK(first_said(findings, Level::problem, "slots").starts_with("5,461 of 16,384 slots"));
  // One more, and the last two are no majority of three.
  CHECK(first_said(findings, Level::problem, "votes") == "Only 2 of 3 primaries are alive.");

  auto& heir = deployment.members[deployment.replica_index(0)];
  heir.flags = {"master"};
  heir.primary_id.clear();
  heir.slots = std::exchange(deployment.members[0].slots, {});
  deployment.share_views();
  findings = examine(deployment.facts);
  CHECK(said(findings, Level::problem, "reach").empty());
  CHECK(first_said(findings, Level::warning, "reach").starts_with("Primary 10.0.0.1:6379 does"));
  CHECK(said(findings, Level::problem, "slots").empty());
  CHECK(said(findings, Level::problem, "votes").empty());
  CHECK(first_said(findings, Level::problem, "replicas") ==
        "Shard 10.0.0.4:6379 (5,461 slots) has no replica.");
}

TEST_CASE("doctor: a primary that is loading serves nobody yet") {
  Deployment deployment;
  deployment.primary(0).info["loading"] = "1";
  CHECK(first_said(examine(deployment.facts), Level::problem, "reach") ==
        "Primary 10.0.0.1:6379 (5,461 slots) is still loading its data.");
}

TEST_CASE("doctor: too few primaries elect nobody") {
  for (const std::size_t primaries : {1U, 2U}) {
    const Deployment deployment(primaries);
    const Findings findings = examine(deployment.facts);
    CHECK(said(findings, Level::problem, "votes").size() == 1);
  }
  CHECK(said(examine(Deployment(4).facts), Level::ok, "votes").size() == 1);
}

TEST_CASE("doctor: placement") {
  SECTION("a replica beside its primary") {
    Deployment deployment;
    deployment.members[deployment.replica_index(2)].ip = deployment.members[2].ip;
    deployment.share_views();
    CHECK(first_said(examine(deployment.facts), Level::warning, "placement") ==
          "All replicas are on their primary's address: 10.0.0.3:6379.");
  }
  SECTION("an address with a majority of the primaries") {
    Deployment deployment;
    deployment.members[1].ip = deployment.members[0].ip;
    deployment.share_views();
    CHECK(first_said(examine(deployment.facts), Level::warning, "placement") ==
          "2 of 3 primaries are on the address 10.0.0.1.");
  }
  SECTION("all on one") {
    Deployment deployment;
    for (Member& m : deployment.members)
      m.ip = "10.0.0.1";
    deployment.share_views();
    const auto all = said(examine(deployment.facts), Level::warning);
    REQUIRE(all.size() == 1);
    CHECK(all[0] == "All 6 nodes are on one address, 10.0.0.1.");
  }
}

TEST_CASE("doctor: full coverage is a note with spares and a warning without") {
  Deployment deployment;
  deployment.set_all("cluster-require-full-coverage", "yes");
  CHECK(said(examine(deployment.facts), Level::note, "coverage").size() == 1);
  CHECK_FALSE(examine(deployment.facts).trouble());
  deployment.replica(0).info["master_link_status"] = "down";
  CHECK(said(examine(deployment.facts), Level::warning, "coverage").size() == 1);
}

TEST_CASE("doctor: node timeout against a restart, and against a call's timeout") {
  Deployment deployment;  // 1 GB: 11 s; node timeout 5 s
  CHECK(said(examine(deployment.facts), Level::ok, "node timeout").size() == 1);
  deployment.set_all("cluster-node-timeout", "15000");
  CHECK(said(examine(deployment.facts), Level::note, "node timeout").size() == 1);
  CHECK_FALSE(examine(deployment.facts).trouble());
  deployment.set_all("cluster-node-timeout", "60000");
  CHECK(said(examine(deployment.facts), Level::warning, "node timeout").size() == 1);
  deployment.set_all("cluster-node-timeout", "500");
  CHECK(said(examine(deployment.facts), Level::warning, "node timeout").size() == 1);

  deployment.set_all("cluster-node-timeout", "5000");
  deployment.facts.call_timeout = std::chrono::seconds(5);
  CHECK(first_said(examine(deployment.facts), Level::note, "call timeout") ==
        "A failover takes about 6.5 s, and a call's timeout is 5 s.");
}

TEST_CASE("doctor: the TTL of names") {
  Deployment deployment;  // node timeout 5 s
  deployment.facts.names = {{"a.test", std::chrono::seconds(3), {}},
                            {"b.test", std::chrono::seconds(5), {}}};
  CHECK(first_said(examine(deployment.facts), Level::ok, "dns") ==
        "The TTL of the nodes' names is 5 s at most.");
  deployment.facts.names.push_back({"c.test", std::chrono::seconds(30), {}});
  CHECK(first_said(examine(deployment.facts), Level::warning, "dns").find("c.test (30 s)") !=
        std::string::npos);
  deployment.facts.names = {{"a.test", {}, "nobody answers"}};
  CHECK(first_said(examine(deployment.facts), Level::note, "dns") ==
        "The TTL of a.test is not known, because nobody answers.");
}
