// Theme 13 (all but SCAN): keys in several slots, commands to all shards, where the key is.
#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("B63: MGET over slots: values by position, duplicates, nil for missing") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  client.mset({{"foo", "1"}, {"bar", "2"}, {"k", "3"}, {"{bar}x", "4"}});
  const auto values = client.mget({"foo", "bar", "k", "foo", "missing", "{bar}x"});
  REQUIRE(values.size() == 6);
  CHECK(values[0] == "1");
  CHECK(values[1] == "2");
  CHECK(values[2] == "3");
  CHECK(values[3] == "1");
  CHECK_FALSE(values[4]);
  CHECK(values[5] == "4");
  CHECK(client.exists({"foo", "bar", "missing"}) == 2);
  CHECK(client.del({"foo", "bar", "k"}) == 3);
  CHECK(client.stats().moved == 0);
}

TEST_CASE("B63: a part that fails is an error that says which keys, never a nil") {
  Pair n;
  n.map->set({{0, 8191, {n.a.map_node()}}, {8192, 16383, {n.b.map_node()}}});
  n.a.always({"MGET"}, resp::bulks({"a"}));
  const Client client = n.client(400ms);
  SECTION("one shard redirects") {
    n.b.on({"MGET"}, {n.moved_to_a()});
    n.a.on({"MGET", "foo"}, {resp::bulks({"moved"})});
    const auto values = client.mget({"k", "foo"});  // slots 7629 and 12182
    CHECK(values[0] == "a");
    CHECK(values[1] == "moved");
  }
  SECTION("one shard is dead") {
    n.b.stop_listening();
    n.b.close_all();
    const Error e = error_of([&] { return client.mget({"k", "foo"}); });
    CHECK(e.message().find("foo") != std::string_view::npos);
    CHECK(e.message().find("keys k") == std::string_view::npos);
  }
  SECTION("a write that ran in part is unknown") {
    n.a.always({"MSET"}, resp::simple("OK"));
    n.b.always({"MSET"}, resp::error("OOM command not allowed"));
    const Error e = error_of([&] {
      client.mset({{"k", "1"}, {"foo", "2"}});
      return 0;
    });
    CHECK(e.outcome() == Outcome::unknown);
    CHECK(e.message().find("foo") != std::string_view::npos);
  }
}

TEST_CASE("keys in different slots are refused before anything is sent, and named") {
  Pair n;
  const Client client = n.client();
  const Error e = error_of([&] { return client.command("MSET", "foo", "1", "bar", "2"); });
  CHECK(e.code() == ErrorCode::cross_slot);
  CHECK(e.outcome() == Outcome::not_sent);
  for (const char* part : {"foo", "12182", "bar", "5061"}) {
    CHECK(e.message().find(part) != std::string_view::npos);
  }
  CHECK(n.a.count("MSET") == 0);
}

