// Theme 2: redirects. Scripted nodes say what real ones say rarely.
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("B08: MOVED goes to the named node at once, and its connection is kept") {
  Pair n;  // both still say that A owns everything
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, resp::bulk("1"));
  const Client client = n.client();
  CHECK(client.get("foo") == "1");
  CHECK(client.stats().moved == 1);
  for (int i = 0; i < 100; ++i)
    REQUIRE(client.get("foo") == "1");
  CHECK(n.b.count("GET") == 101);
  CHECK(n.a.count("GET") <= 3);  // not each through A
  CHECK(n.b.accepts() <= 6);     // the shared connection and a few for callers in place
}

TEST_CASE("B09: refreshes that lag behind do not undo what a MOVED taught") {
  Pair n;
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, resp::bulk("1"));
  Config config = n.config();
  config.refresh_interval = 200ms;
  const Client client = Client::connect(config);
  REQUIRE(client.get("foo") == "1");
  const std::uint64_t views = client.stats().refreshes;
  kit::wait_until([&] { return client.stats().refreshes >= views + 3; }, 5s, "three refreshes");
  for (int i = 0; i < 50; ++i)
    REQUIRE(client.get("foo") == "1");
  CHECK(client.stats().moved <= 2);
}

TEST_CASE("B01: a redirect without a host means the host that answered") {
  Pair n;
  SECTION("MOVED") {
    n.a.always({"GET", "foo"}, resp::error("MOVED 12182 :" + std::to_string(n.b.port())));
    n.b.always({"GET", "foo"}, resp::bulk("1"));
    CHECK(n.client().get("foo") == "1");
  }
  SECTION("ASK") {
    n.a.always({"GET", "foo"}, resp::error("ASK 12182 :" + std::to_string(n.b.port())));
    n.b.always({"GET", "foo"}, resp::bulk("1"));
    CHECK(n.client().get("foo") == "1");
    CHECK(n.b.count("ASKING") == 1);
  }
}

TEST_CASE("ASK: ASKING directly before each redirected command, the map untouched") {
  Pair n;
  n.a.always({"INCR", "foo"}, resp::error("ASK 12182 " + n.b.endpoint()));
  n.b.always({"INCR", "foo"}, resp::integer(7));
  const Client client = n.client();
  std::vector<Task<std::int64_t>> tasks;
  for (int i = 0; i < 20; ++i)
    tasks.push_back(client.async().incr("foo"));
  for (auto& task : tasks)
    CHECK(task.wait().value() == 7);
  CHECK(n.a.count("INCR") == 20);
  for (const auto& connection : n.b.connections()) {
    for (std::size_t i = 0; i < connection.commands.size(); ++i) {
      if (connection.commands[i].words[0] != "INCR") continue;
      REQUIRE(i > 0);
      CHECK(connection.commands[i - 1].words[0] == "ASKING");
    }
  }
}

TEST_CASE("B10: MOVED to a node that is not there yet waits for it, politely") {
  Pair n;
  n.b.stop_listening();
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, resp::bulk("1"));
  SECTION("it comes") {
    const Client client = n.client(3s);
    const auto start = Clock::now();
    Task<std::optional<std::string>> task = client.async().get("foo");
    kit::wait_until([&] { return client.stats().connect_failures >= 2; }, 2s, "refused connects");
    n.b.listen_again();
    const auto up = Clock::now();
    CHECK(task.wait().value() == "1");
    CHECK(ms_since(up) < 1500);
    CHECK(n.a.count("GET") + client.stats().connect_failures < 20);
    (void)start;
  }
  SECTION("it never comes: the error names it and its reason") {
    const Client client = n.client(600ms);
    const Error e = error_of([&] { return client.get("foo"); });
    CHECK(e.outcome() != Outcome::unknown);
    CHECK(e.message().find(std::to_string(n.b.port())) != std::string_view::npos);
    CHECK(e.message().find("refused") != std::string_view::npos);
  }
}

