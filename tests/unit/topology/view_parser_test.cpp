#include "topology/view_parser.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "view_kit.hpp"

using namespace slotwise;
using namespace slotwise::topology;
using namespace slotwise::topology::testing;

namespace {

// Captured from Valkey 9.1.2: three primaries, one replica, ports 27401-27404.
const std::string id1 = "5632616d654033994f22371da38227410547957a";
const std::string id4 = "ca15e41944711ecaa0816b72e125669326afa7b1";
constexpr std::string_view by_ip_resp2 =
    "*3|*4|:0|:5460|*4|$9|127.0.0.1|:27401|$40|5632616d654033994f22371da38227410547957a|*2|$8|"
    "hostname|$11|n1.lab.test|*4|$9|127.0.0.1|:27404|$40|ca15e41944711ecaa0816b72e125669326afa7b1|"
    "*2|$8|hostname|$11|n4.lab.test|*3|:5461|:10922|*4|$9|127.0.0.1|:27402|$40|"
    "39a00a4506ecb1b4134ac386d782a5559e50a169|*2|$8|hostname|$11|n2.lab.test|*3|:10923|:16383|*4|"
    "$9|127.0.0.1|:27403|$40|70e182b9cd64f86123f02853248e6bbc64361f30|*2|$8|hostname|$11|"
    "n3.lab.test|";
constexpr std::string_view by_name_resp3 =
    "*3|*4|:0|:5460|*4|$11|n1.lab.test|:27401|$40|5632616d654033994f22371da38227410547957a|%1|$2|"
    "ip|$9|127.0.0.1|*4|$11|n4.lab.test|:27404|$40|ca15e41944711ecaa0816b72e125669326afa7b1|%1|$2|"
    "ip|$9|127.0.0.1|*3|:5461|:10922|*4|$11|n2.lab.test|:27402|$40|"
    "39a00a4506ecb1b4134ac386d782a5559e50a169|%1|$2|ip|$9|127.0.0.1|*3|:10923|:16383|*4|$11|"
    "n3.lab.test|:27403|$40|70e182b9cd64f86123f02853248e6bbc64361f30|%1|$2|ip|$9|127.0.0.1|";
constexpr std::string_view unknown_resp3 =
    "*3|*4|:0|:5460|*4|_|:27401|$40|5632616d654033994f22371da38227410547957a|%2|$2|ip|$9|127.0.0.1|"
    "$8|hostname|$11|n1.lab.test|*4|_|:27404|$40|ca15e41944711ecaa0816b72e125669326afa7b1|%2|$2|ip|"
    "$9|127.0.0.1|$8|hostname|$11|n4.lab.test|*3|:5461|:10922|*4|_|:27402|$40|"
    "39a00a4506ecb1b4134ac386d782a5559e50a169|%2|$2|ip|$9|127.0.0.1|$8|hostname|$11|n2.lab.test|*3|"
    ":10923|:16383|*4|_|:27403|$40|70e182b9cd64f86123f02853248e6bbc64361f30|%2|$2|ip|$9|127.0.0.1|"
    "$8|hostname|$11|n3.lab.test|";
constexpr std::string_view nodes =
    "5632616d654033994f22371da38227410547957a 127.0.0.1:27401@37401,n1.lab.test myself,master - 0 "
    "0 "
    "1 connected 0-5460\n"
    "70e182b9cd64f86123f02853248e6bbc64361f30 127.0.0.1:27403@37403,n3.lab.test master - 0 "
    "1796008416352 3 connected 10923-16383\n"
    "39a00a4506ecb1b4134ac386d782a5559e50a169 127.0.0.1:27402@37402,n2.lab.test master - 0 "
    "1796008416049 2 connected 5461-10922\n"
    "ca15e41944711ecaa0816b72e125669326afa7b1 127.0.0.1:27404@37404,n4.lab.test slave "
    "5632616d654033994f22371da38227410547957a 0 1796008416049 1 connected\n";

const NodeInfo& node(const ClusterView& view, std::string_view wanted) {
  for (const NodeInfo& info : view.nodes) {
    if (info.id == wanted) return info;
  }
  throw std::runtime_error("no such node in the view");
}

const NodeInfo& owner(const ClusterView& view, std::size_t slot) {
  return view.nodes[view.shards.at(view.slots[slot]).primary];
}

FakeRange all(FakeNode primary) {
  return {0, 16383, {std::move(primary)}};
}

}  // namespace

