// Theme 6: whom sentinels name, what their answers look like, and what is said when nobody can be
// found. Scripted sentinels say what real ones cannot be made to say.
#include <catch2/generators/catch_generators.hpp>
#include <future>

#include "server/sentinel_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("sentinels: the primary that they name is used, over connections that told their ROLE") {
  SentinelScene s;
  const Client client = s.client();
  for (int i = 0; i < 30; ++i)
    CHECK(client.incr("n") == 1);
  CHECK(s.x.executed() == 30);
  CHECK(s.x.unchecked_writes() == 0);
  CHECK(s.y.node().accepts() == 0);
  CHECK(primary_of(client) == s.x.endpoint());
}

TEST_CASE("B32: a stale sentinel is not believed") {
  SentinelScene s;
  s.y.promote();
  SECTION("the old primary is a replica by now") {
    s.x.demote();
  }
  SECTION("it is cut off together with that sentinel, and still takes writes") {}
  s.name(s.y, 2);
  s.sentinels[0].say({.primary = s.x.address(), .epoch = 1});
  const Client client = s.client();
  for (int i = 0; i < 10; ++i)
    CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 10);
  CHECK(s.x.node().accepts() == 0);
}

TEST_CASE("B32: of two sentinels one is stale: the newer epoch is believed") {
  SentinelScene s;
  kit::ScriptedSentinels two(2);
  const bool alive = GENERATE(true, false);
  CAPTURE(alive);
  if (!alive) s.x.demote();
  s.y.promote();
  two[0].say({.primary = s.x.address(), .epoch = 1});
  two[1].say({.primary = s.y.address(), .epoch = 2});
  Config config = s.config();
  config.endpoints = {{two[0].node().host(), two[0].node().port()},
                      {two[1].node().host(), two[1].node().port()}};
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);
  CHECK(s.x.node().accepts() == 0);
}

TEST_CASE("B32: a server that says ROLE slave gets nothing, and the sentinels are asked again") {
  SentinelScene s;
  s.x.demote();
  const auto start = Clock::now();
  auto result = std::async(std::launch::async, [&] { return s.client(10s).incr("n"); });
  s.x.node().wait_for({"ROLE"}, 3);
  CHECK(ms_since(start) >= 200);  // with pauses
  s.fail_over();
  CHECK(result.get() == 1);
  CHECK(s.y.executed() == 1);
  CHECK(s.x.node().count("INCR") == 0);
  CHECK(s.x.node().accepts() < 12);
}

TEST_CASE("B32: all name the demoted server for a while, and a client that is at work waits") {
  SentinelScene s;
  const Client client = s.client();
  CHECK(client.incr("n") == 1);
  s.x.demote();
  auto task = client.async().incr("n");
  const std::size_t roles = s.x.node().count("ROLE");
  s.x.node().wait_for({"ROLE"}, roles + 2);
  CHECK(s.x.executed() == 1);
  s.fail_over();
  CHECK(task.get() == 1);
  CHECK(s.x.node().count("INCR") == 2);  // the one that READONLY answered
  CHECK(s.y.executed() == 1);
}

TEST_CASE("B32: AUTH comes before ROLE, in one write") {
  SentinelScene s;
  s.x.node().require_auth("app", "secret");
  Config config = s.config();
  config.credentials = {"app", "secret"};
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  for (const auto& connection : s.x.node().connections()) {
    if (connection.commands.empty()) continue;  // it is just being made
    CHECK(connection.commands[0].words == Command{"HELLO", "3", "AUTH", "app", "secret"});
    std::size_t role = 0;
    while (role < connection.commands.size() && connection.commands[role].words[0] != "ROLE")
      ++role;
    REQUIRE(role < connection.commands.size());
    for (std::size_t i = 1; i < role; ++i)
      CHECK(connection.commands[i].words[0] == "CLIENT");
  }
}

// --- credentials ------------------------------------------------------------------------------

TEST_CASE("B29: sentinels and servers have passwords of their own, and none hears the other's") {
  SentinelScene s;
  const bool sentinels_with = GENERATE(true, false);
  CAPTURE(sentinels_with);
  if (sentinels_with) {
    for (std::size_t i = 0; i < 3; ++i)
      s.sentinels[i].node().require_auth("", "for-sentinels");
  }
  s.x.node().require_auth("app", "for-servers");
  s.y.node().require_auth("app", "for-servers");
  Config config = s.config();
  config.credentials = {"app", "for-servers"};
  if (sentinels_with) config.sentinel_credentials = {"", "for-sentinels"};
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  s.fail_over();
  CHECK(client.refresh().has_value());
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);

  const auto heard = [](const ScriptedNode& node, const std::string& word) {
    for (const auto& command : node.commands()) {
      for (const auto& part : command.words) {
        if (contains(part, word)) return true;
      }
    }
    return false;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_FALSE(heard(s.sentinels[i].node(), "for-servers"));
    CHECK_FALSE(heard(s.sentinels[i].node(), "app"));
    if (!sentinels_with) CHECK(s.sentinels[i].node().count("AUTH") == 0);
  }
  CHECK_FALSE(heard(s.x.node(), "for-sentinels"));
  CHECK_FALSE(heard(s.y.node(), "for-sentinels"));
}

