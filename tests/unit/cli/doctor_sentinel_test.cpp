#include "unit/cli/doctor_support.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

using namespace slotwise;
using namespace slotwise::cli;

namespace {

/// `count` sentinels on hosts of their own, a primary and a replica; all is well.
Facts watched(std::size_t count, int quorum) {
  Facts facts;
  facts.mode = Mode::sentinel;
  facts.call_timeout = std::chrono::seconds(60);
  facts.seeds = {{"10.0.1.1", 26379}, {"10.0.1.2", 26379}};
  for (std::size_t i = 0; i < count; ++i) {
    SentinelFacts s;
    s.endpoint = fmt::format("10.0.1.{}:26379", i + 1);
    s.quorum_reached = true;
    s.ckquorum = "OK";
    s.primary = {{"ip", "10.0.0.1"},
                 {"port", "6379"},
                 {"flags", "master"},
                 {"num-other-sentinels", std::to_string(count - 1)},
                 {"quorum", std::to_string(quorum)},
                 {"down-after-milliseconds", "5000"}};
    s.replicas = {"10.0.0.2:6379"};
    s.id = fmt::format("id{}", i + 1);
    for (std::size_t other = 0; other < count; ++other) {
      if (other == i) continue;
      s.peers.push_back(
          {fmt::format("10.0.1.{}:26379", other + 1), fmt::format("id{}", other + 1), "sentinel"});
    }
    facts.sentinels.push_back(s);
  }
  for (const char* endpoint : {"10.0.0.1:6379", "10.0.0.2:6379"}) {
    NodeFacts& node = facts.nodes.emplace_back();
    node.endpoint = endpoint;
    node.info = {{"valkey_version", "9.1.2"}, {"aof_enabled", "1"},
                 {"used_memory", "1000"},     {"maxmemory", "4000000"},
                 {"role", "master"},          {"maxmemory_policy", "noeviction"}};
  }
  facts.nodes[1].info["role"] = "slave";
  facts.nodes[1].info["master_link_status"] = "up";
  facts.nodes[1].info["slave_priority"] = "100";
  return facts;
}

}  // namespace

TEST_CASE("doctor: three sentinels, quorum two, a replica in step") {
  const Findings findings = examine(watched(3, 2));
  for (const Finding& f : findings.all()) {
    INFO(f.what);
    CHECK(f.level < Level::warning);
  }
  CHECK(first_said(findings, Level::ok, "quorum") ==
        "3 sentinels, quorum 2; a failover needs 2 votes.");
  CHECK(first_said(findings, Level::ok, "sentinels") ==
        "3 sentinels answer and name the primary 10.0.0.1:6379.");
  CHECK(first_said(findings, Level::ok, "replicas").starts_with("The primary has a replica"));
}

TEST_CASE("doctor: number of sentinels and quorum against majority") {
  CHECK(first_said(examine(watched(2, 2)), Level::problem, "quorum") ==
        "2 sentinels, quorum 2: a failover needs 2 votes, so each one of them.");
  CHECK(said(examine(watched(1, 1)), Level::problem, "quorum").size() == 1);
  CHECK(said(examine(watched(3, 3)), Level::problem, "quorum").size() == 1);
  CHECK(first_said(examine(watched(3, 5)), Level::problem, "quorum") ==
        "The quorum is 5, and there are 3 sentinels only.");
  const Findings low = examine(watched(5, 2));
  CHECK_FALSE(low.trouble());
  CHECK(first_said(low, Level::note, "quorum") ==
        "The quorum of 2 is less than the majority of 3.");
  CHECK(said(examine(watched(5, 4)), Level::ok, "quorum").size() == 1);
}

