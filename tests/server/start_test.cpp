// Theme 1: how the client finds the cluster, and which view it believes.
#include <algorithm>

#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

const std::string no_slots = "*0\r\n";

Config with_seeds(std::initializer_list<const ScriptedNode*> nodes) {
  Config c;
  c.mode = Mode::cluster;
  for (const ScriptedNode* node : nodes)
    c.endpoints.push_back({node->host(), node->port()});
  return c;
}

std::string slots_entry(int first, int last, const std::string& nodes) {
  return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n" + nodes;
}

std::string node_of(const ScriptedNode& node, int port) {
  return "*3\r\n" + resp::bulk(node.host()) + resp::integer(port) + resp::bulk(node.id());
}

}  // namespace

TEST_CASE("the first write waits for one map request and goes straight to the owner") {
  Pair n;
  n.give_all_to(n.b);  // the only seed owns nothing
  n.b.always({"SET"}, resp::simple("OK"));
  const Client client = n.client();
  client.set("foo", "1");
  CHECK(n.b.count("SET") == 1);
  CHECK(n.a.count("SET") == 0);
  CHECK(client.stats().moved == 0);
  const auto asked = n.a.commands({"CLUSTER", "SLOTS"});
  const auto written = n.b.commands({"SET"});
  REQUIRE_FALSE(asked.empty());
  CHECK(std::count_if(asked.begin(), asked.end(), [&](const kit::ReceivedCommand& c) {
          return c.when < written[0].when;
        }) == 1);
}

TEST_CASE("seeds: dead ones cost little, all dead ones are named with their reasons") {
  Pair n;
  ScriptedNode dead1;
  ScriptedNode dead2;
  dead1.stop_listening();
  dead2.stop_listening();
  SECTION("one works") {
    n.a.always({"GET"}, resp::bulk("1"));
    const auto start = Clock::now();
    const Client client = Client::connect(with_seeds({&dead1, &dead2, &n.a}));
    CHECK(client.get("foo") == "1");
    CHECK(ms_since(start) < 1500);
  }
  SECTION("a silent one does not hold up the others") {
    ScriptedNode silent;
    silent.mute(true);
    n.a.always({"GET"}, resp::bulk("1"));
    const auto start = Clock::now();
    const Client client = Client::connect(with_seeds({&silent, &n.a}));
    CHECK(client.get("foo") == "1");
    CHECK(ms_since(start) < 1500);
  }
  SECTION("none works") {
    Config config = with_seeds({&dead1, &dead2});
    config.timeout = 500ms;
    const auto start = Clock::now();
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    CHECK(ms_since(start) < 1500);
    CHECK(e.code() == ErrorCode::connect_failed);
    CHECK(e.outcome() == Outcome::not_sent);
    for (const ScriptedNode* node : {&dead1, &dead2}) {
      CHECK(e.message().find(node->endpoint()) != std::string_view::npos);
    }
    CHECK(e.message().find("refused") != std::string_view::npos);
  }
}

TEST_CASE("B04: a node that knows no slots is no answer") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  SECTION("at the start another seed is asked") {
    n.b.always({"CLUSTER", "SLOTS"}, no_slots);
    const Client client = Client::connect(with_seeds({&n.b, &n.a}));
    CHECK(client.get("foo") == "1");
  }
  SECTION("later it does not empty the map") {
    const Client client = n.client();
    REQUIRE(client.get("foo") == "1");
    const std::size_t connections = n.a.accepts();
    n.a.on({"CLUSTER", "SLOTS"}, {no_slots});
    (void)client.refresh();
    CHECK(client.get("foo") == "1");
    CHECK(client.topology().covered_slots == 16384);
    CHECK(n.a.accepts() <= connections + 4);
  }
  SECTION("only such nodes: a clear error") {
    n.a.always({"CLUSTER", "SLOTS"}, no_slots);
    Config config = n.config();
    config.timeout = 500ms;
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    CHECK(e.code() == ErrorCode::not_a_cluster);
    CHECK(e.message().find("no slots") != std::string_view::npos);
  }
  SECTION("a server without cluster mode: its own words, at once") {
    n.a.always({"CLUSTER"}, resp::error("ERR This instance has cluster support disabled"));
    Config config = n.config();
    config.timeout = 20s;
    const auto start = Clock::now();
    const Error e = error_of([&] { return Client::connect(config).dbsize(); });
    CHECK(ms_since(start) < 5000);
    CHECK(e.code() == ErrorCode::not_a_cluster);
    CHECK(e.message().find("cluster support disabled") != std::string_view::npos);
    CHECK(e.message().find("valkey://") != std::string_view::npos);
  }
}

