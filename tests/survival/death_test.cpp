// A node dies.
#include <fmt/format.h>

#include <thread>

#include "kit/wait.hpp"
#include "survival/harness.hpp"

using namespace slotwise;
using namespace slotwise::survival;

TEST_CASE("survive d: SIGKILL of a primary, its replica takes over", "[alone]") {
  // With the default `yes` every other node answers -CLUSTERDOWN too while a slot has no owner:
  // that is the servers' word, and calls to healthy shards would have to wait for it.
  kit::Cluster cluster({.primaries = 3,
                        .replicas = 1,
                        .node_timeout = 2s,
                        .config = {{"cluster-require-full-coverage", "no"}}});
  const Client client = Client::connect(cluster.uri());
  ShardCallers callers(client, cluster);
  ShardCallers bare = ShardCallers::bare(cluster);
  ProbeRun probe(client, {.rate = 4000});
  probe.wait_for_writes(2000);
  std::this_thread::sleep_for(2s);  // measures how it is before

  const std::size_t victim = cluster.owner_of(0);
  const int slot = slotwise::slot(keys_of_shard(cluster, victim, "caller", 1).front());
  cluster.reset_counts();
  const auto killed = Clock::now();
  cluster.kill(victim);
  const std::size_t heir = wait_for_heir(cluster, slot, victim, 15s);
  const auto serves = wait_until_serves(cluster.server(heir),
                                        keys_of_shard(cluster, heir, "served", 1).front(), 5s);
  kit::wait_until([&] { return callers.answered_since(victim, serves); }, 10s,
                  "calls to the dead shard to be answered");
  probe.wait_until_all_write();
  const auto works = Clock::now();
  std::this_thread::sleep_for(2s);  // late map requests count too
  const auto map_requests = cluster.command_count("cluster|slots");

  callers.stop();
  bare.stop();
  const auto totals = probe.finish();
  const auto first = callers.first_write_after(victim, killed + 200ms);
  REQUIRE(first);
  std::string figures = fmt::format(
      "took over after {:.0f} ms, first write {:.0f} ms later, all {:.0f} ms later",
      ms_between(killed, serves), ms_between(serves, *first), ms_between(serves, works));
  for (const std::size_t shard : callers.shards()) {
    if (shard == victim) continue;
    figures += "; " + check_unaffected(callers, bare, shard, killed, works);
  }
  report("d", totals, map_requests, figures);
  CHECK(totals.failed == 0);
  CHECK(totals.wrong == 0);
  CHECK(callers.failed() == 0);
  CHECK(map_requests <= 10);
  CHECK(ms_between(serves, *first) <= 1000);
}

TEST_CASE("survive e: SIGKILL and restart on the same address, no failover", "[alone]") {
  kit::Cluster cluster({.primaries = 3, .node_timeout = 15s, .appendonly = true});
  const Client client = Client::connect(cluster.uri());
  ShardCallers callers(client, cluster);
  ProbeRun probe(client, {.rate = 4000});
  probe.wait_for_writes(2000);

  const std::size_t victim = cluster.owner_of(0);
  const std::string key = keys_of_shard(cluster, victim, "served", 1).front();
  cluster.reset_counts();
  const auto killed = Clock::now();
  cluster.kill(victim);
  std::this_thread::sleep_until(killed + 2s);  // so long its supervisor takes
  cluster.restart(victim);
  const auto serves = wait_until_serves(cluster.server(victim), key, 15s);
  kit::wait_until([&] { return callers.answered_since(victim, serves); }, 10s,
                  "calls to the restarted node to be answered");
  probe.wait_until_all_write();
  const auto works = Clock::now();
  const auto map_requests = cluster.command_count("cluster|slots");
  probe.wait_for_writes(1000);

  callers.stop();
  const auto totals = probe.finish();
  const auto first = callers.first_write_after(victim, killed + 200ms);
  REQUIRE(first);
  report("e", totals, map_requests,
         fmt::format(
             "served again after {:.0f} ms, first write {:.0f} ms later, all {:.0f} ms later",
             ms_between(killed, serves), ms_between(serves, *first), ms_between(serves, works)));
  check_clean(totals);
  CHECK(callers.failed() == 0);
  CHECK(ms_between(serves, *first) <= 1000);
}
