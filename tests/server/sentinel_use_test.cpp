// Sentinel mode: reads from replicas, databases, commands over any keys, and looking in.
#include "kit/wait.hpp"
#include "server/sentinel_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// Two good replicas, and some that must not be read from.
struct Replicas : SentinelScene {
  CountingServer good{"slave"};
  CountingServer down{"slave"};
  CountingServer cut{"slave"};
  CountingServer gone{"slave"};

  Replicas() { say(); }
  kit::ScriptedWatch watch() {
    return {.primary = x.address(),
            .epoch = 1,
            .replicas = {{.address = down.address(), .flags = "slave,s_down"},
                         {.address = good.address()},
                         {.address = cut.address(), .link_status = "err"},
                         {.address = gone.address(), .flags = "slave,s_down,disconnected"}}};
  }
  void say() { sentinels.say(watch()); }
  Client reader(ReadFrom how = ReadFrom::replica_preferred) {
    Config c = config();
    c.read_from = how;
    return Client::connect(c);
  }
};

void wait_for_reads_at(const Client& client, const CountingServer& server) {
  kit::wait_until([&] { return client.get("k") == server.endpoint(); }, 5s,
                  "reads at " + server.endpoint());
}

}  // namespace

TEST_CASE("B33: reads go to replicas that are up, connected and in sync") {
  Replicas s;
  const Client client = s.reader();
  wait_for_reads_at(client, s.good);
  for (int i = 0; i < 30; ++i)
    CHECK(client.get("k") == s.good.endpoint());
  for (CountingServer* other : {&s.down, &s.cut, &s.gone})
    CHECK(other->node().accepts() == 0);
  CHECK(client.incr("n") == 1);
  CHECK(s.x.executed() == 1);
  CHECK(s.good.node().count("INCR") == 0);
  for (const auto& connection : s.good.node().connections()) {
    std::size_t i = 0;
    while (i < connection.commands.size() && connection.commands[i].words[0] != "GET" &&
           connection.commands[i].words[0] != "ROLE")
      ++i;
    if (i == connection.commands.size()) continue;  // it is just being made
    CHECK(connection.commands[i].words[0] == "ROLE");
    for (const auto& command : connection.commands)
      CHECK(command.words[0] != "READONLY");  // that is for clusters
  }
}

TEST_CASE("B32: a replica whose ROLE is master is not read from") {
  Replicas s;
  s.good.promote();  // somebody took it out by hand
  const Client client = s.reader();
  s.good.node().wait_for({"ROLE"});
  for (int i = 0; i < 30; ++i)
    CHECK(client.get("k") == s.x.endpoint());
  CHECK(s.good.node().count("GET") == 0);
}

TEST_CASE("reads fall back to the primary when no replica is fit") {
  Replicas s;
  const Client client = s.reader();
  wait_for_reads_at(client, s.good);
  SECTION("it dies") {
    s.good.die();
    for (int i = 0; i < 20; ++i)
      CHECK(client.get("k") == s.x.endpoint());
  }
  SECTION("it has lost its primary") {
    s.good.node().always({"GET"}, resp::error("MASTERDOWN Link with MASTER is down"));
    for (int i = 0; i < 20; ++i)
      CHECK(client.get("k") == s.x.endpoint());
  }
  SECTION("the sentinels call it down") {
    auto watch = s.watch();
    watch.replicas[1].flags = "slave,s_down";
    s.sentinels.say(watch);
    REQUIRE(client.refresh());
    for (int i = 0; i < 20; ++i)
      CHECK(client.get("k") == s.x.endpoint());
    s.say();
    REQUIRE(client.refresh());
    wait_for_reads_at(client, s.good);
  }
}

TEST_CASE("replicas are read while there is no primary") {
  Replicas s;
  const Client client = s.reader();
  wait_for_reads_at(client, s.good);
  s.x.die();
  kit::wait_until([&] { return primary_of(client).empty(); }, 2s, "the loss to be noticed");
  for (int i = 0; i < 20; ++i)
    CHECK(client.get("k") == s.good.endpoint());
  const Error e = error_of([&] { return client.with({.timeout = 400ms}).incr("n"); });
  INFO(e.what());
  CHECK(e.code() == ErrorCode::connect_failed);
}

TEST_CASE(
    "a promoted replica takes writes on a connection that said so, and is no reader any more") {
  Replicas s;
  const Client client = s.reader();
  wait_for_reads_at(client, s.good);
  s.good.promote();
  s.x.demote();
  s.sentinels.say(
      {.primary = s.good.address(), .epoch = 2, .replicas = {{.address = s.x.address()}}});
  REQUIRE(client.refresh());
  CHECK(client.incr("n") == 1);
  CHECK(s.good.executed() == 1);
  CHECK(s.good.unchecked_writes() == 0);
  wait_for_reads_at(client, s.x);  // it is a replica now
}

TEST_CASE("a numbered database is chosen on every connection") {
  SentinelScene s;
  Config config = s.config();
  config.database = 3;
  const Client client = Client::connect(config);
  for (int i = 0; i < 100; ++i)
    CHECK(client.incr("n") == 1);
  CHECK(client.async().incr("n").get() == 1);
  s.fail_over();
  REQUIRE(client.refresh());
  CHECK(client.incr("n") == 1);
  for (CountingServer* server : {&s.x, &s.y}) {
    for (const auto& connection : server->node().connections()) {
      bool selected = false;
      for (const auto& command : connection.commands) {
        selected = selected || command.words == Command{"SELECT", "3"};
        if (command.words[0] == "INCR") CHECK(selected);
      }
    }
  }
  s.y.node().always({"SWAPDB"}, resp::simple("OK"));
  CHECK(client.command<std::string>("SWAPDB", "3", "4") == "OK");
}

