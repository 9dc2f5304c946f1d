// Config::io_threads: pipelines whose commands belong to several loop threads.
#include <string>
#include <vector>

#include <catch2/generators/catch_generators.hpp>

#include "kit/cluster.hpp"
#include "server/io_threads_support.hpp"

using namespace slotwise;
using namespace slotwise::test;

TEST_CASE("io_threads: a pipeline over all nodes, redirects included") {
  kit::Cluster cluster({.primaries = 3});
  Config config = config_of(cluster, 3);
  const bool in_place = GENERATE(true, false);
  CAPTURE(in_place);
  config.direct_connections = in_place ? 16 : 0;
  const Client client = Client::connect(config);
  const auto keys = keys_of_all(cluster, 30);
  const auto check_all = [&](const std::string& value) {
    Pipeline p = client.pipeline();
    std::vector<PipelineRef<std::optional<std::string>>> gets;
    (void)p.command("PING");
    for (const std::string& key : keys) {
      (void)p.set(key, value + key);
      gets.push_back(p.get(key));
    }
    const auto crossed = p.command("MSET", keys[0], "1", keys[1], "2");
    const auto wrong = p.command("LPUSH", keys[2], "x");
    PipelineResults results = p.exec();
    for (std::size_t i = 0; i < keys.size(); ++i)
      REQUIRE(results[gets[i]].value() == value + keys[i]);
    CHECK(results.at(crossed.index).error().code() == ErrorCode::cross_slot);
    CHECK(results.at(wrong.index).error().server_text().starts_with("WRONGTYPE"));
  };
  const auto check_plain = [&](const std::string& value) {  // what fits in place
    Pipeline p = client.pipeline();
    std::vector<PipelineRef<std::optional<std::string>>> gets;
    for (const std::string& key : keys) {
      (void)p.set(key, value + key);
      gets.push_back(p.get(key));
    }
    PipelineResults results = p.exec();
    for (std::size_t i = 0; i < keys.size(); ++i)
      REQUIRE(results[gets[i]].value() == value + keys[i]);
  };
  for (int i = 0; i < 20; ++i)
    check_plain("warm");
  check_all("a");
  // Behind the client's back: it hears of it by MOVED in the middle of the next pipeline.
  cluster.migrate(0, 2000, 1);
  cluster.migrate(6000, 8000, 2);
  check_plain("b");
  CHECK(client.stats().moved > 0);
  cluster.migrate(14000, 16383, 0);
  check_all("c");
  check_plain("d");

  Pipeline p = client.pipeline();
  (void)p.set(keys[0], "x");
  const auto last = p.get(keys[2]);  // of another thread
  const auto many = p.mget({keys[0], keys[1], keys[2], "none"});
  const auto size = p.command("DBSIZE");
  PipelineResults results = p.exec();
  CHECK(results[last].value() == "d" + keys[2]);
  CHECK(results[many].value() ==
        std::vector<std::optional<std::string>>{"x", "d" + keys[1], "d" + keys[2], std::nullopt});
  CHECK(results[size].value().integer() == static_cast<std::int64_t>(keys.size()));
}

TEST_CASE("io_threads: a pipeline that is divided keeps the order of what shares a key") {
  Pair n;
  n.map->set({{0, 8191, {n.a.map_node()}}, {8192, 16383, {n.b.map_node()}}});
  Config config = n.config();
  config.io_threads = 2;
  config.direct_connections = GENERATE(0, 1);
  CAPTURE(config.direct_connections);
  for (ScriptedNode* node : {&n.a, &n.b}) {
    node->always({"GET", "warm"}, resp::bulk("x"));
    node->always({"GET", "foo"}, resp::bulk("x"));
  }
  const Client client = Client::connect(config);
  const auto warm = [&] {  // both nodes have a connection for callers in place
    (void)client.get("warm");
    (void)client.get("foo");
    Pipeline p = client.pipeline();
    (void)p.get("warm");
    (void)p.get("foo");
    return p.exec().all_ok() && client.stats().connects >= 4;
  };
  if (config.direct_connections != 0) kit::wait_until(warm, 5s, "connections in place");
  const std::string again = resp::error("TRYAGAIN Multiple keys request during rehashing");
  n.a.on({"SET", "k"}, {again, resp::simple("OK")});
  n.a.on({"GET", "k"}, {resp::bulk("old"), resp::bulk("new")});
  n.b.always({"SET", "foo"}, resp::simple("OK"));
  Pipeline p = client.pipeline();
  const auto set = p.command("SET", "k", "1");
  const auto other = p.command("SET", "foo", "2");
  const auto get = p.get("k");
  const auto last = p.get("foo");
  PipelineResults results = p.exec();
  CHECK(results[set].has_value());
  CHECK(results[other].has_value());
  CHECK(results[get].value() == "new");
  CHECK(results[last].value() == "x");
  CHECK(n.b.count("SET") == 1);
}
