// A node is there and says nothing.
#include <fmt/format.h>

#include <functional>
#include <thread>

#include "kit/wait.hpp"
#include "survival/harness.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

struct Silence {
  std::function<void(std::size_t primary)> begin;
  std::function<void(std::size_t primary)> promote_replica;
  std::function<void(std::size_t primary)> end;
};

/// A primary falls silent for 12 s, and its replica takes over.
void check_silence(kit::Cluster& cluster, const char* how, const Silence& silence) {
  const Client client = Client::connect(cluster.uri());
  ShardCallers callers(client, cluster);
  ShardCallers bare = ShardCallers::bare(cluster);
  ProbeRun probe(client, {.rate = 4000});
  probe.wait_for_writes(2000);
  std::this_thread::sleep_for(2s);  // measures how it is before

  const std::size_t victim = cluster.owner_of(0);
  const int slot = slotwise::slot(keys_of_shard(cluster, victim, "caller", 1).front());
  cluster.reset_counts();
  const auto stopped = Clock::now();
  silence.begin(victim);
  silence.promote_replica(victim);
  const std::size_t heir = wait_for_heir(cluster, slot, victim, 11s);
  const auto serves = wait_until_serves(cluster.server(heir),
                                        keys_of_shard(cluster, heir, "served", 1).front(), 5s);
  kit::wait_until([&] { return callers.answered_since(victim, serves); }, 10s,
                  "calls to the stopped shard to be answered");
  probe.wait_until_all_write();
  const auto works = Clock::now();
  std::this_thread::sleep_until(stopped + 12s);
  const auto map_requests = cluster.command_count("cluster|slots");
  const auto thawed = Clock::now();
  silence.end(victim);
  std::this_thread::sleep_for(1s);  // the old primary says what it likes meanwhile
  probe.wait_until_all_write();

  callers.stop();
  bare.stop();
  const auto totals = probe.finish();
  const auto first = callers.first_write_after(victim, stopped + 200ms);
  REQUIRE(first);
  std::string figures = fmt::format(
      "took over after {:.0f} ms, first write {:.0f} ms later, all {:.0f} ms later",
      ms_between(stopped, serves), ms_between(serves, *first), ms_between(serves, works));
  for (const std::size_t shard : callers.shards()) {
    if (shard == victim) continue;
    figures += "; " + check_unaffected(callers, bare, shard, stopped, thawed);
  }
  report(how, totals, map_requests, figures);
  CHECK(totals.failed == 0);
  CHECK(totals.wrong == 0);
  CHECK(callers.failed() == 0);
  CHECK(works < thawed);
  CHECK(map_requests <= 10);
  CHECK(ms_between(serves, *first) <= 1000);
}

}  // namespace

TEST_CASE("survive h: SIGSTOP of a primary for 12 s, its replica takes over", "[alone]") {
  // See scenario d for why not `yes`.
  kit::Cluster cluster({.primaries = 3,
                        .replicas = 1,
                        .node_timeout = 2s,
                        .config = {{"cluster-require-full-coverage", "no"}}});
  check_silence(cluster, "h (SIGSTOP)",
                {.begin = [&](std::size_t primary) { cluster.pause(primary); },
                 .promote_replica = [](std::size_t) { /* the cluster does it by itself */ },
                 .end = [&](std::size_t primary) { cluster.resume(primary); }});
}

TEST_CASE("survive h: the cable to a primary is cut for 12 s, its replica is promoted", "[alone]") {
  // The bus is not cut, so the replica has to be told.
  kit::Cluster cluster({.primaries = 3,
                        .replicas = 1,
                        .node_timeout = 2s,
                        .config = {{"cluster-require-full-coverage", "no"}},
                        .proxied = true});
  const auto take_over = [&](std::size_t primary) {
    std::this_thread::sleep_for(4s);  // as long as an election would take
    cluster.server(cluster.replicas_of(primary).at(0)).command("CLUSTER", "FAILOVER", "TAKEOVER");
  };
  check_silence(cluster, "h (cut cable)",
                {.begin = [&](std::size_t primary) { cluster.proxy(primary).swallow(); },
                 .promote_replica = take_over,
                 .end = [&](std::size_t primary) { cluster.proxy(primary).heal(); }});
}