TEST_CASE("view: captures of Valkey 9.1, RESP2 and RESP3") {
  const Reply nodes_reply = text(nodes);
  const Endpoint seed{"10.9.9.9", 27401};

  SECTION("ip preferred, RESP2") {
    const ViewResult result = parse_view(resp(by_ip_resp2), &nodes_reply, seed);
    REQUIRE(result.ok());
    const ClusterView& view = result.view;
    CHECK(view.full());
    CHECK(view.has_nodes);
    CHECK(view.max_epoch == 3);
    REQUIRE(view.nodes.size() == 4);
    REQUIRE(view.shards.size() == 3);
    CHECK(view.nodes[view.answered_by].id == id1);
    CHECK(owner(view, 0).id == id1);
    CHECK(owner(view, 5460).id == id1);
    CHECK(owner(view, 5461).id == "39a00a4506ecb1b4134ac386d782a5559e50a169");
    CHECK(owner(view, 16383).id == "70e182b9cd64f86123f02853248e6bbc64361f30");
    const NodeInfo& replica = node(view, id4);
    CHECK(replica.role == Role::replica);
    CHECK(view.nodes[replica.primary].id == id1);
    CHECK(replica.endpoint == Endpoint{"127.0.0.1", 27404});
    CHECK(replica.hostname == "n4.lab.test");
    CHECK(replica.announced_ip == "127.0.0.1");
    CHECK(view.shards[view.slots[0]].replicas.size() == 1);
  }
  SECTION("name preferred, RESP3: the ip is the cluster's own word") {
    const ViewResult result = parse_view(resp(by_name_resp3), &nodes_reply, seed);
    REQUIRE(result.ok());
    const NodeInfo& first = node(result.view, id1);
    CHECK(first.endpoint == Endpoint{"n1.lab.test", 27401});
    CHECK(first.announced_ip == "127.0.0.1");
    CHECK(first.hostname == "n1.lab.test");
    CHECK(first.answers_to({"127.0.0.1", 27401}));
    CHECK(first.answers_to({"N1.LAB.TEST.", 27401}));
    CHECK_FALSE(first.answers_to({"127.0.0.1", 27402}));
  }
  SECTION("unknown endpoints: the host that was asked, the port of each node") {
    const ViewResult result = parse_view(resp(unknown_resp3), &nodes_reply, seed);
    REQUIRE(result.ok());
    const NodeInfo& replica = node(result.view, id4);
    CHECK(replica.endpoint == Endpoint{"10.9.9.9", 27404});
    CHECK(replica.endpoint_implied);
    CHECK(replica.announced_ip == "127.0.0.1");
  }
}

TEST_CASE("view: what is no answer, and why") {
  struct Case {
    Reply reply;
    ViewProblem problem;
    std::string_view says;
  };
  const Case cases[] = {
      {list({}), ViewProblem::no_slots, "no slots"},
      {error("ERR This instance has cluster support disabled"), ViewProblem::cluster_disabled,
       "cluster support disabled"},
      {error("ERR unknown command 'CLUSTER'"), ViewProblem::cluster_disabled, "unknown command"},
      {error("LOADING Valkey is loading the dataset in memory"), ViewProblem::refused, "LOADING"},
      {error("NOPERM User app has no permissions"), ViewProblem::refused, "NOPERM"},
      {Reply(), ViewProblem::malformed, "CLUSTER SLOTS"},
      {text("OK"), ViewProblem::malformed, "CLUSTER SLOTS"},
      {Reply::make_integer(1), ViewProblem::malformed, "CLUSTER SLOTS"},
      {list({text("x")}), ViewProblem::malformed, "range"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.says);
    const ViewResult result = parse_view(c.reply, nullptr, asked);
    CHECK(result.problem == c.problem);
    CHECK(result.text.find(c.says) != std::string::npos);
  }
}

