// One server behind a name (valkey://): REDIRECT and READONLY. Names that move: names_test.cpp.
#include "kit/dns_responder.hpp"
#include "kit/ports.hpp"
#include "server/sentinel_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

/// The configured server, and the primary that it may name.
struct Home {
  CountingServer home;
  CountingServer other;

  Config config(std::chrono::milliseconds timeout = 5s) {
    Config c;
    c.endpoints = {{home.node().host(), home.node().port()}};
    c.timeout = timeout;
    return c;
  }
  void redirect() {
    home.node().always({"INCR"}, resp::error("REDIRECT " + other.endpoint()));
    home.node().always({"GET"}, resp::error("REDIRECT " + other.endpoint()));
  }
  void be_home_again() {
    home.node().always({"INCR"}, resp::integer(7));
    home.node().always({"GET"}, resp::bulk("home"));
  }
};

}  // namespace

TEST_CASE("REDIRECT of one server is followed, and later calls go there at once") {
  Home h;
  const Client client = Client::connect(h.config());
  CHECK(h.home.node().count("CLIENT", "CAPA") >= 1);
  CHECK(client.incr("n") == 1);
  CHECK(h.home.executed() == 1);
  h.redirect();
  CHECK(client.incr("n") == 1);
  CHECK(h.other.executed() == 1);
  const std::size_t before = h.home.node().count("INCR");
  for (int i = 0; i < 30; ++i) {
    CHECK(client.incr("n") == 1);
    CHECK(client.async().incr("n").get() == 1);
  }
  CHECK(h.other.executed() == 61);
  CHECK(h.home.node().count("INCR") == before);
  REQUIRE(client.topology().nodes.size() == 1);
  CHECK(client.topology().nodes[0].endpoint == h.other.endpoint());
  CHECK(h.other.node().count("CLIENT", "CAPA") >= 1);
}

TEST_CASE("REDIRECT: many calls in flight are all answered, each once") {
  Home h;
  const Client client = Client::connect(h.config());
  h.redirect();
  std::vector<Task<std::int64_t>> tasks;
  for (int i = 0; i < 200; ++i)
    tasks.push_back(client.async().incr("n"));
  for (auto& task : tasks)
    CHECK(task.get() == 1);
  CHECK(h.other.executed() == 200);
  CHECK(client.stats().failed == 0);
}

TEST_CASE("REDIRECT in a pipeline keeps the order of each key") {
  Home h;
  const Client client = Client::connect(h.config());
  h.redirect();
  Pipeline p = client.pipeline();
  for (int i = 0; i < 10; ++i)
    p.incr("n");
  const auto results = p.exec();
  CHECK(results.all_ok());
  CHECK(h.other.executed() == 10);
}

TEST_CASE("when the server that REDIRECT named fails, the name is asked again") {
  Home h;
  const Client client = Client::connect(h.config());
  h.redirect();
  CHECK(client.incr("n") == 1);
  h.be_home_again();
  SECTION("it dies") {
    h.other.die();
  }
  SECTION("it dies while a read is under way") {
    h.other.node().always({"GET"}, ScriptedReply::silent());
    auto read = client.async().get("k");
    h.other.node().wait_for({"GET"});
    h.other.die();
    CHECK(read.get() == "home");
  }
  SECTION("it is demoted") {
    h.other.demote();
    CHECK(client.incr("n") == 7);
    kit::wait_until([&] { return h.other.node().open_connections() == 0; }, 2s,
                    "all connections to the demoted server to be closed");
  }
  kit::wait_until([&] { return client.with({.idempotent = true}).incr("n") == 7; }, 5s,
                  "the home server to be used again");
  CHECK(client.topology().nodes[0].endpoint == h.home.endpoint());
  CHECK(h.other.executed() == 1);
}

TEST_CASE("two servers that REDIRECT to each other end at the limit, and not in a hot loop") {
  Home h;
  h.redirect();
  h.other.node().always({"INCR"}, resp::error("REDIRECT " + h.home.endpoint()));
  const Client client = Client::connect(h.config(2s));
  const Error e = error_of([&] { return client.incr("n"); });
  INFO(e.what());
  CHECK(e.did_not_run());
  CHECK(h.home.node().count("INCR") + h.other.node().count("INCR") <= 20);
}

TEST_CASE("REDIRECT without an address, and to a caller who named the node, is the caller's") {
  Home h;
  const Client client = Client::connect(h.config());
  h.home.node().always({"INCR", "bad"}, resp::error("REDIRECT"));
  CHECK(error_of([&] { return client.incr("bad"); }).server_text() == "REDIRECT");
  h.redirect();
  const Error e = error_of([&] { return client.with({.node = h.home.endpoint()}).incr("n"); });
  CHECK(e.server_text() == "REDIRECT " + h.other.endpoint());
  CHECK(h.other.node().accepts() == 0);
}

TEST_CASE("READONLY of one server: every connection is made anew, and the call waits") {
  Home h;
  const Client client = Client::connect(h.config());
  for (int i = 0; i < 100; ++i)
    (void)client.get("k");
  (void)client.async().get("k").get();
  std::vector<int> before;
  for (const auto& connection : h.home.node().connections())
    before.push_back(connection.number);
  h.home.demote();
  auto task = client.async().incr("n");
  h.home.node().wait_for({"INCR"}, 2);
  h.home.promote();
  CHECK(task.get() == 1);
  CHECK(h.home.executed() == 1);
  for (const int number : before) {
    kit::wait_until([&] { return !h.home.node().connection(number).open; }, 2s,
                    "an old connection to be closed");
  }
}

TEST_CASE("after READONLY the name is resolved again") {
  constexpr const char* name = "primary.example.test";
  const kit::LoopbackNet net = kit::LoopbackNet::reserve();
  const kit::Port port = kit::Port::reserve();
  kit::DnsResponder dns;
  ScriptedNode one{{.host = net.address(2), .port = port.number(), .mode = "standalone"}};
  ScriptedNode two{{.host = net.address(3), .port = port.number(), .mode = "standalone"}};
  dns.set(name, {.ips = {one.host()}});
  one.always({"INCR"}, resp::integer(1));
  two.always({"INCR"}, resp::integer(2));
  Config config;
  config.endpoints = {{name, port.number()}};
  config.dns_servers = {dns.address().to_string()};
  const Client client = Client::connect(config);
  CHECK(client.incr("n") == 1);
  one.always({"INCR"}, resp::error("READONLY You can't write against a read only replica."));
  dns.set(name, {.ips = {two.host()}});
  CHECK(client.incr("n") == 2);
  CHECK(two.count("INCR") == 1);
  kit::wait_until([&] { return one.open_connections() == 0; }, 2s,
                  "all connections to the old place to be closed");
}