TEST_CASE("a refused password: which of the two refused, at once, and without a loop") {
  SentinelScene s;
  const auto start = Clock::now();
  Config config = s.config(10s);
  SECTION("the sentinels") {
    for (std::size_t i = 0; i < 3; ++i)
      s.sentinels[i].node().require_auth("", "for-sentinels");
    SECTION("none was given") {}
    SECTION("a wrong one") {
      config.sentinel_credentials = {"", "bad-secret"};
    }
    const Error e = error_of([&] { return Client::connect(config); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::auth_failed);
    CHECK(contains(e.message(), "sentinel"));
    CHECK_FALSE(contains(e.message(), "the primary"));
    CHECK(contains(e.message(), s.sentinels[2].node().endpoint()));
    CHECK_FALSE(contains(e.message(), "bad-secret"));
    std::size_t tries = 0;
    for (std::size_t i = 0; i < 3; ++i)
      tries += s.sentinels[i].node().accepts();
    CHECK(tries <= 6);
  }
  SECTION("the server") {
    s.x.node().require_auth("app", "for-servers");
    SECTION("none was given") {}
    SECTION("a wrong one") {
      config.credentials = {"app", "bad-secret"};
    }
    const Error e = error_of([&] { return Client::connect(config); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::auth_failed);
    CHECK(contains(e.message(), "the primary " + s.x.endpoint()));
    CHECK(e.node() == s.x.endpoint());
    CHECK_FALSE(contains(e.message(), "bad-secret"));
    CHECK(s.x.node().accepts() <= 2);
  }
  CHECK(ms_since(start) < 3000);
}

// --- errors that differ -------------------------------------------------------------------------

TEST_CASE("no sentinel can be reached: each with its reason") {
  SentinelScene s;
  s.sentinels[0].node().stop_listening();
  s.sentinels[1].node().mute(true);
  s.sentinels[2].node().stop_listening();
  Config config = s.config(1500ms);
  config.sentinel_timeout = 200ms;
  const Error e = error_of([&] { return Client::connect(config); });
  INFO(e.what());
  CHECK(e.code() == ErrorCode::sentinels_unreachable);
  CHECK(e.outcome() == Outcome::not_sent);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(contains(e.message(), s.sentinels[i].node().endpoint()));
  CHECK(contains(e.message(), "refused"));
  CHECK(contains(e.message(), "200 ms"));
  CHECK(s.x.node().accepts() == 0);
}

TEST_CASE("B33: no sentinel knows the name") {
  SentinelScene s;
  SECTION("none: an error at once that has the name") {
    for (std::size_t i = 0; i < 3; ++i)
      s.sentinels[i].say_unknown();
    const auto start = Clock::now();
    const Error e = error_of([&] { return s.client(10s); });
    INFO(e.what());
    CHECK(ms_since(start) < 2000);
    CHECK(e.code() == ErrorCode::unknown_primary);
    CHECK(contains(e.message(), "'mymaster'"));
  }
  SECTION("none, while one is silent") {
    s.sentinels[0].say_unknown();
    s.sentinels[1].say_unknown();
    s.sentinels[2].node().stop_listening();
    const Error e = error_of([&] { return s.client(700ms); });
    CHECK(e.code() == ErrorCode::unknown_primary);
    CHECK(contains(e.message(), "refused"));
  }
  SECTION("one does not: the others are asked") {
    s.sentinels[0].say_unknown();
    CHECK(s.client().incr("n") == 1);
  }
  SECTION("one does, and that is enough") {
    s.sentinels[0].say_unknown();
    s.sentinels[1].say_unknown();
    CHECK(s.client().incr("n") == 1);
  }
  SECTION("a name that begins like it is another name") {
    Config config = s.config();
    config.sentinel_name = "mymaste";
    CHECK(error_of([&] { return Client::connect(config); }).code() == ErrorCode::unknown_primary);
  }
}

TEST_CASE("the server that is named is no primary") {
  SentinelScene s;
  s.x.demote();
  const Error e = error_of([&] { return s.client(700ms); });
  INFO(e.what());
  CHECK(e.code() == ErrorCode::no_primary);
  CHECK(contains(e.message(), s.x.endpoint()));
  CHECK(contains(e.message(), "slave"));
  CHECK(s.x.node().count("INCR") == 0);
}

TEST_CASE("the sentinels do not agree") {
  SentinelScene s;
  CountingServer z;
  s.y.promote();
  s.sentinels[1].say({.primary = s.y.address(), .epoch = 2});
  s.sentinels[2].say({.primary = z.address(), .epoch = 1});
  const Error e = error_of([&] { return s.client(900ms); });
  INFO(e.what());
  CHECK(e.code() == ErrorCode::no_primary);
  CHECK(contains(e.message(), s.x.endpoint()));
  CHECK(contains(e.message(), s.y.endpoint()));
  CHECK(s.x.node().accepts() + s.y.node().accepts() + z.node().accepts() == 0);
}

TEST_CASE("the primary cannot be reached") {
  SentinelScene s;
  SECTION("at the start") {
    s.x.die();
    const Error e = error_of([&] { return s.client(700ms); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::connect_failed);
    CHECK(contains(e.message(), "the primary " + s.x.endpoint()));
    CHECK(contains(e.message(), "refused"));
  }
  SECTION("later: the call says so at its deadline") {
    const Client client = s.client(700ms);
    CHECK(client.incr("n") == 1);
    s.x.die();
    kit::wait_until([&] { return primary_of(client).empty(); }, 2s, "the loss to be noticed");
    const Error e = error_of([&] { return client.incr("n"); });
    INFO(e.what());
    CHECK(e.code() == ErrorCode::connect_failed);
    CHECK(e.outcome() == Outcome::not_sent);
    CHECK(contains(e.message(), s.x.endpoint()));
  }
}

TEST_CASE("what is no sentinel says so") {
  SentinelScene s;
  s.x.node().always({"SENTINEL"}, resp::error("ERR unknown command 'SENTINEL', with args beginning "
                                              "with: 'MYID' "));
  Config config = s.config(10s);
  config.endpoints = {{s.x.node().host(), s.x.node().port()}};
  const auto start = Clock::now();
  const Error e = error_of([&] { return Client::connect(config); });
  INFO(e.what());
  CHECK(ms_since(start) < 2000);
  CHECK(e.code() == ErrorCode::invalid_argument);
  CHECK(contains(e.message(), "no sentinel"));
}

// --- sentinels with manners of their own --------------------------------------------------------

TEST_CASE("sentinels that speak RESP2 only are asked and followed") {
  SentinelScene s;
  for (std::size_t i = 0; i < 3; ++i) {
    s.sentinels[i].node().refuse_hello(resp::error("ERR unknown command 'HELLO'"));
    s.sentinels[i].node().require_auth("", "old");
  }
  Config config = s.config();
  config.sentinel_credentials = {"", "old"};
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  s.fail_over();  // nobody tells; X lives on and takes writes
  wait_for_primary(client, s.y, 3s);
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(s.sentinels[i].node().count("SUBSCRIBE") == 0);
}

TEST_CASE("a sentinel that says half an answer, nothing, or nonsense does not hold up the others") {
  SentinelScene s;
  ScriptedNode& odd = s.sentinels[0].node();
  SECTION("half") {
    odd.always({"SENTINEL", "MASTER"}, "%14\r\n$4\r\nname\r\n$8\r\nmymas");
  }
  SECTION("half of the first") {
    odd.always({"SENTINEL", "MYID"}, "$40\r\n0123");
  }
  SECTION("nothing") {
    odd.mute(true);
  }
  SECTION("HTTP") {
    odd.always({"HELLO"}, "HTTP/1.1 400 Bad Request\r\n\r\n");
  }
  SECTION("RESP that is no answer") {
    odd.always({"SENTINEL"}, resp::integer(7));
  }
  SECTION("nulls") {
    odd.always({"SENTINEL"}, resp::nil3());
  }
  SECTION("it hangs up") {
    odd.always({"SENTINEL"}, ScriptedReply::hang_up());
  }
  Config config = s.config();
  config.sentinel_timeout = 3s;
  const auto start = Clock::now();
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  CHECK(ms_since(start) < 1500);
  s.fail_over();
  CHECK(client.refresh().has_value());
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);
}

TEST_CASE("a minority that answers is believed once the others have stayed away") {
  SentinelScene s;
  s.sentinels[0].node().mute(true);
  s.sentinels[1].node().mute(true);
  Config config = s.config();
  config.sentinel_timeout = 300ms;
  const auto start = Clock::now();
  const Client client = Client::connect(config);
  CHECK(ms_since(start) >= 250);
  CHECK(ms_since(start) < 4000);
  CHECK(client.incr("n") == 1);
}

TEST_CASE("one sentinel is enough to find the others") {
  SentinelScene s;
  Config config = s.config();
  config.endpoints.resize(1);
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  for (std::size_t i = 1; i < 3; ++i)
    s.sentinels[i].node().wait_for({"SENTINEL", "MASTER"});
  s.sentinels[0].node().stop_listening();
  s.sentinels[0].node().close_all();
  s.fail_over();
  CHECK(client.refresh().has_value());
  CHECK(client.incr("n") == 1);
  CHECK(s.y.executed() == 1);
}
