// What the kit reads and writes as text: CLUSTER NODES, configuration files, URIs, replies.
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "kit/cluster_view.hpp"
#include "kit/config_file.hpp"
#include "kit/connection.hpp"
#include "kit/error.hpp"
#include "kit/lab.hpp"
#include "kit/temp_dir.hpp"
#include "kit/uri.hpp"
#include "kit/wait.hpp"

namespace kit = slotwise::kit;
using namespace std::chrono_literals;

TEST_CASE("CLUSTER NODES in all its forms") {
  const auto view = kit::ClusterView::parse(
      "aa 127.0.0.1:7000@17000,n1.lab.test,shard-id=xx myself,master - 0 0 3 connected 0-5 7 "
      "[93->-bb] [94-<-cc]\n"
      "bb 127.0.0.2:7001@17001 slave,fail? aa 0 0 3 disconnected\n"
      "cc ::1:7002@17002,,tls-port=0 master - 0 0 4 connected 10-16383\n"
      "dd :0@0 noaddr,master - 0 0 0 disconnected\n"
      "vars currentEpoch 6 lastVoteEpoch 0\n");
  REQUIRE(view.nodes.size() == 4);
  const auto* a = view.find("aa");
  REQUIRE(a != nullptr);
  CHECK(a->myself());
  CHECK(a->is_primary());
  CHECK(a->hostname == "n1.lab.test");
  CHECK(a->port == 7000);
  CHECK(a->bus_port == 17000);
  CHECK(a->slots == std::vector<kit::SlotRange>{{0, 5}, {7, 7}});
  CHECK(a->migrating.at(93) == "bb");
  CHECK(a->importing.at(94) == "cc");
  CHECK(view.find("bb")->primary_id == "aa");
  CHECK(view.find("bb")->in_trouble());
  CHECK(view.find("cc")->host == "::1");
  CHECK(view.find("cc")->hostname.empty());
  CHECK(view.find("zz") == nullptr);
  CHECK(view.owners()[7]->id == "aa");
  CHECK(view.owners()[6] == nullptr);
  CHECK(view.owners()[16383]->id == "cc");
  CHECK_THROWS_AS(kit::ClusterView::parse("nonsense"), kit::Error);
  CHECK(kit::to_ranges({1, 2, 3, 7, 9, 10}) ==
        std::vector<kit::SlotRange>{{1, 3}, {7, 7}, {9, 10}});
}

TEST_CASE("a configuration file keeps what it is not asked to change") {
  const kit::TempDir dir;
  const kit::ConfigFile file(dir.path() / "server.conf");
  file.write({{"port", "1"}, {"user", "a on"}, {"user", "b on"}, {"save", "\"\""}});
  file.set("port", "2");
  file.set("bind", "127.0.0.1");
  CHECK(file.get("port") == "2");
  CHECK(file.get("bind") == "127.0.0.1");
  CHECK_FALSE(file.get("none"));
  CHECK(file.read().size() == 5);
  file.drop("user");
  CHECK(file.read().size() == 3);
  CHECK(kit::config_word("plain") == "plain");
  CHECK(kit::config_word("with space\"") == "\"with space\\\"\"");
  CHECK(kit::config_word("") == "\"\"");
  for (const char* text : {"", "plain", "with space\"", "back\\slash "}) {
    CHECK(kit::config_text(kit::config_word(text)) == text);
  }
}

TEST_CASE("URIs are percent-encoded") {
  CHECK(kit::make_uri({.hosts = {"a:1"}}) == "valkey://a:1");
  CHECK(kit::make_uri({.scheme = "cluster",
                       .tls = true,
                       .user = "app",
                       .password = "p@s/s %",
                       .hosts = {"a:1", "b:2"},
                       .options = {{"ca", "/x y"}, {"db", "1"}}}) ==
        "valkeys+cluster://app:p%40s%2Fs%20%25@a:1,b:2?ca=/x%20y&db=1");
  CHECK(kit::make_uri({.scheme = "sentinel", .password = "x", .hosts = {"a:1"}, .path = "m"}) ==
        "valkey+sentinel://:x@a:1/m");
}

TEST_CASE("replies say what they are when they are not what was asked for") {
  kit::Reply reply;
  reply.type = kit::Reply::Type::array;
  reply.items.resize(2);
  reply.items[0].type = kit::Reply::Type::string;
  reply.items[0].text = "role";
  reply.items[1].type = kit::Reply::Type::string;
  reply.items[1].text = "12";
  CHECK(reply.at("role").num() == 12);
  CHECK(reply.find("none") == nullptr);
  CHECK(reply.to_string() == "['role', '12']");
  CHECK_THROWS_AS(reply.str(), kit::Error);
  CHECK_THROWS_AS(reply.at(2), kit::Error);
  CHECK_THROWS_AS(reply.at(0).num(), kit::Error);
}

TEST_CASE("waiting ends at once, at the limit, or with the condition's own error") {
  int calls = 0;
  kit::wait_until([&] { return ++calls == 3; }, 5s, "three calls");
  CHECK(calls == 3);
  CHECK_FALSE(kit::wait_for([] { return false; }, 20ms));
  try {
    kit::wait_until([] { return false; }, 20ms, "the sun to rise");
    FAIL("no exception");
  } catch (const kit::Error& error) {
    CHECK(std::string(error.what()) == "waited 20 ms for the sun to rise");
  }
  CHECK_THROWS_AS(kit::wait_until([]() -> bool { throw std::logic_error("own"); }, 1s, "nothing"),
                  std::logic_error);
}

TEST_CASE("signals are known by name and number") {
  CHECK(kit::signal_number("KILL") == 9);
  CHECK(kit::signal_number("sigterm") == 15);
  CHECK(kit::signal_number("19") == 19);
  CHECK_THROWS_AS(kit::signal_number("NONSENSE"), kit::Error);
  CHECK_THROWS_AS(kit::signal_number("0"), kit::Error);
}

TEST_CASE("a folder without a lab is left alone") {
  const kit::TempDir dir;
  std::ofstream(dir.path() / "precious") << "x";
  CHECK_THROWS_AS(kit::Lab::open(dir.path()), kit::Error);
  CHECK_THROWS_AS(kit::Lab::down(dir.path()), kit::Error);
  CHECK_THROWS_AS(kit::Lab::up({.dir = dir.path()}), kit::Error);
  CHECK_THROWS_AS(kit::Lab::up({.dir = dir.path() / "x", .primaries = 3, .sentinels = 3}),
                  kit::Error);
  CHECK(std::filesystem::exists(dir.path() / "precious"));
}
