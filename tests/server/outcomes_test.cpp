// Theme 3 and the promise behind every error: deadlines, retries, and whether a command ran.
#include <atomic>
#include <thread>

#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("B16: CLUSTERDOWN is waited for; at the deadline its text is shown") {
  Pair n;
  SECTION("it passes") {
    const std::string down = resp::error("CLUSTERDOWN The cluster is down");
    n.a.on({"GET", "foo"}, {down, down, down, down, resp::bulk("1")});
    CHECK(n.client().get("foo") == "1");
  }
  SECTION("it stays") {
    n.a.always({"GET", "foo"}, resp::error("CLUSTERDOWN The cluster is down"));
    const Client client = n.client(300ms);
    const auto start = Clock::now();
    const Error e = error_of([&] { return client.get("foo"); });
    CHECK(ms_since(start) >= 290);
    CHECK(ms_since(start) < 800);
    CHECK(e.code() == ErrorCode::cluster_down);
    CHECK(e.outcome() == Outcome::rejected);
    CHECK(e.server_text() == "CLUSTERDOWN The cluster is down");
    const auto asked = n.a.count("GET");
    CHECK(asked <= 20);
    CHECK(asked >= 2);
    // The path is short, however often the same was heard.
    CHECK(e.message().ends_with("(path: " + n.a.endpoint() + " CLUSTERDOWN (" +
                                std::to_string(asked) + " times))"));
  }
}

