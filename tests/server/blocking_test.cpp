// Theme 9: blocking commands have connections of their own, and time of their own.
#include <thread>

#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("B47: the server's waiting time is not the client's timeout") {
  kit::Cluster cluster({.primaries = 3});
  Config config = Config::parse(cluster.uri());
  config.timeout = 200ms;
  config.attempt_timeout = 200ms;
  const Client client = Client::connect(config);

  const auto timed = [&](auto&& call) {
    const auto start = Clock::now();
    call();
    return ms_since(start);
  };
  SECTION("an empty list: nil when the server says so") {
    Reply reply;
    CHECK(timed([&] { reply = client.command("BLPOP", "q", 1); }) >= 950);
    CHECK(reply.is_nil());
    CHECK(timed([&] { reply = client.command("BLPOP", "q", "0.5"); }) >= 480);
    CHECK(reply.is_nil());
    CHECK(timed([&] { reply = client.command("BLMPOP", "0.4", 1, "q", "LEFT"); }) >= 380);
    CHECK(reply.is_nil());
    CHECK(timed([&] { reply = client.command("BZPOPMIN", "z", "0.4"); }) >= 380);
    CHECK(timed([&] { reply = client.command("XREAD", "BLOCK", 400, "STREAMS", "s", "$"); }) >=
          380);
    CHECK(reply.is_nil());
  }
  SECTION("0 waits for ever: the element comes, and others are not held up") {
    std::thread pusher([&] {
      for (int i = 0; i < 20; ++i) {
        (void)client.get("q2");
        (void)client.dbsize();
      }
      kit::wait_until(
          [&] {
            return cluster.server(cluster.owner_of_key("q"))
                       .command("INFO", "clients")
                       .str()
                       .find("blocked_clients:1") != std::string::npos;
          },
          5s, "the blocked client");
      (void)client.command("RPUSH", "q", "x");
    });
    const auto reply = client.command<std::vector<std::string>>("BLPOP", "q", 0);
    pusher.join();
    REQUIRE(reply.size() == 2);
    CHECK(reply[1] == "x");
  }
  SECTION("giving up closes the connection, so that the element stays") {
    const Error e =
        error_of([&] { return client.with({.timeout = 300ms}).command("BLPOP", "q", 0); });
    CHECK(e.outcome() == Outcome::unknown);
    auto& server = cluster.server(cluster.owner_of_key("q"));
    kit::wait_until(
        [&] {
          return server.command("INFO", "clients").str().find("blocked_clients:0") !=
                 std::string::npos;
        },
        5s, "the server to drop the waiter");
    (void)client.command("RPUSH", "q", "x");
    CHECK(client.command<int>("LLEN", "q") == 1);
  }
}

TEST_CASE("B49: two replies for one blocking command") {
  Pair n;
  const Client client = n.client();
  const std::string moved = n.moved_to_b(7629);
  n.a.on({"BLPOP"}, {moved + moved});
  n.b.always({"BLPOP"}, resp::bulks({"k", "v"}));
  n.a.always({"GET"}, resp::bulk("g"));
  CHECK(client.command<std::vector<std::string>>("BLPOP", "k", 1)[1] == "v");
  for (int i = 0; i < 5; ++i)
    CHECK(client.get("foo") == "g");
}

TEST_CASE("commands that change a connection are refused, and say what to use") {
  Pair n;
  const Client client = n.client();
  for (const char* name : {"MULTI", "EXEC", "WATCH", "SUBSCRIBE", "SSUBSCRIBE", "MONITOR", "RESET",
                           "QUIT", "SELECT", "ASKING", "READONLY", "HELLO", "AUTH"}) {
    CAPTURE(name);
    const Error e = error_of([&] { return client.command(name, "1"); });
    CHECK(e.code() == ErrorCode::refused);
    CHECK(e.outcome() == Outcome::not_sent);
    CHECK(e.message().starts_with(name));
  }
  CHECK(n.a.count("MULTI") + n.a.count("MONITOR") == 0);
}