TEST_CASE("doctor: sentinels that are away, disagree, or have no quorum") {
  Facts facts = watched(3, 2);
  facts.sentinels[0].trouble = "connection refused";
  facts.sentinels[1].quorum_reached = false;
  facts.sentinels[1].ckquorum = "NOQUORUM 1 usable Sentinels";
  Findings findings = examine(facts);
  CHECK(first_said(findings, Level::warning, "sentinels") ==
        "Sentinel 10.0.1.1:26379 is of no use: connection refused.");
  CHECK(first_said(findings, Level::problem, "quorum") ==
        "CKQUORUM on 10.0.1.2:26379 says: NOQUORUM 1 usable Sentinels");

  facts = watched(3, 2);
  facts.sentinels[2].primary["ip"] = "10.0.0.2";
  CHECK(first_said(examine(facts), Level::problem, "sentinels")
            .starts_with("The sentinels name different primaries: 10.0.0.1:6379 by"));

  facts = watched(3, 2);
  facts.sentinels[2].primary["flags"] = "s_down,master,disconnected";
  CHECK(first_said(examine(facts), Level::problem, "sentinels") ==
        "The primary is down, say 10.0.1.3:26379.");

  facts = watched(2, 2);
  for (auto& s : facts.sentinels)
    s.trouble = "refused";
  facts.nodes.clear();
  findings = examine(facts);
  CHECK(said(findings, Level::problem, "sentinels").size() == 2);
  CHECK(said(findings, Level::ok, "reach").empty());  // nobody was asked
}

TEST_CASE("doctor: what sentinels watch is looked at too") {
  Facts facts = watched(3, 2);
  facts.nodes[1].info["slave_priority"] = "0";
  CHECK(first_said(examine(facts), Level::problem, "replicas") ==
        "No replica of primary 10.0.0.1:6379 could take over now. 10.0.0.2:6379: its "
        "replica-priority is 0.");
  facts.nodes.pop_back();
  CHECK(first_said(examine(facts), Level::problem, "replicas") ==
        "Primary 10.0.0.1:6379 has no replica.");

  facts = watched(3, 2);
  facts.nodes[0].info["role"] = "slave";
  CHECK(said(examine(facts), Level::problem, "mode").size() == 1);

  facts = watched(3, 2);
  facts.sentinels[0].endpoint = "10.0.0.1:26379";
  CHECK_FALSE(examine(facts).trouble());
  facts.sentinels[1].endpoint = "10.0.0.1:26380";
  CHECK(first_said(examine(facts), Level::warning, "placement") ==
        "2 of 3 sentinels are on the primary's address, 10.0.0.1.");

  facts = watched(3, 2);
  facts.call_timeout = std::chrono::seconds(5);
  CHECK(said(examine(facts), Level::note, "call timeout").size() == 1);
}

TEST_CASE("doctor: a failover that could not be authorised is told before it is needed") {
  const auto dead = [](Facts& facts, std::initializer_list<std::size_t> which) {
    for (const std::size_t i : which)
      facts.sentinels[i].trouble = "connection refused";
  };
  // Five, quorum 2, three of them just killed: CKQUORUM of the others still says that all is well.
  Facts facts = watched(5, 2);
  dead(facts, {0, 2, 4});
  Findings findings = examine(facts);
  CHECK(first_said(findings, Level::problem, "votes") ==
        "Only 2 of 5 sentinels answer, and a failover needs 3 votes.");
  CHECK(said(findings, Level::warning, "sentinels").size() == 3);

  facts = watched(5, 2);
  dead(facts, {0, 2});
  findings = examine(facts);
  CHECK(said(findings, Level::problem, "votes").empty());
  CHECK(first_said(findings, Level::warning, "votes") ==
        "3 of 5 sentinels answer, and a failover needs each one of them.");
  facts = watched(5, 4);  // more than the majority
  dead(facts, {0, 2});
  CHECK(first_said(examine(facts), Level::problem, "votes") ==
        "Only 3 of 5 sentinels answer, and a failover needs 4 votes.");

  facts = watched(5, 3);
  dead(facts, {0});
  findings = examine(facts);
  CHECK(said(findings, Level::problem).empty());
  CHECK(said(findings, Level::warning, "votes").empty());
  facts = watched(3, 2);
  dead(facts, {0, 1});
  CHECK(first_said(examine(facts), Level::problem, "votes") ==
        "Only 1 of 3 sentinels answers, and a failover needs 2 votes.");
}