TEST_CASE("B65: on a settled cluster no command is redirected") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const auto run = [&](std::initializer_list<std::string_view> words) {
    return client.command_words(std::span(words.begin(), words.size()));
  };
  const auto ok = [&](std::initializer_list<std::string_view> words) {
    const auto result = run(words);
    INFO(std::string(*words.begin()) << ": " << (result ? "" : result.error().what()));
    CHECK(result.has_value());
  };
  ok({"XADD", "mystream", "*", "f", "v"});
  ok({"XGROUP", "CREATE", "mystream", "g", "0"});
  ok({"XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "BLOCK", "10", "STREAMS", "mystream", ">"});
  ok({"XREAD", "COUNT", "2", "STREAMS", "mystream", "0"});
  ok({"XADD", "STREAMS", "*", "f", "v"});
  ok({"XREAD", "COUNT", "1", "STREAMS", "STREAMS", "0"});
  ok({"SET", "foo", "1"});
  ok({"MEMORY", "USAGE", "foo"});
  ok({"OBJECT", "ENCODING", "foo"});
  ok({"ZADD", "{z}a", "1", "m"});
  ok({"ZUNIONSTORE", "{z}d", "2", "{z}a", "{z}b"});
  ok({"EVAL", "return 1", "0"});
  ok({"EVAL", "return redis.call('get', KEYS[1])", "1", "foo"});
  ok({"RPUSH", "{l}a", "1"});
  ok({"BLMPOP", "1", "2", "{l}b", "{l}a", "LEFT"});
  ok({"SORT", "{z}a", "BY", "nosort"});
  ok({"PING"});
  ok({"DBSIZE"});
  ok({"KEYS", "*"});
  CHECK(run({"ZUNIONSTORE", "d", "2", "a", "b"}).error().code() == ErrorCode::cross_slot);
  CHECK(client.stats().moved == 0);

  for (int i = 0; i < 50; ++i)
    client.set("many:" + std::to_string(i), "x");
  std::int64_t keys = 0;
  for (const std::size_t node : cluster.primaries()) {
    keys += cluster.server(node).command("DBSIZE").num();
  }
  CHECK(client.dbsize() == keys);
  CHECK(client.command<std::vector<std::string>>("KEYS", "many:*").size() == 50);
}

TEST_CASE("B65: scripts follow their keys, and nodes that do not know them get the body") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const Script script("return redis.call('incrby', KEYS[1], ARGV[1])");
  for (int i = 0; i < 30; ++i) {
    CHECK(client.eval<int>(script, {"count:" + std::to_string(i)}, {"5"}) == 5);
  }
  const std::string sha = client.script_load("return 'loaded'");
  CHECK(client.script_exists({sha}) == std::vector<bool>{true});
  for (const char* key : {"foo", "bar", "k"}) {
    CHECK(client.evalsha<std::string>(sha, {key}) == "loaded");
  }
  const Error e =
      error_of([&] { return client.evalsha("0000000000000000000000000000000000000000", {"foo"}); });
  CHECK(e.server_text().starts_with("NOSCRIPT"));
}

TEST_CASE("B64: 10,000 keys over the alphabet of hash tags go to the slot that the server says") {
  kit::Cluster cluster({.primaries = 1});
  auto& server = cluster.server(0);
  std::uint32_t seed = 12345;
  const char letters[] = {'{', '}', 'a', '\0'};
  for (int i = 0; i < 10'000; ++i) {
    std::string key;
    seed = seed * 1664525 + 1013904223;
    for (std::uint32_t n = (seed >> 8) % 9; key.size() < n;) {
      seed = seed * 1664525 + 1013904223;
      key += letters[(seed >> 16) % 4];
    }
    REQUIRE(slot(key) ==
            static_cast<std::uint16_t>(server.command("CLUSTER", "KEYSLOT", key).num()));
  }
}

TEST_CASE("a command that the table does not know is asked about once, and goes where its key is") {
  Pair n;
  n.map->set({{0, 8191, {n.a.map_node()}}, {8192, 16383, {n.b.map_node()}}});
  const std::string info = resp::array({resp::bulk("mod.get"), resp::integer(-2),
                                        resp::array({resp::simple("readonly")}), resp::integer(1),
                                        resp::integer(1), resp::integer(1), resp::array({}),
                                        resp::array({}), resp::array({}), resp::array({})});
  for (ScriptedNode* node : {&n.a, &n.b}) {
    node->always({"COMMAND", "INFO"}, resp::array({info}));
    node->handle({"COMMAND", "GETKEYS"},
                 [](int, const kit::Command& c) -> std::optional<ScriptedReply> {
                   return resp::bulks({c[3]});
                 });
  }
  n.a.always({"MOD.GET", "k"}, resp::bulk("from a"));
  n.b.always({"MOD.GET", "foo"}, resp::bulk("from b"));
  const Client client = n.client();
  for (int i = 0; i < 5; ++i) {
    CHECK(client.command<std::string>("MOD.GET", "k") == "from a");
    CHECK(client.async().command<std::string>("mod.get", "foo").wait().value() == "from b");
  }
  CHECK(n.a.count("COMMAND", "INFO") + n.b.count("COMMAND", "INFO") == 1);
  CHECK(client.stats().moved == 0);
}
