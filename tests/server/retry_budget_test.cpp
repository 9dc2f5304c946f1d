// An outage is not answered with a storm: Config::max_retries_per_second.
#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/support.hpp"

using namespace slotwise;
using namespace slotwise::test;

namespace {

constexpr std::size_t waiting_calls = 500;
constexpr std::size_t per_second = 100;

/// Two shards that answer every GET with this error.
struct Outage {
  kit::ScriptedCluster nodes{2};
  std::vector<Task<std::optional<std::string>>> calls;

  explicit Outage(const char* error) {
    for (std::size_t shard = 0; shard < nodes.size(); ++shard)
      nodes[shard].always({"GET"}, resp::error(error));
  }
  void end(std::size_t shard) { nodes[shard].always({"GET"}, resp::bulk("v")); }

  /// Without the budget each call would be sent a hundred times a second.
  Client client(int max_retries_per_second, std::chrono::milliseconds backoff_min = 1ms,
                std::chrono::milliseconds backoff_max = 20ms) {
    Config config = Config::parse(nodes.uri());
    config.timeout = 60s;
    config.retry_backoff_min = backoff_min;
    config.retry_backoff_max = backoff_max;
    config.max_retries_per_second = max_retries_per_second;
    return Client::connect(config);
  }
  /// Calls to both shards.
  void begin_calls(const Client& client) {
    for (std::size_t i = 0; i < waiting_calls; ++i)
      calls.push_back(client.async().get("key:" + std::to_string(i)));
  }
  std::size_t count(const kit::Command& command) {
    return nodes[0].count(command) + nodes[1].count(command);
  }
  void wait_for_gets(std::size_t at_least) {
    kit::wait_until([&] { return count({"GET"}) >= at_least; }, 30s, "the calls to be sent again");
  }
  /// When the GETs came, in order.
  std::vector<Clock::time_point> gets() {
    std::vector<Clock::time_point> when;
    for (std::size_t shard = 0; shard < nodes.size(); ++shard) {
      for (const auto& get : nodes[shard].commands({"GET"}))
        when.push_back(get.when);
    }
    std::sort(when.begin(), when.end());
    return when;
  }
};

constexpr const char* try_again = "TRYAGAIN Multiple keys request during rehashing of slot";
constexpr const char* cluster_down = "CLUSTERDOWN The cluster is down";

}  // namespace

TEST_CASE("max_retries_per_second: calls that wait do not make more, and all go when it is over") {
  const char* const error = GENERATE(try_again, cluster_down);
  INFO(error);
  Outage outage(error);
  const Client client = outage.client(per_second);
  outage.begin_calls(client);
  // A second's worth at once, and then two seconds of the pace.
  constexpr std::size_t retries = 3 * per_second;
  outage.wait_for_gets(waiting_calls + retries);
  const auto when = outage.gets();
  CHECK(when[waiting_calls + retries - 1] - when.front() >= 1800ms);
  CHECK(client.stats().pending == waiting_calls);
  // Nor does the asking for a map become more with the calls.
  const auto lasted = Clock::now() - when.front();
  CHECK(outage.count({"CLUSTER", "SLOTS"}) <= 2 + static_cast<std::size_t>(lasted / 200ms));

  outage.end(0);
  outage.end(1);
  const auto over = Clock::now();
  for (auto& call : outage.calls)
    CHECK(call.get() == "v");
  CHECK(ms_since(over) < 2000);  // at the pace it would have been five seconds
}

TEST_CASE("max_retries_per_second: what needs no retry does not wait for the budget") {
  Outage outage(cluster_down);
  outage.end(1);
  const Client client = outage.client(per_second);
  outage.begin_calls(client);
  outage.wait_for_gets(waiting_calls + per_second);  // it is spent
  std::string healthy = "key:0";
  for (int i = 1; slot(healthy) < 8192; ++i)
    healthy = "key:" + std::to_string(i);
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i)
    CHECK(client.get(healthy) == "v");
  CHECK(ms_since(start) < 1000);
}

TEST_CASE("max_retries_per_second: a healthy shard's retry does not queue behind the others'") {
  Outage outage(cluster_down);
  outage.end(1);
  // Ten retries a second for 250 calls whose turns are spread over two seconds: the next free one
  // would be half a minute away.
  const Client client = outage.client(10, 1s, 2s);
  outage.begin_calls(client);
  outage.wait_for_gets(waiting_calls + 15);
  const std::string healthy = "{foo}:other";
  REQUIRE(slot(healthy) >= 8192);
  outage.nodes[1].on({"MGET"}, {resp::error(try_again), resp::array({resp::bulk("v")})});
  const auto start = Clock::now();
  CHECK(client.mget({healthy})[0] == "v");
  CHECK(outage.nodes[1].count({"MGET"}) == 2);
  CHECK(ms_since(start) < 5000);  // its own pause is one to two seconds
}

TEST_CASE("max_retries_per_second: 0 is no limit") {
  Outage outage(try_again);
  const Client client = outage.client(0);
  outage.begin_calls(client);
  outage.wait_for_gets(waiting_calls + 50 * per_second);
  const auto when = outage.gets();
  CHECK(when[waiting_calls + 50 * per_second - 1] - when.front() < 10s);  // 49 s with the limit
}