TEST_CASE("view: B06, one bad range rejects the whole reply and is named") {
  struct Case {
    std::string_view bytes;
    std::string_view says;
  };
  const Case cases[] = {
      {"*1|*3|:10|:5|*3|$1|h|:1|$1|a|", "10-5"},
      {"*1|*3|:0|:16384|*3|$1|h|:1|$1|a|", "0-16384"},
      {"*1|*3|:-1|:5|*3|$1|h|:1|$1|a|", "-1-5"},
      {"*1|*3|:-9223372036854775807|:9223372036854775807|*3|$1|h|:1|$1|a|", "bad range"},
      {"*1|*3|:9223372036854775807|:9223372036854775807|*3|$1|h|:1|$1|a|", "bad range"},
      {"*1|*2|:0|:5|", "no node"},
      {"*1|*3|:0|:5|_|", "no node"},
      {"*1|*3|:0|:5|$1|h|", "no node"},
      {"*1|*3|:0|:5|*0|", "needs an endpoint"},
      {"*1|*3|:0|:5|*1|$1|h|", "needs an endpoint"},
      {"*1|*3|$1|0|$1|5|*2|$1|h|:1|", "not a range"},
      {"*1|*1|:0|", "not a range"},
      {"*1|:5|", "not a range"},
      {"*1|*3|:0|:5|*2|$1|h|:65536|", "bad port"},
      {"*1|*3|:0|:5|*2|$1|h|:-1|", "bad port"},
      {"*1|*3|:0|:5|*2|$1|h|$1|7|", "port is no number"},
      {"*1|*3|:0|:5|*2|:7|:7|", "endpoint is no text"},
      {"*2|*3|:0|:5|*2|$1|h|:1|*3|:5|:9|*2|$1|h|:1|", "slot 5 is there twice"},
      {"*2|*3|:0|:9|*2|$1|h|:1|*3|:3|:4|*2|$1|g|:1|", "slot 3 is there twice"},
      // A node with two roles.
      {"*2|*4|:0|:5|*2|$1|h|:1|*2|$1|g|:1|*3|:6|:9|*2|$1|g|:1|", "primary is a replica"},
      {"*2|*3|:0|:5|*2|$1|h|:1|*4|:6|:9|*2|$1|g|:1|*2|$1|h|:1|", "another role"},
      {"*1|*4|:0|:5|*2|$1|h|:1|*2|$1|h|:1|", "another role"},
      // A good range before or after a bad one does not save the reply.
      {"*2|*3|:0|:16382|*2|$1|h|:1|*3|:16383|:16384|*2|$1|h|:1|", "16383-16384"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.bytes);
    const ViewResult result = parse_view(resp(c.bytes), nullptr, asked);
    CHECK(result.problem == ViewProblem::malformed);
    CAPTURE(result.text);
    CHECK(result.text.find(c.says) != std::string::npos);
  }
}

TEST_CASE("view: B06, extra elements and odd shapes that are fine") {
  struct Case {
    std::string_view bytes;
    std::size_t nodes;
  };
  const Case cases[] = {
      {"*1|*3|:0|:16383|*2|$1|h|:1|", 1},                                // Redis 3: no id
      {"*1|*3|:0|:16383|*3|$1|h|:1|$1|a|", 1},                           // no metadata
      {"*1|*3|:0|:16383|*4|$1|h|:1|$1|a|*0|", 1},                        // Redis 7
      {"*1|*3|:0|:16383|*4|$1|h|:1|$1|a|%1|$2|ip|$7|1.2.3.4|", 1},       // RESP3
      {"*1|*3|:0|:16383|*4|$1|h|:1|$1|a|*2|$2|ip|$7|1.2.3.4|", 1},       // RESP2
      {"*1|*3|:0|:16383|*4|$1|h|:1|$1|a|*3|$2|ip|$7|1.2.3.4|$1|x|", 1},  // odd metadata
      {"*1|*3|:0|:16383|*5|$1|h|:1|$1|a|*0|:42|", 1},                    // a fifth element
      {"*1|*3|:0|:16383|*4|$1|h|:1|$1|a|_|", 1},                         // null metadata
      {"*1|*5|:0|:16383|*2|$1|h|:1|*2|$1|g|:1|$5|extra|", 2},            // extra after the nodes
      {"*1|*4|:0|:16383|*2|$1|h|:1|*2|$1|?|:1|", 1},                     // replica nobody can find
      {"~1|*3|:0|:16383|*2|$1|h|:1|", 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.bytes);
    const ViewResult result = parse_view(resp(c.bytes), nullptr, asked);
    CAPTURE(result.text);
    REQUIRE(result.ok());
    CHECK(result.view.full());
    CHECK(result.view.nodes.size() == c.nodes);
    CHECK_FALSE(result.view.has_nodes);
  }
}

TEST_CASE("view: endpoints that the server leaves open") {
  const Endpoint seed{"seed.test", 7777};
  SECTION("port 0 is the port that was asked") {
    const ViewResult result = parse_view(resp("*1|*3|:0|:1|*2|$1|h|:0|"), nullptr, seed);
    REQUIRE(result.ok());
    CHECK(result.view.nodes[0].endpoint == Endpoint{"h", 7777});
  }
  SECTION("an empty host is the host that was asked") {
    const ViewResult result = parse_view(resp("*1|*3|:0|:1|*2|$0||:7|"), nullptr, seed);
    REQUIRE(result.ok());
    CHECK(result.view.nodes[0].endpoint == Endpoint{"seed.test", 7});
    CHECK(result.view.nodes[0].endpoint_implied);
  }
  SECTION("'?' with an ip in the metadata: the ip") {
    const ViewResult result =
        parse_view(resp("*1|*3|:0|:1|*4|$1|?|:7|$1|a|%1|$2|ip|$7|1.2.3.4|"), nullptr, seed);
    REQUIRE(result.ok());
    CHECK(result.view.nodes[0].endpoint == Endpoint{"1.2.3.4", 7});
    CHECK_FALSE(result.view.nodes[0].endpoint_implied);
  }
  SECTION("'?' alone: its slots stay uncovered") {
    const ViewResult result =
        parse_view(resp("*2|*3|:0|:1|*2|$1|?|:7|*3|:2|:3|*2|$1|h|:7|"), nullptr, seed);
    REQUIRE(result.ok());
    CHECK(result.view.covered == 2);
    CHECK(result.view.slots[0] == no_shard);
    CHECK(result.view.nodes.size() == 1);
    CHECK(parse_view(resp("*1|*3|:0|:1|*2|$1|?|:7|"), nullptr, seed).problem ==
          ViewProblem::no_slots);
  }
}

