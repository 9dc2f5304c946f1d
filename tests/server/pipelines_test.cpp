// Theme 8: pipelines over many nodes, in call order, each result with its own value or error.
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "kit/cluster.hpp"
#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

std::string tryagain() {
  return resp::error("TRYAGAIN Multiple keys request during rehashing");
}

/// A client whose pipelines are run by the caller's thread itself, or go through the loop: the same
/// must hold for both.
Client client_of(Pair& n, Config config, bool in_place) {
  config.direct_connections = in_place ? 1 : 0;
  n.a.always({"GET", "warm"}, resp::bulk("x"));
  Client client = Client::connect(config);
  kit::wait_until(
      [&] {
        client.get("warm");
        return !in_place || client.stats().connects >= 2;
      },
      5s, "a connection for callers in place");
  return client;
}

}  // namespace

TEST_CASE("B46: a redirected write, and a read behind it that ran too early") {
  const bool in_place = GENERATE(false, true);
  CAPTURE(in_place);
  Pair n;
  const Client client = client_of(n, n.config(), in_place);
  SECTION("TRYAGAIN: the read is asked again after the write") {
    n.a.on({"SET", "k"}, {tryagain(), resp::simple("OK")});
    n.a.on({"GET", "k"}, {resp::bulk("old"), resp::bulk("new")});
    Pipeline p = client.pipeline();
    const auto set = p.command("SET", "k", "1");
    const auto get = p.get("k");
    PipelineResults results = p.exec();
    CHECK(results[set].has_value());
    CHECK(results[get].value() == "new");
  }
  SECTION("MOVED: both go to the new owner, in order") {
    n.a.always({"SET", "k"}, n.moved_to_b(7629));
    n.a.always({"GET", "k"}, n.moved_to_b(7629));
    std::string value = "old";
    n.b.handle({"SET", "k"}, [&](int, const kit::Command& c) -> std::optional<ScriptedReply> {
      value = c[2];
      return resp::simple("OK");
    });
    n.b.handle({"GET", "k"}, [&](int, const kit::Command&) -> std::optional<ScriptedReply> {
      return resp::bulk(value);
    });
    Pipeline p = client.pipeline();
    (void)p.command("SET", "k", "1");
    const auto first = p.get("k");
    (void)p.command("SET", "k", "2");
    const auto second = p.get("k");
    PipelineResults results = p.exec();
    CHECK(results[first].value() == "1");
    CHECK(results[second].value() == "2");
  }
  SECTION("a later write has run: the earlier one is not tried again, and says so") {
    n.a.on({"SET", "k", "1"}, {tryagain()});
    n.a.always({"SET", "k", "2"}, resp::simple("OK"));
    n.a.always({"GET", "k"}, resp::bulk("2"));
    Pipeline p = client.pipeline();
    const auto one = p.command("SET", "k", "1");
    const auto two = p.command("SET", "k", "2");
    const auto get = p.get("k");
    PipelineResults results = p.exec();
    REQUIRE_FALSE(results.at(one.index).has_value());
    CHECK(results.at(one.index).error().code() == ErrorCode::overtaken);
    CHECK(results.at(one.index).error().outcome() == Outcome::rejected);
    CHECK(results[two].has_value());
    CHECK(results[get].value() == "2");
    CHECK(n.a.count("SET") == 2);
  }
  SECTION("another key of the same slot does not hold anything up") {
    n.a.on({"SET", "{k}a"}, {tryagain(), resp::simple("OK")});
    n.a.always({"SET", "{k}b"}, resp::simple("OK"));
    Pipeline p = client.pipeline();
    (void)p.command("SET", "{k}a", "1");
    (void)p.command("SET", "{k}b", "2");
    CHECK(p.exec().all_ok());
    CHECK(n.a.count("SET", "{k}b") == 1);
  }
}

TEST_CASE("B46: one command that is redirected for ever costs the others nothing") {
  const bool in_place = GENERATE(false, true);
  CAPTURE(in_place);
  Pair n;
  Config config = n.config();
  config.max_redirects = 6;
  const Client client = client_of(n, config, in_place);
  n.a.always({"GET"}, resp::bulk("v"));
  n.a.always({"GET", "foo"}, n.moved_to_b());
  n.b.always({"GET", "foo"}, n.moved_to_a());
  Pipeline p = client.pipeline();
  for (int i = 0; i < 10; ++i)
    (void)p.get(i == 4 ? "foo" : "{foo}" + std::to_string(i));
  PipelineResults results = p.exec();
  REQUIRE(results.size() == 10);
  for (std::size_t i = 0; i < 10; ++i)
    CHECK(results.at(i).has_value() == (i != 4));
  CHECK(results.at(4).error().code() == ErrorCode::too_many_redirects);
}

