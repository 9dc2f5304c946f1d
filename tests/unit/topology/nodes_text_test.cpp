#include "topology/nodes_text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace slotwise::topology;

namespace {
// Valkey 9.1.2, three primaries, a failed replica, a slot under way; hostnames as announced.
constexpr std::string_view valkey_9 =
    "39a00a4506ecb1b4134ac386d782a5559e50a169 127.0.0.1:27402@37402,n2.lab.test myself,master - 0 "
    "0 "
    "2 connected 5461-10922 [5461->-5632616d654033994f22371da38227410547957a]\n"
    "70e182b9cd64f86123f02853248e6bbc64361f30 127.0.0.1:27403@37403,n3.lab.test master - 0 "
    "1796008442598 3 connected 10923-16383\n"
    "ca15e41944711ecaa0816b72e125669326afa7b1 127.0.0.1:27404@37404,n4.lab.test slave,fail "
    "5632616d654033994f22371da38227410547957a 1796008439056 1796008438045 1 disconnected\n"
    "5632616d654033994f22371da38227410547957a 127.0.0.1:27401@37401 master - 0 1796008443202 1 "
    "connected 0-5460\n";
}  // namespace

TEST_CASE("nodes text: a real capture") {
  const auto lines = parse_nodes_text(valkey_9);
  REQUIRE(lines);
  REQUIRE(lines->size() == 4);
  const NodeLine& first = (*lines)[0];
  CHECK(first.id == "39a00a4506ecb1b4134ac386d782a5559e50a169");
  CHECK(first.ip == "127.0.0.1");
  CHECK(first.port == 27402);
  CHECK(first.hostname == "n2.lab.test");
  CHECK(first.myself);
  CHECK(first.primary);
  CHECK(first.config_epoch == 2);
  CHECK(first.link_up);
  CHECK(first.slots == 5462);
  CHECK(first.migrating == 1);
  CHECK(first.importing == 0);
  CHECK(first.primary_id.empty());
  const NodeLine& replica = (*lines)[2];
  CHECK(replica.replica);
  CHECK(replica.failed);
  CHECK_FALSE(replica.link_up);
  CHECK(replica.primary_id == "5632616d654033994f22371da38227410547957a");
  CHECK((*lines)[3].hostname.empty());
}

TEST_CASE("nodes text: forms of other versions") {
  const std::string id(40, 'a');  // the lines are views into the text
  SECTION("nodes.conf style extras after the hostname") {
    const std::string text =
        id + " 127.0.0.1:7000@17000,,tls-port=0,shard-id=abc master - 0 0 1 connected\n";
    const auto lines = parse_nodes_text(text);
    REQUIRE(lines);
    CHECK((*lines)[0].hostname.empty());
    CHECK((*lines)[0].ip == "127.0.0.1");
  }
  SECTION("no bus port, no end of line, CRLF, IPv6") {
    const std::string text = id + " ::1:7000 slave,fail? - 0 0 18446744073709551615 x\r\n" + id +
                             " [::1]:7001@17001 master - 0 0 1 connected 5 7-9";
    const auto lines = parse_nodes_text(text);
    REQUIRE(lines);
    REQUIRE(lines->size() == 2);
    CHECK((*lines)[0].ip == "::1");
    CHECK((*lines)[0].suspected);
    CHECK_FALSE((*lines)[0].failed);
    CHECK((*lines)[0].config_epoch == UINT64_MAX);
    CHECK((*lines)[1].ip == "::1");
    CHECK((*lines)[1].slots == 4);
  }
  SECTION("a fresh node does not know its ip; a lost one has no address") {
    const std::string text = id + " :27409@37409 myself,master - 0 0 0 connected\n" + id +
                             " :0@0 slave,noaddr - 0 0 0 disconnected\n";
    const auto lines = parse_nodes_text(text);
    REQUIRE(lines);
    CHECK((*lines)[0].ip.empty());
    CHECK((*lines)[0].port == 27409);
    CHECK((*lines)[1].no_address);
  }
  SECTION("importing") {
    const std::string text = id + " h:1@2 handshake - 0 0 0 connected [77-<-" + id + "]";
    const auto lines = parse_nodes_text(text);
    REQUIRE(lines);
    CHECK((*lines)[0].importing == 1);
    CHECK((*lines)[0].handshake);
  }
  CHECK(parse_nodes_text("")->empty());
  CHECK(parse_nodes_text("\n\n")->empty());
}

TEST_CASE("nodes text: one bad line and nothing of it is used") {
  const std::string id(40, 'a');
  const std::string cases[] = {
      "garbage",
      "OK\n",
      std::string(100, 'a') + " 127.0.0.1:7000@17000 master - 0 0 1 connected",
      id + " 127.0.0.1 master - 0 0 1 connected",
      id + " 127.0.0.1:70000@1 master - 0 0 1 connected",
      id + " 127.0.0.1:7000@17000 master - 0 0 epoch connected",
      id + " 127.0.0.1:7000@17000 master - 0 0",
      id + " 127.0.0.1:7000@17000 master - 0 0 -1 connected",
      id + " 127.0.0.1:7000@17000 master - 0 0 1 connected 0-16384",
      id + " 127.0.0.1:7000@17000 master - 0 0 1 connected 10-5",
      id + " 127.0.0.1:7000@17000 master - 0 0 1 connected x",
      id + " 127.0.0.1:7000@17000 master - 0 0 1 connected [5",
      id + " 127.0.0.1:7000@17000 master - 0 0 1 connected [5]",
  };
  const std::string good = id + " 127.0.0.1:7000@17000 master - 0 0 1 connected\n";
  REQUIRE(parse_nodes_text(good));
  for (const std::string& text : cases) {
    CAPTURE(text);
    CHECK_FALSE(parse_nodes_text(text));
    CHECK_FALSE(parse_nodes_text(good + text + "\n" + good));
  }
}