TEST_CASE("B13: answers that pass by themselves are waited for, not shown") {
  Pair n;
  SECTION("TRYAGAIN: the same node, no refresh") {
    const Client client = n.client();
    (void)client.refresh();
    const std::uint64_t refreshes = client.stats().refreshes;
    const std::string again =
        resp::error("TRYAGAIN Multiple keys request during rehashing of slot");
    n.a.on({"MGET"}, {again, again, again, resp::bulks({"1", "2"})});
    const auto values = client.mget({"{bar}1", "{bar}2"});
    CHECK(values[1] == "2");
    CHECK(n.a.count("MGET") == 4);
    CHECK(client.stats().refreshes == refreshes);
  }
  SECTION("at the deadline the server's own words are shown") {
    n.a.always({"MGET"}, resp::error("TRYAGAIN Multiple keys request during rehashing of slot"));
    const Client client = n.client(300ms);
    const auto start = Clock::now();
    const Error e = error_of([&] { return client.mget({"{bar}1", "{bar}2"}); });
    CHECK(ms_since(start) < 600);
    CHECK(e.code() == ErrorCode::try_again);
    CHECK(e.outcome() == Outcome::rejected);
    CHECK(e.server_text().starts_with("TRYAGAIN"));
    CHECK(n.a.count("MGET") < 15);  // < 50 a second
  }
  SECTION("LOADING") {
    const std::string loading = resp::error("LOADING Valkey is loading the dataset in memory");
    n.a.on({"GET", "foo"}, {loading, loading, loading, resp::bulk("1")});
    CHECK(n.client().get("foo") == "1");
  }
}

TEST_CASE("B14: READONLY closes every connection to that node, refreshes and goes to the primary") {
  Pair n;
  const Client client = n.client();
  n.a.always({"PING"}, resp::simple("PONG"));
  n.a.handle({"INCR"}, [&](int, const kit::Command&) -> std::optional<ScriptedReply> {
    n.give_all_to(n.b);
    return ScriptedReply(resp::error("READONLY You can't write against a read only replica."));
  });
  n.b.always({"INCR", "n"}, resp::integer(1));
  CHECK(client.incr("n") == 1);
  CHECK(n.b.count("INCR") == 1);
}

TEST_CASE("MOVED to the very address that answered: connect anew, then again") {
  Pair n;
  n.a.on({"GET", "foo"}, {n.moved_to_a(), resp::bulk("1")});
  const Client client = n.client();
  const std::size_t before = n.a.accepts();
  CHECK(client.get("foo") == "1");
  CHECK(n.a.accepts() > before);
}

TEST_CASE("two nodes that point at each other end at the limit, with the path") {
  Pair n;
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, n.moved_to_a());
  Config config = n.config();
  config.max_redirects = 8;
  config.timeout = 10s;
  const Client client = Client::connect(config);
  const Error e = error_of([&] { return client.get("foo"); });
  CHECK(e.code() == ErrorCode::too_many_redirects);
  CHECK(e.outcome() == Outcome::rejected);
  CHECK(e.attempts() == 9);
  CHECK(e.message().find(n.a.endpoint()) != std::string_view::npos);
  CHECK(e.message().find(n.b.endpoint()) != std::string_view::npos);
}

TEST_CASE("errors inside replies and texts that look like redirects are data") {
  Pair n;
  const Client client = n.client();
  n.a.always({"EVAL"}, resp::array({resp::error("MOVED 12182 x:1"), resp::integer(1)}));
  const Reply reply = client.command("EVAL", "...", 1, "foo");
  CHECK(reply.elements()[0].is_error());
  n.a.always({"GET", "foo"}, resp::bulk("-MOVED 12182 x:1"));
  CHECK(client.get("foo") == "-MOVED 12182 x:1");
  n.a.always({"GET", "foo"}, resp::error("MOVED 1 " + n.b.endpoint()));
  CHECK(error_of([&] { return client.get("foo"); }).code() == ErrorCode::server);
  CHECK(n.b.count("GET") == 0);
}