TEST_CASE("B19: many callers, few questions for the map") {
  Pair n;
  std::atomic<int> turn{0};
  n.a.handle({"GET"}, [&](int, const kit::Command&) -> std::optional<ScriptedReply> {
    return turn++ % 2 == 0 ? n.moved_to_b() : resp::bulk("1");
  });
  n.b.handle({"GET"}, [&](int, const kit::Command&) -> std::optional<ScriptedReply> {
    return turn++ % 2 == 0 ? n.moved_to_a() : resp::bulk("1");
  });
  Config config = n.config();
  config.max_redirects =
      100;  // which of the two answers is chance: a long row of redirects happens
  const Client client = Client::connect(config);
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 32; ++i) {
    callers.emplace_back([&] {
      while (!stop) {
        try {
          (void)client.get("foo");
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  const auto start = Clock::now();
  kit::wait_until([&] { return ms_since(start) >= 3000 && client.stats().moved > 500; }, 20s,
                  "three seconds of redirects");
  stop = true;
  for (auto& caller : callers)
    caller.join();
  const double seconds = static_cast<double>(ms_since(start)) / 1000.0;
  const auto asked = n.a.count("CLUSTER", "SLOTS") + n.b.count("CLUSTER", "SLOTS");
  CHECK(failures == 0);
  CHECK(static_cast<double>(asked) / seconds < 6.0);
}

TEST_CASE("a lost connection: reads go again, writes are reported as unknown") {
  Pair n;
  const Client client = n.client();
  n.a.on({"GET", "foo"}, {ScriptedReply::hang_up(), resp::bulk("1")});
  CHECK(client.get("foo") == "1");

  n.a.always({"INCR"}, ScriptedReply::hang_up());
  const Error e = error_of([&] { return client.incr("n"); });
  CHECK(e.outcome() == Outcome::unknown);
  CHECK(e.code() == ErrorCode::connection_lost);
  CHECK(e.node() == n.a.endpoint());
  CHECK(n.a.count("INCR") == 1);  // never twice
}

TEST_CASE("a write that the caller calls idempotent goes again") {
  Pair n;
  const Client client = n.client();
  n.a.on({"SET"}, {ScriptedReply::hang_up(), resp::simple("OK")});
  CHECK_NOTHROW(client.with({.idempotent = true}).set("k", "v"));
  CHECK(n.a.count("SET") == 2);
}

TEST_CASE("an earlier unknown attempt is not forgotten when a later one is rejected") {
  Pair n;
  const Client client = n.client(700ms);
  n.a.on({"SET"}, {ScriptedReply::hang_up()});
  n.a.always({"SET"}, resp::error("CLUSTERDOWN The cluster is down"));
  // One-time scripts come first: the first SET hangs up, all others are rejected.
  const Error e = error_of([&] { return client.with({.idempotent = true}).set("k", "v"); });
  CHECK(e.code() == ErrorCode::cluster_down);
  CHECK(e.outcome() == Outcome::unknown);
}

TEST_CASE("a silent node: the call ends on time, the connection is replaced") {
  Pair n;
  Config config = n.config();
  config.timeout = 5s;
  config.attempt_timeout = 200ms;
  const Client client = Client::connect(config);
  CHECK(error_of([&] { return client.command("NOSUCH"); }).code() == ErrorCode::server);

  SECTION("a write is unknown after the attempt") {
    n.a.on({"INCR"}, {ScriptedReply::silent(), resp::integer(2)});
    const auto start = Clock::now();
    const Error e = error_of([&] { return client.incr("n"); });
    CHECK(ms_since(start) >= 190);
    CHECK(ms_since(start) < 1000);
    CHECK(e.outcome() == Outcome::unknown);
    CHECK(client.incr("n") == 2);
  }
  SECTION("a read is answered by the next connection") {
    n.a.on({"GET", "foo"}, {ScriptedReply::silent(), resp::bulk("1")});
    CHECK(client.get("foo") == "1");
  }
  SECTION("the call's own deadline is shorter") {
    n.a.on({"INCR"}, {ScriptedReply::silent(), resp::integer(2)});
    const auto start = Clock::now();
    const Error e = error_of([&] { return client.with({.timeout = 60ms}).incr("n"); });
    CHECK(ms_since(start) >= 55);
    CHECK(ms_since(start) < 500);
    CHECK(e.code() == ErrorCode::timeout);
    CHECK(e.outcome() == Outcome::unknown);
    CHECK(client.incr("n") == 2);
  }
  SECTION("the same through the loop") {
    n.a.on({"INCR"}, {ScriptedReply::silent(), resp::integer(2)});
    auto result = client.with({.timeout = 60ms}).async().incr("n").wait();
    REQUIRE_FALSE(result);
    CHECK(result.error().outcome() == Outcome::unknown);
    CHECK(client.async().incr("n").wait().value() == 2);
  }
}

TEST_CASE("B58: idle connections that the server closed cost nobody an error") {
  Pair n;
  n.a.always({"INCR"}, resp::integer(1));
  const Client client = n.client();
  for (int i = 0; i < 20; ++i)
    REQUIRE(client.incr("n") == 1);
  n.a.close_all();
  // Noticed while idle, not by losing a command.
  kit::wait_until(
      [&] {
        std::uint64_t open = 0;
        for (const Stats::Node& node : client.stats().nodes)
          open += node.connections;
        return open == 0;
      },
      2s, "the client to notice");
  for (int i = 0; i < 20; ++i)
    CHECK(client.incr("n") == 1);
}

TEST_CASE("B49: a reply that nobody asked for closes the connection, and is never given out") {
  Pair n;
  const Client client = n.client();
  n.a.on({"GET", "foo"}, {resp::bulk("1") + resp::bulk("9")});
  CHECK(client.get("foo") == "1");
  n.a.always({"GET", "bar"}, resp::bulk("2"));
  for (int i = 0; i < 5; ++i)
    CHECK(client.get("bar") == "2");
  n.a.on({"GET", "foo"}, {resp::bulk("1") + resp::bulk("9")});
  CHECK(client.async().get("foo").wait().value() == "1");
  for (int i = 0; i < 5; ++i)
    CHECK(client.async().get("bar").wait().value() == "2");
}

TEST_CASE("B50: pushes and attributes between command and reply are not replies") {
  Pair n;
  const Client client = n.client();
  const std::string push = resp::push({resp::bulk("invalidate"), resp::array({resp::bulk("q0")})});
  const std::string odd = resp::push({resp::bulk("xyz"), resp::integer(1)});
  const std::string attribute = "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n";
  n.a.always({"GET", "foo"}, push + resp::bulk("3") + odd);
  n.a.always({"GET", "bar"}, attribute + resp::bulk("4"));
  for (int i = 0; i < 10; ++i) {
    CHECK(client.get("foo") == "3");
    CHECK(client.async().get("bar").wait().value() == "4");
    CHECK(client.async().get("foo").wait().value() == "3");
    CHECK(client.get("bar") == "4");
  }
}

TEST_CASE("bytes that are not RESP: protocol error, then a fresh connection") {
  Pair n;
  Config config = n.config();
  const Client client = Client::connect(config);
  n.a.on({"INCR"}, {ScriptedReply("HTTP/1.1 400 Bad Request\r\n\r\n"), resp::integer(5)});
  const Error e = error_of([&] { return client.incr("n"); });
  CHECK(e.code() == ErrorCode::protocol);
  CHECK(e.outcome() == Outcome::unknown);
  CHECK(client.incr("n") == 5);
}

TEST_CASE("a client that did not run for a while does not blame the node") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  n.a.always({"INCR"}, resp::integer(1));
  Config config = n.config();
  config.attempt_timeout = 100ms;
  const Client client = Client::connect(config);
  for (int round = 0; round < 5; ++round) {
    std::vector<Task<std::int64_t>> tasks;
    client.async().get("foo").then([&](Result<std::optional<std::string>>) {
      // The loop stands still, answers to the calls behind this one arrive meanwhile.
      const auto until = Clock::now() + 250ms;
      while (Clock::now() < until)
        std::this_thread::yield();
    });
    for (int i = 0; i < 50; ++i)
      tasks.push_back(client.async().incr("n" + std::to_string(i)));
    for (auto& task : tasks) {
      const auto result = task.wait();
      INFO((result ? "" : result.error().what()));
      CHECK(result.has_value());
    }
  }
}
