#include "kit/scripted_node.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "kit/error.hpp"
#include "kit/wait.hpp"

using namespace std::chrono_literals;
namespace kit = slotwise::kit;
namespace resp = slotwise::kit::resp;

namespace {

kit::Connection connect(const kit::ScriptedNode& node, kit::ConnectionOptions options = {}) {
  return kit::Connection(node.address(), std::move(options));
}

auto elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::steady_clock::now() - start;
}

}  // namespace

TEST_CASE("a scripted node is polite by default") {
  kit::ScriptedNode node;
  auto connection = connect(node, {.resp3 = true});
  CHECK(connection.command("PING").str() == "PONG");
  CHECK(connection.command("CLIENT", "SETINFO", "LIB-NAME", "x").str() == "OK");
  CHECK(connection.command("CLUSTER", "MYID").str() == node.id());
  CHECK(node.id().size() == 40);
  CHECK(connection.command("READONLY").str() == "OK");
  CHECK(connection.command("ROLE").at(0).str() == "master");
  CHECK(connection.try_command("GET", "foo").text ==
        "ERR scripted node has no answer to 'GET foo'");
  CHECK(node.connection(1).resp3);
}

TEST_CASE("scripted nodes tell one map in both protocols") {
  kit::ScriptedCluster cluster(3);
  auto two = connect(cluster[0]);
  auto three = connect(cluster[1], {.resp3 = true});
  const auto slots2 = two.command("CLUSTER", "SLOTS");
  const auto slots3 = three.command("CLUSTER", "SLOTS");
  REQUIRE(slots2.items.size() == 3);
  CHECK(slots2.at(0).at(1).num() == 5460);
  CHECK(slots2.at(1).at(0).num() == 5461);
  CHECK(slots2.at(2).at(0).num() == 10923);
  CHECK(slots2.at(2).at(2).at(1).num() == cluster[2].port());
  CHECK(slots2.at(2).at(2).at(3).type == kit::Reply::Type::array);
  CHECK(slots3.at(2).at(2).at(3).type == kit::Reply::Type::map);
  CHECK(three.command("CLUSTER", "SHARDS").at(0).at("slots").at(1).num() == 5460);
  CHECK(two.command("CLUSTER", "NODES").str().find("myself,master") != std::string::npos);

  cluster.map().set({});
  CHECK(two.command("CLUSTER", "SLOTS").items.empty());
}

TEST_CASE("scripts: one-time before lasting, more words before fewer, then the default") {
  kit::ScriptedNode node;
  node.on({"GET", "foo"}, {resp::error("MOVED 12182 :7001"), resp::bulk("1")});
  node.always({"GET"}, resp::bulk("any"));
  node.handle({"SET"}, [](int, const kit::Command& command) -> std::optional<kit::ScriptedReply> {
    if (command.size() != 3) return std::nullopt;
    return resp::bulk(command[2]);
  });
  auto connection = connect(node);
  CHECK(node.scripts_left() == 2);
  CHECK(connection.try_command("get", "foo").is_error("MOVED"));
  CHECK(connection.command("GET", "bar").str() == "any");
  CHECK(connection.command("GET", "foo").str() == "1");
  CHECK(connection.command("GET", "foo").str() == "any");
  CHECK(connection.command("SET", "k", "v").str() == "v");
  CHECK(connection.try_command("SET", "k").is_error("ERR"));
  CHECK(node.scripts_left() == 0);
  CHECK(node.count("GET") == 4);
  CHECK(node.count("GET", "foo") == 3);

  const auto record = node.connection(1);
  REQUIRE(record.commands.size() == 6);
  CHECK(record.commands[4].words == kit::Command{"SET", "k", "v"});
  CHECK(record.commands[0].when <= record.commands[5].when);
}

TEST_CASE("containers match their sub-command in any case, keys exactly") {
  CHECK(kit::begins_with({"cluster", "slots"}, {"CLUSTER", "SLOTS"}));
  CHECK(kit::begins_with({"GET", "foo"}, {"get"}));
  CHECK_FALSE(kit::begins_with({"GET", "foo"}, {"GET", "FOO"}));
  CHECK_FALSE(kit::begins_with({"GET"}, {"GET", "foo"}));
}

TEST_CASE("replies can be late, in pieces, cut and silent") {
  kit::ScriptedNode node;
  node.on({"A"}, {kit::ScriptedReply(resp::bulk("late")).delayed(60ms)});
  node.on({"B"}, {kit::ScriptedReply(resp::bulk("pieces")).byte_by_byte()});
  node.on({"C"}, {kit::ScriptedReply(resp::bulk("cut")).cut_after(3)});

  auto connection = connect(node);
  const auto start = std::chrono::steady_clock::now();
  const auto replies = connection.pipeline({{"A"}, {"PING"}, {"B"}});
  CHECK(elapsed_since(start) >= 60ms);
  CHECK(replies[0].str() == "late");
  CHECK(replies[1].str() == "PONG");  // not before the one that came first
  CHECK(replies[2].str() == "pieces");
  CHECK_THROWS_AS(connection.command("C"), kit::Error);

  node.on({"D"}, {kit::ScriptedReply::silent(), kit::ScriptedReply::hang_up()});
  auto other = connect(node, {.command_limit = 100ms});
  CHECK_THROWS_AS(other.command("D"), kit::Error);
  auto third = connect(node);
  CHECK_THROWS_AS(third.command("D"), kit::Error);
  kit::wait_until([&] { return node.open_connections() == 0; }, 2s, "all connections to close");
  CHECK(node.accepts() == 3);
}

