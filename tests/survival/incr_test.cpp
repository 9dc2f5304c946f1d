// Writes that must not run twice.
#include <fmt/format.h>

#include <random>
#include <thread>

#include "survival/harness.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// Counters of a cluster are counted up.
struct Counting {
  kit::Cluster cluster;
  Client client = Client::connect(cluster.uri());
  ProbeRun probe{client, {.operation = cli::ProbeOperation::incr}};

  explicit Counting(kit::ClusterOptions options) : cluster(std::move(options)) {}

  std::size_t kill_a_primary() {
    probe.wait_for_writes(2000);
    cluster.reset_counts();
    const std::size_t victim = cluster.owner_of(0);
    cluster.kill(victim);
    return victim;
  }
  cli::ProbeTotals check(const char* how);
};

cli::ProbeTotals Counting::check(const char* how) {
  probe.wait_until_all_write();
  probe.wait_for_writes(1000);
  const auto map_requests = cluster.command_count("cluster|slots");
  const auto totals = probe.finish();
  report(how, totals, map_requests,
         fmt::format("sum {}, doubled {}, of the unknown ones {} ran", totals.sum, totals.doubled,
                     totals.ran));
  CHECK(totals.failed == 0);
  CHECK(totals.doubled == 0);
  CHECK(totals.wrong == 0);
  CHECK(totals.unread == 0);
  CHECK(totals.sum <= totals.acked + totals.unknown);
  return totals;
}

}  // namespace

TEST_CASE("survive i: INCR through SIGKILL and failover") {
  Counting counting({.primaries = 3, .replicas = 1});
  const std::size_t victim = counting.kill_a_primary();
  wait_for_heir(counting.cluster, 0, victim, 15s);
  // Replication is asynchronous: what the dead primary had acknowledged and not passed on is lost,
  // whatever a client does.
  (void)counting.check("i (failover)");
}

TEST_CASE("survive i: INCR through SIGKILL and restart") {
  Counting counting({.primaries = 3, .node_timeout = 15s, .appendonly = true});
  const std::size_t victim = counting.kill_a_primary();
  std::this_thread::sleep_for(1s);  // so long it is down
  counting.cluster.restart(victim);
  CHECK(counting.check("i (restart)").lost == 0);
}

TEST_CASE("survive i: INCR through connections that are cut anywhere") {
  Counting counting({.primaries = 3, .proxied = true});
  kit::Cluster& cluster = counting.cluster;
  for (const std::size_t node : cluster.members()) {
    // In the middle of commands, of replies, of the handshake.
    cluster.proxy(node).cut_new_connections(
        {.at_least = 1, .at_most = 20'000, .reset = node % 2 == 0, .seed = 7 + node});
  }
  counting.probe.wait_for_writes(1000);
  cluster.reset_counts();
  std::minstd_rand random(1);  // NOLINT: the same moments every time
  const auto end = Clock::now() + 6s;
  while (Clock::now() < end) {
    auto& proxy = cluster.proxy(random() % 3);
    (random() % 2 == 0) ? proxy.cut() : proxy.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
  }
  for (const std::size_t node : cluster.members())
    cluster.proxy(node).heal();
  CHECK(counting.check("i (cuts)").lost == 0);
}