TEST_CASE("view: CLUSTER NODES that is an error or nonsense costs epochs, nothing else") {
  const Reply slots = slots_reply({all({"127.0.0.1", 7000, id('a'), ""})});
  const Reply replies[] = {error("NOPERM no"), text("nonsense"),      text(""), Reply(),
                           list({}),           Reply::make_integer(3)};
  for (const Reply& reply : replies) {
    CAPTURE(reply.describe());
    const ViewResult result = parse_view(slots, &reply, asked);
    REQUIRE(result.ok());
    CHECK_FALSE(result.view.has_nodes);
    CHECK(result.view.max_epoch == 0);
    CHECK(result.view.nodes[result.view.answered_by].id == id('a'));
  }
  const Reply verbatim =
      Reply::make_text(Reply::Type::verbatim,
                       nodes_text({{{"127.0.0.1", 7000, id('a'), ""}, 9, "myself,master", "-"}}));
  CHECK(parse_view(slots, &verbatim, asked).view.max_epoch == 9);
}

TEST_CASE("view: nodes that only CLUSTER NODES names") {
  const FakeNode a{"127.0.0.1", 7000, id('a'), ""};
  const FakeNode empty{"127.0.0.1", 7001, id('b'), ""};
  const FakeNode syncing{"127.0.0.1", 7002, id('c'), ""};
  const FakeNode dead{"127.0.0.1", 7003, id('d'), ""};
  const FakeNode meeting{"127.0.0.1", 7004, id('e'), ""};
  const FakeNode lost{"", 0, id('f'), ""};
  const ClusterView view = view_of({all(a)}, {{syncing, 1, "slave", id('a')},
                                              {a, 1, "myself,master", "-"},
                                              {empty, 0, "master", "-"},
                                              {dead, 1, "slave,fail", id('a')},
                                              {meeting, 0, "handshake", "-"},
                                              {lost, 0, "slave,noaddr", id('a')}});
  REQUIRE(view.nodes.size() == 4);
  CHECK(node(view, id('b')).role == Role::primary);
  CHECK(node(view, id('b')).health == Health::ok);
  CHECK(node(view, id('c')).health == Health::not_serving);
  CHECK(view.nodes[node(view, id('c')).primary].id == id('a'));
  CHECK(node(view, id('d')).health == Health::failed);
  REQUIRE(view.shards.size() == 1);
  CHECK(view.shards[0].replicas.empty());
}

TEST_CASE("view: unlisted nodes are reached the way the cluster prefers") {
  const FakeNode a{"a.test", 7000, id('a'), ""};
  const FakeNode b{"10.0.0.2", 7001, id('b'), "b.test"};
  const ClusterView named = view_of({all(a)}, {{{"10.0.0.1", 7000, id('a'), "a.test"}, 1}, {b, 0}});
  CHECK(node(named, id('b')).endpoint == Endpoint{"b.test", 7001});
  CHECK(node(named, id('b')).announced_ip == "10.0.0.2");
  const ClusterView by_ip = view_of({all({"10.0.0.1", 7000, id('a'), "a.test"})}, {{b, 0}});
  CHECK(node(by_ip, id('b')).endpoint == Endpoint{"10.0.0.2", 7001});
  const ClusterView implied = view_of({all({"", 7000, id('a'), ""})}, {{b, 0}});
  CHECK(node(implied, id('b')).endpoint == Endpoint{"127.0.0.1", 7001});
  CHECK(node(implied, id('b')).endpoint_implied);
}

TEST_CASE("view: a failed primary keeps its slots, a failed replica serves no reads") {
  const FakeNode a{"127.0.0.1", 7000, id('a'), ""};
  const FakeNode b{"127.0.0.1", 7001, id('b'), ""};
  const ClusterView view =
      view_of({{0, 16383, {a, b}}}, {{a, 4, "master,fail", "-"}, {b, 4, "slave,fail", id('a')}});
  CHECK(view.full());
  CHECK(owner(view, 7).health == Health::failed);
  CHECK(view.shards[0].replicas.empty());
}
