#include "kit/scripted_sentinel.hpp"

#include <catch2/catch_test_macros.hpp>

namespace kit = slotwise::kit;

TEST_CASE("a scripted sentinel says what it was told, in both protocols") {
  kit::ScriptedSentinels sentinels(3);
  sentinels.say({.primary = {"127.0.0.1", 7001},
                 .epoch = 5,
                 .replicas = {{.address = {"127.0.0.1", 7002}, .flags = "slave,s_down"}}});
  for (const bool resp3 : {false, true}) {
    CAPTURE(resp3);
    kit::Connection connection(sentinels[0].node().address(), {.resp3 = resp3});
    const auto ask = [&](const char* what) {
      return connection.command("SENTINEL", what, "mymaster");
    };
    CHECK(connection.command("SENTINEL", "MYID").str() == sentinels[0].node().id());
    CHECK(ask("GET-MASTER-ADDR-BY-NAME").at(1).str() == "7001");
    const auto master = ask("MASTER");
    CHECK(master.type == (resp3 ? kit::Reply::Type::map : kit::Reply::Type::array));
    CHECK(master.at("config-epoch").str() == "5");
    CHECK(master.at("num-other-sentinels").str() == "2");
    REQUIRE(ask("SENTINELS").items.size() == 2);
    CHECK(ask("SENTINELS").at(0).at("runid").str() == sentinels[1].node().id());
    CHECK(ask("REPLICAS").at(0).at("flags").str() == "slave,s_down");
    CHECK(connection.try_command("SENTINEL", "MASTER", "other").is_error("ERR"));
  }
  sentinels[0].say_unknown();
  kit::Connection connection(sentinels[0].node().address(), {.resp3 = true});
  CHECK(connection.try_command("SENTINEL", "MASTER", "mymaster").is_error("ERR"));
}

TEST_CASE("a scripted sentinel tells its subscribers") {
  kit::ScriptedSentinel sentinel;
  kit::Connection connection(sentinel.node().address(), {.resp3 = true});
  connection.send({"SUBSCRIBE", "+switch-master", "+sdown"});
  CHECK(connection.read().at(2).num() == 1);
  CHECK(connection.read().at(1).str() == "+sdown");
  sentinel.publish("+switch-master", "mymaster a 1 b 2");
  CHECK(connection.read().at(2).str() == "mymaster a 1 b 2");
}
