#include <catch2/catch_test_macros.hpp>
#include <string>

#include "cli/doctor/facts.hpp"
#include "cli/doctor/picture.hpp"

using namespace slotwise::cli;

TEST_CASE("CLUSTER NODES as text") {
  const auto members = parse_members(
      "id1 127.0.0.1:30004@31004,host1.test slave id2 0 1426238317239 4 connected\n"
      "id2 127.0.0.1:30001@31001,,shard-id=x myself,master - 0 0 1 connected 0-5460 5462 "
      "[93-<-id1]\r\n"
      "id3 2001:db8::1:6379@16379 master,fail? - 0 0 3 disconnected 5461\n"
      "id4 :0@0 master,noaddr - 0 0 0 disconnected\n"
      "nonsense\n"
      "id5 1.2.3.4:1@2 master - 0 0 0 connected 9999-99999 7-3 x\n");
  REQUIRE(members.size() == 5);
  CHECK(members[0].hostname == "host1.test");
  CHECK(members[0].address() == "host1.test:30004");
  CHECK(members[0].primary_id == "id2");
  CHECK_FALSE(members[0].is_primary());
  CHECK(members[1].hostname.empty());
  CHECK(members[1].has("myself"));
  CHECK(members[1].slots == std::vector<std::pair<int, int>>{{0, 5460}, {5462, 5462}});
  CHECK(members[1].open_slots == 1);
  CHECK(members[2].ip == "2001:db8::1");
  CHECK(members[2].address() == "[2001:db8::1]:6379");
  CHECK(members[2].has("fail?"));
  CHECK_FALSE(members[2].link_up);
  CHECK(members[3].port == 0);
  CHECK(members[4].slots.empty());
}

TEST_CASE("INFO as text") {
  const auto info =
      parse_info("# Server\r\nredis_version:7.2.4\r\n\r\nname:a:b\r\nempty:\r\nx\r\n");
  CHECK(info.size() == 3);
  CHECK(info.at("redis_version") == "7.2.4");
  CHECK(info.at("name") == "a:b");
  CHECK(info.at("empty").empty());
  CHECK(part_of("ip=127.0.0.1,port=7001,state=online", "state") == "online");
  CHECK(part_of("keys=12,expires=0", "keys") == "12");
  CHECK(part_of("keys=12", "key").empty());
  CHECK(part_of("", "x").empty());
  CHECK(is_address("10.0.0.1"));
  CHECK(is_address("::1"));
  CHECK_FALSE(is_address("n1.lab.test"));
}

TEST_CASE("lists for a person") {
  CHECK(listed({}).empty());
  CHECK(listed({"a"}) == "a");
  CHECK(listed({"a", "b", "c"}) == "a, b and c");
  CHECK(listed({"a", "b", "c", "d", "e"}) == "a, b, c, d and e");
  CHECK(listed({"a", "b", "c", "d", "e", "f"}) == "a, b, c, d and 2 more");
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(2, "node") == "2 nodes");
  CHECK(bytes_text(1U << 30) == "1.0 GB");
}
