// Nothing piles up with sentinels either.
#include <fmt/format.h>

#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "survival/process_use.hpp"
#include "survival/sentinel_scene.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// How many connections to servers the client has is its own affair, up to its limit.
ProcessUse without_connections(const Client& client) {
  ProcessUse use = ProcessUse::now();
  for (const Stats::Node& node : client.stats().nodes) {
    CHECK(node.connections <= 2 + static_cast<std::size_t>(Config().direct_connections));
    use.descriptors -= node.connections;
  }
  return use;
}

std::size_t connections_at(kit::SentinelSet& set) {
  std::size_t all = 0;
  for (std::size_t i = 0; i < set.sentinel_count(); ++i)
    all += std::stoul(set.sentinel(i).info("connected_clients"));
  for (std::size_t i = 0; i < set.server_count(); ++i)
    all += std::stoul(set.server(i).info("connected_clients"));
  return all;
}

}  // namespace

TEST_CASE("survive sentinel k: 10 failovers in a row") {
  // Sentinels do not try again before twice the failover-timeout.
  kit::SentinelSet set({.replicas = 2, .sentinels = 3, .failover_timeout = 1500ms, .quick = true});
  SentinelScene scene(set);
  const auto fail_over = [&](int count) {
    for (int n = 0; n < count; ++n) {
      // One that finds no good replica just now, or still has something to do, is asked again.
      const auto old = set.primary();
      kit::wait_until(
          [&] {
            (void)set.sentinel(0).try_command("SENTINEL", "FAILOVER", "mymaster");
            return kit::wait_for([&] { return set.primary() != old; }, 4s);
          },
          30s, "a failover");
      set.wait_ready(30s);
    }
    scene.wait_until_all_write(Clock::now(), 10s);
  };
  fail_over(3);
  const ProcessUse before = without_connections(scene.client());
  const auto start = Clock::now();
  fail_over(10);
  const double seconds = ms_between(start, Clock::now()) / 1000;
  // Between two attempts of a connection, which has a descriptor while it is under way.
  ProcessUse after;
  (void)kit::wait_for(
      [&] {
        after = without_connections(scene.client());
        return after.descriptors <= before.descriptors;
      },
      3s);
  scene.finish("k", fmt::format("10 failovers in {:.1f} s: {} -> {}", seconds, before.to_string(),
                                after.to_string()));
  check_flat(before, after);
}

TEST_CASE("survive sentinel k: 300 clients come and go") {
  kit::SentinelSet set({.replicas = 1, .sentinels = 3});
  const auto come_and_go = [&](int count) {
    for (int n = 0; n < count; ++n) {
      const Client client = Client::connect(set.uri());
      client.set("k", "v");
      REQUIRE(client.get("k") == "v");
    }
  };
  come_and_go(30);
  const auto at_servers = connections_at(set);
  const ProcessUse before = ProcessUse::now();
  const auto start = Clock::now();
  come_and_go(300);
  const double seconds = ms_between(start, Clock::now()) / 1000;
  const ProcessUse after = ProcessUse::now();
  fmt::print("flat: 300 clients of sentinels in {:.1f} s: {} -> {}\n", seconds, before.to_string(),
             after.to_string());
  check_flat(before, after);
  kit::wait_until([&] { return connections_at(set) <= at_servers; }, 5s,
                  "the servers to have no more connections than before");
}