TEST_CASE("B05: a partial view is completed by others; a slot without owner heals by itself") {
  Pair n;
  const std::string part = "*1\r\n" + slots_entry(0, 5460, node_of(n.a, n.a.port()));
  n.a.always({"GET"}, resp::bulk("1"));
  SECTION("another node knows all") {
    n.b.always({"CLUSTER", "SLOTS"}, part);
    const Client client = Client::connect(with_seeds({&n.b, &n.a}));
    CHECK(client.get("foo") == "1");
  }
  SECTION("nobody owns the slot: said at the deadline; later it works") {
    n.a.always({"CLUSTER", "SLOTS"}, part);
    n.a.always({"CLUSTER", "NODES"}, resp::error("ERR no"));
    const Client client = n.client();
    const Error e = error_of([&] { return client.with({.timeout = 400ms}).get("foo"); });
    CHECK(e.code() == ErrorCode::slot_not_covered);
    CHECK(e.outcome() == Outcome::not_sent);
    CHECK(e.message().find("slot 12182 is not covered") != std::string_view::npos);
    n.a.forget_scripts();
    n.a.always({"GET"}, resp::bulk("1"));
    CHECK(client.get("foo") == "1");
  }
}

TEST_CASE("B06: port 0 means the port that answered; nonsense rejects the reply") {
  Pair n;
  n.a.always({"GET"}, resp::bulk("1"));
  SECTION("port 0") {
    n.a.always({"CLUSTER", "SLOTS"}, "*1\r\n" + slots_entry(0, 16383, node_of(n.a, 0)));
    CHECK(n.client().get("foo") == "1");
  }
  SECTION("a bad range") {
    const Client client = n.client();
    n.a.on({"CLUSTER", "SLOTS"}, {"*1\r\n" + slots_entry(10, 5, node_of(n.a, n.a.port())),
                                  "*1\r\n" + slots_entry(0, 16384, node_of(n.a, n.a.port()))});
    (void)client.refresh();
    CHECK(client.get("foo") == "1");
    CHECK(client.topology().covered_slots == 16384);
  }
}

TEST_CASE("B03: IPv6 without brackets") {
  ScriptedNode six({.host = "::1"});
  Pair n;
  n.a.always({"GET", "foo"}, resp::error("MOVED 12182 ::1:" + std::to_string(six.port())));
  six.always({"GET", "foo"}, resp::bulk("6"));
  CHECK(n.client().get("foo") == "6");
}

TEST_CASE("wrong credentials: an auth error at once, no loop, no password in it") {
  Pair n;
  n.a.require_auth("app", "right-secret");
  Config config = n.config();
  config.credentials = {"app", "wrong-secret"};
  config.timeout = 20s;
  const auto start = Clock::now();
  const Error e = error_of([&] { return Client::connect(config).dbsize(); });
  CHECK(ms_since(start) < 5000);
  CHECK(e.code() == ErrorCode::auth_failed);
  CHECK(std::string(e.what()).find("wrong-secret") == std::string::npos);
  CHECK(n.a.count("HELLO") <= 4);
}

TEST_CASE("credentials go first on every connection, also to a node learned from a redirect") {
  Pair n;
  for (ScriptedNode* node : {&n.a, &n.b})
    node->require_auth("app", "secret");
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, resp::bulk("1"));
  Config config = n.config();
  config.credentials = {"app", "secret"};
  const Client client = Client::connect(config);
  CHECK(client.get("foo") == "1");
  for (const auto& connection : n.b.connections()) {
    REQUIRE_FALSE(connection.commands.empty());
    CHECK(connection.commands[0].words[0] == "HELLO");
  }
}

TEST_CASE("a server without RESP3 is spoken to in RESP2") {
  Pair n;
  n.a.refuse_hello(resp::error("ERR unknown command 'HELLO', with args beginning with: "));
  n.a.always({"GET", "foo"}, resp::bulk("1"));
  n.a.always({"GET", "none"}, resp::nil2());
  const Client client = n.client();
  CHECK(client.get("foo") == "1");
  CHECK_FALSE(client.get("none"));
}