TEST_CASE("B46: the connection ends after 5 of 10 replies") {
  const bool in_place = GENERATE(false, true);
  CAPTURE(in_place);
  Pair n;
  Config config = n.config();
  config.timeout = 2s;
  const Client client = client_of(n, config, in_place);
  int answered = 0;
  n.a.handle({"INCR"}, [&](int, const kit::Command&) -> std::optional<ScriptedReply> {
    if (++answered < 5) return ScriptedReply(resp::integer(answered));
    if (answered == 5) return ScriptedReply(resp::integer(answered)).then_close();
    return ScriptedReply::silent();
  });
  Pipeline p = client.pipeline();
  for (int i = 0; i < 10; ++i)
    (void)p.incr("{t}" + std::to_string(i));
  PipelineResults results = p.exec();
  for (std::size_t i = 0; i < 10; ++i) {
    CAPTURE(i);
    REQUIRE(results.at(i).has_value() == (i < 5));
    if (i < 5) {
      CHECK(results.get<int>(i).value() == static_cast<int>(i) + 1);
    } else {
      CHECK(results.at(i).error().outcome() == Outcome::unknown);
    }
  }
}

TEST_CASE(
    "a silent node ends the commands of a pipeline at their deadline, the others are answered") {
  const bool in_place = GENERATE(false, true);
  CAPTURE(in_place);
  Pair n;
  Config config = n.config();
  config.timeout = 500ms;
  const Client client = client_of(n, config, in_place);
  n.a.always({"GET"}, resp::bulk("v"));
  n.a.handle({"INCR"}, [](int, const kit::Command&) -> std::optional<ScriptedReply> {
    return ScriptedReply::silent();
  });
  Pipeline p = client.pipeline();
  const auto first = p.get("k");
  const auto incr = p.incr("n");
  const auto behind = p.incr("m");
  PipelineResults results = p.exec();
  CHECK(results[first].value() == "v");
  REQUIRE_FALSE(results.at(incr.index).has_value());
  CHECK(results.at(incr.index).error().outcome() == Outcome::unknown);
  CHECK(results.at(incr.index).error().code() == ErrorCode::timeout);
  CHECK_FALSE(results.at(behind.index).has_value());
  CHECK(n.a.count("INCR") == 2);
}

TEST_CASE("a pipeline over a real cluster: order, own errors, reuse") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  const int rounds = GENERATE(1, 20);  // the first one goes through the loop
  CAPTURE(rounds);
  for (int i = 0; i < rounds; ++i) {
    Pipeline warm = client.pipeline();
    for (int key = 0; key < 20; ++key)
      (void)warm.set("warm:" + std::to_string(key), "x");
    REQUIRE(warm.exec().all_ok());
  }
  Pipeline p = client.pipeline();
  std::vector<PipelineRef<std::optional<std::string>>> gets;
  for (int i = 0; i < 300; ++i) {
    const std::string key = "key:" + std::to_string(i);
    (void)p.set(key, std::to_string(i));
    gets.push_back(p.get(key));
  }
  const auto wrong = p.command("LPUSH", "key:0", "x");
  const auto crossed = p.command("MSET", "a", "1", "b", "2");
  const auto many = p.mget({"key:1", "key:2", "none", "key:3"});
  PipelineResults results = p.exec();
  for (int i = 0; i < 300; ++i) {
    REQUIRE(results[gets[static_cast<std::size_t>(i)]].value() == std::to_string(i));
  }
  CHECK(results.at(wrong.index).error().server_text().starts_with("WRONGTYPE"));
  CHECK(results.at(crossed.index).error().code() == ErrorCode::cross_slot);
  const auto values = results[many].value();
  REQUIRE(values.size() == 4);
  CHECK(values[0] == "1");
  CHECK_FALSE(values[2]);
  CHECK(values[3] == "3");

  CHECK(p.size() == 0);
  const auto again = p.get("key:7");
  CHECK(p.exec()[again].value() == "7");
}

TEST_CASE("B45: pipelines over the same nodes in opposite order never wait for each other") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 300; ++round) {
        Pipeline p = client.pipeline();
        for (int i = 0; i < 6; ++i)
          (void)p.incr("k" + std::to_string(t % 2 == 0 ? i : 5 - i));
        if (!p.exec().all_ok()) ++bad;
        (void)client.get("k0");  // a plain command beside it
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(bad == 0);
  std::int64_t sum = 0;
  for (int i = 0; i < 6; ++i)
    sum += std::stoll(client.get("k" + std::to_string(i)).value());
  CHECK(sum == 4 * 300 * 6);
}