TEST_CASE("pushes come when the test says so") {
  kit::ScriptedNode node;
  const auto push = resp::push({resp::bulk("invalidate"), resp::array({resp::bulk("k")})});
  node.handle({"GET"}, [&](int connection, const kit::Command&) {
    node.send(connection, push);
    return resp::bulk("v");
  });
  auto connection = connect(node, {.resp3 = true});
  CHECK(connection.command("GET", "k").str() == "v");  // the push came before and was skipped
  node.send(0, push);
  CHECK(connection.read().at(0).str() == "invalidate");
}

TEST_CASE("connections can be closed and refused") {
  kit::ScriptedNode node;
  auto connection = connect(node);
  CHECK(connection.command("PING").str() == "PONG");
  node.stop_listening();
  CHECK_THROWS_AS(connect(node), kit::Error);
  CHECK(connection.command("PING").str() == "PONG");
  node.listen_again();
  CHECK(connect(node).command("PING").str() == "PONG");
  node.close_all(true);
  CHECK_THROWS_AS(connection.command("PING"), kit::Error);

  for (int round = 0; round < 20; ++round) {
    node.stop_listening();
    CHECK_THROWS_AS(connect(node), kit::Error);
    node.listen_again();
    CHECK(connect(node).command("PING").str() == "PONG");
  }
}

TEST_CASE("a muted node hears and does not answer") {
  kit::ScriptedNode node;
  auto connection = connect(node, {.command_limit = 80ms});
  CHECK(connection.command("PING").str() == "PONG");
  node.mute(true);
  CHECK_THROWS_AS(connection.command("PING"), kit::Error);
  CHECK(node.count("PING") == 2);
  node.mute(false);
  CHECK(connect(node).command("PING").str() == "PONG");
}

TEST_CASE("credentials are asked for as a server does") {
  kit::ScriptedNode node;
  CHECK_THROWS_AS(connect(node, {.password = "x"}), kit::Error);  // no password configured
  node.require_auth("app", "secret");
  CHECK(connect(node).try_command("PING").is_error("NOAUTH"));
  CHECK(connect(node).try_command("HELLO", "3").is_error("NOAUTH"));
  CHECK_THROWS_AS(connect(node, {.user = "app", .password = "wrong"}), kit::Error);
  CHECK(connect(node, {.user = "app", .password = "secret"}).command("PING").str() == "PONG");
  CHECK(connect(node, {.user = "app", .password = "secret", .resp3 = true}).command("PING").str() ==
        "PONG");
}

TEST_CASE("HELLO can be refused, and what is not RESP is kept") {
  kit::ScriptedNode node;
  node.refuse_hello(resp::error("ERR unknown command 'HELLO'"));
  auto connection = connect(node);
  CHECK(connection.try_command("HELLO", "3").is_error("ERR"));
  CHECK_FALSE(node.connection(1).resp3);

  auto tls = std::make_shared<kit::ClientTls>();
  CHECK_THROWS_AS(connect(node, {.tls = tls, .command_limit = 100ms}), kit::Error);
  CHECK(node.connection(2).garbage.starts_with("\x16\x03"));
}

TEST_CASE("commands in any pieces are parsed") {
  const std::string bytes = resp::command({"SET", "a", std::string("x\r\n\0y", 5)}) +
                            resp::command({"PING"}) + resp::command({"GET", ""});
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    kit::CommandParser parser;
    std::vector<kit::Command> got;
    for (const auto part :
         {std::string_view(bytes).substr(0, cut), std::string_view(bytes).substr(cut)}) {
      parser.feed(part);
      while (auto command = parser.next())
        got.push_back(*command);
    }
    REQUIRE(got.size() == 3);
    CHECK(got[0][2].size() == 5);
    CHECK(got[2] == kit::Command{"GET", ""});
    CHECK(parser.garbage().empty());
  }
  kit::CommandParser parser;
  parser.feed(resp::command({"PING"}) + "GET / HTTP/1.1\r\n");
  CHECK(parser.next());
  CHECK_FALSE(parser.next());
  CHECK(parser.garbage() == "GET / HTTP/1.1\r\n");
}

TEST_CASE("many clients at once, while the script changes") {
  kit::ScriptedNode node;
  node.always({"GET"}, resp::bulk("v"));
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      auto connection = connect(node);
      for (int n = 0; n < 200; ++n)
        connection.command("GET", n);
    });
  }
  for (int n = 0; n < 50; ++n) {
    node.always({"GET"}, resp::bulk("w"));
    node.send(0, "");
    CHECK(node.open_connections() <= 8);
  }
  for (auto& client : clients)
    client.join();
  CHECK(node.count("GET") == 1600);
  node.reset_counts();
  CHECK(node.commands().empty());
}