TEST_CASE("doctor: sentinels that the URI does not name count too") {
  Facts facts = watched(3, 2);
  facts.sentinels[2].in_uri = false;
  CHECK_FALSE(examine(facts).trouble());
  facts.sentinels[2].trouble = "connection refused";
  CHECK(first_said(examine(facts), Level::warning, "sentinels") ==
        "Sentinel 10.0.1.3:26379, which the others know, is of no use: connection refused.");
}

TEST_CASE("doctor: what to do about a sentinel depends on what is wrong with it") {
  struct Case {
    ErrorCode code;
    std::string_view says;
  };
  const Case cases[] = {{ErrorCode::connect_failed, "Bring it back"},
                        {ErrorCode::auth_failed, "sentinel_password"},
                        {ErrorCode::tls_failed, "sentinel_ca"},
                        {ErrorCode::connection_lost, "sentinel_tls=yes"},
                        {ErrorCode::unknown_primary, "SENTINEL MASTERS"}};
  for (const Case& c : cases) {
    Facts facts = watched(3, 2);
    facts.sentinels[0].trouble = "x";
    facts.sentinels[0].trouble_code = c.code;
    const Findings findings = examine(facts);
    const auto at = std::find_if(findings.all().begin(), findings.all().end(), [](const auto& f) {
      return f.level == Level::warning && f.check == "sentinels";
    });
    REQUIRE(at != findings.all().end());
    CAPTURE(at->action);
    CHECK(at->action.find(c.says) != std::string::npos);
  }
}

TEST_CASE("doctor: sentinels that do not hear each other, and different quorums") {
  Facts facts = watched(3, 2);
  facts.sentinels[0].peers[1].flags = "s_down,sentinel,disconnected";  // the third
  facts.sentinels[1].peers[1].flags = "s_down,sentinel";
  CHECK(said(examine(facts), Level::warning, "sentinels") ==
        std::vector<std::string>{"Sentinel 10.0.1.3:26379 answers here, but 10.0.1.1:26379 and "
                                 "10.0.1.2:26379 cannot reach it."});
  facts.sentinels[2].trouble = "connection refused";  // then that is the news
  CHECK(said(examine(facts), Level::warning, "sentinels").size() == 1);

  facts = watched(3, 2);
  facts.sentinels[1].primary["quorum"] = "1";
  CHECK(first_said(examine(facts), Level::warning, "quorum") ==
        "The sentinels have different quorums: 1 at 10.0.1.2:26379; 2 at 10.0.1.1:26379 and "
        "10.0.1.3:26379.");
}

TEST_CASE("doctor: a primary that came back, and one that acknowledges alone") {
  Facts facts = watched(3, 2);
  facts.nodes[1].info["role"] = "master";
  const Findings findings = examine(facts);
  CHECK(first_said(findings, Level::problem, "mode") ==
        "10.0.0.2:6379 is a replica to the sentinels, and says that it is a primary.");
  CHECK(first_said(findings, Level::problem, "replicas") ==
        "No replica of primary 10.0.0.1:6379 could take over now. 10.0.0.2:6379: it says that it "
        "is a primary itself.");

  facts = watched(3, 2);
  facts.nodes[0].config["min-replicas-to-write"].value = "0";
  CHECK(said(examine(facts), Level::note, "acknowledged writes").size() == 1);
  facts.nodes[0].config["min-replicas-to-write"].value = "1";
  CHECK(said(examine(facts), Level::note, "acknowledged writes").empty());

  facts = watched(3, 2);
  for (auto& s : facts.sentinels)
    s.endpoint = "10.0.9.9" + s.endpoint.substr(s.endpoint.rfind(':'));
  CHECK(first_said(examine(facts), Level::warning, "placement") ==
        "3 of 3 sentinels are on one address, 10.0.9.9.");
}