TEST_CASE("nothing of the cluster's limits: any keys in one command, in one script") {
  SentinelScene s;
  ScriptedNode& x = s.x.node();
  x.always({"MGET"}, resp::bulks({"1", "2", "3"}));
  x.always({"MSET"}, resp::simple("OK"));
  x.always({"DEL"}, resp::integer(3));
  x.always({"RENAME"}, resp::simple("OK"));
  x.always({"EVAL"}, resp::integer(7));
  x.always({"EVALSHA"}, resp::error("NOSCRIPT No matching script."));
  x.always({"SCAN"}, resp::array({resp::bulk("0"), resp::bulks({"a"})}));
  const Client client = s.client();
  CHECK(client.mget({"a", "b", "c"}).size() == 3);
  CHECK(x.commands({"MGET"}).at(0).words == Command{"MGET", "a", "b", "c"});
  client.mset({{"a", "1"}, {"b", "2"}});
  CHECK(x.count("MSET") == 1);
  CHECK(client.del({"a", "b", "c"}) == 3);
  CHECK(x.count("DEL") == 1);
  CHECK(client.command<std::string>("RENAME", "a", "b") == "OK");
  CHECK(client.command<std::int64_t>("EVAL", "return 7", "2", "a", "b") == 7);
  const Script script("return 7");
  CHECK(client.eval<std::int64_t>(script, {"a", "b"}) == 7);
  (void)client.command("SCAN", "0");
  CHECK(x.count("CLUSTER") == 0);
  CHECK(x.count("READONLY") == 0);
}

TEST_CASE("refresh() asks the sentinels, and topology() tells what they say") {
  Replicas s;
  const Client client = s.client();
  const std::size_t asked = s.sentinels[0].node().count("SENTINEL", "MASTER");
  REQUIRE(client.refresh());
  // The others may have answered before this one has read the question.
  kit::wait_until([&] { return s.sentinels[0].node().count("SENTINEL", "MASTER") > asked; },
                  std::chrono::seconds(5), "the sentinel being asked");
  TopologyInfo info = client.topology();
  CHECK(info.mode == Mode::sentinel);
  CHECK(info.covered_slots == 16384);
  REQUIRE(info.nodes.size() == 5);
  CHECK(info.nodes[0].endpoint == s.x.endpoint());
  CHECK(info.nodes[0].primary);
  CHECK(info.nodes[0].config_epoch == 1);
  int healthy = 0;
  for (std::size_t i = 1; i < info.nodes.size(); ++i) {
    CHECK_FALSE(info.nodes[i].primary);
    healthy += info.nodes[i].healthy ? 1 : 0;
    if (info.nodes[i].healthy) CHECK(info.nodes[i].endpoint == s.good.endpoint());
  }
  CHECK(healthy == 1);

  s.fail_over();
  REQUIRE(client.refresh());
  wait_for_primary(client, s.y);
  info = client.topology();
  CHECK(info.nodes.size() == 1);
  CHECK(info.nodes[0].config_epoch == 2);

  s.sentinels.stop_listening();
  for (std::size_t i = 0; i < 3; ++i)
    s.sentinels[i].node().close_all();
  const auto start = Clock::now();
  const auto result = client.refresh();
  REQUIRE_FALSE(result);
  CHECK(ms_since(start) < 7000);
  CHECK(primary_of(client) == s.y.endpoint());  // it is still good
}

TEST_CASE("refresh() does well while a minority of the sentinels is left") {
  SentinelScene s;
  const Client client = s.client();
  for (std::size_t i = 1; i < 3; ++i) {
    s.sentinels[i].node().stop_listening();
    s.sentinels[i].node().close_all();
  }
  const auto start = Clock::now();
  CHECK(client.refresh().has_value());
  CHECK(ms_since(start) < 3000);
  CHECK(client.incr("n") == 1);
  CHECK(primary_of(client) == s.x.endpoint());
}

TEST_CASE("close() while the primary is being looked for ends at once") {
  SentinelScene s;
  Client client = s.client(60s);
  CHECK(client.incr("n") == 1);
  s.x.die();
  SECTION("sentinels that do not answer") {
    for (std::size_t i = 0; i < 3; ++i)
      s.sentinels[i].node().mute(true);
  }
  SECTION("sentinels that are gone") {
    s.sentinels.stop_listening();
    for (std::size_t i = 0; i < 3; ++i)
      s.sentinels[i].node().close_all();
  }
  SECTION("a primary that cannot be reached") {}
  kit::wait_until([&] { return primary_of(client).empty(); }, 2s, "the loss to be noticed");
  auto task = client.async().incr("n");
  const std::uint64_t rounds = client.stats().refreshes;
  kit::wait_until([&] { return client.stats().refreshes > rounds; }, 5s, "one more round");
  const auto start = Clock::now();
  client.close();
  CHECK(ms_since(start) < 500);
  const auto result = task.wait();
  REQUIRE_FALSE(result);
  CHECK(result.error().code() == ErrorCode::cancelled);
  CHECK(result.error().outcome() == Outcome::not_sent);
}
