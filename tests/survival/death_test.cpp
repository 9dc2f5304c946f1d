// A node dies.
#include <thread>

#include "survival/outage.hpp"

using namespace slotwise;
using namespace slotwise::survival;

TEST_CASE("survive d: SIGKILL of a primary, its replica takes over", "[alone]") {
  kit::Cluster cluster(independent_shards());
  Outage outage(cluster, Outage::Others::measured);

  outage.begin([&] { cluster.kill(outage.victim()); });
  outage.wait_for_heir(15s);
  outage.wait_until_all_work(10s);
  std::this_thread::sleep_for(2s);  // late map requests count too

  const auto figures = outage.finish("d", cluster.command_count("cluster|slots"));
  CHECK(figures.map_requests <= 10);
  CHECK(figures.first_write_ms <= 1000);
}

TEST_CASE("survive e: SIGKILL and restart on the same address, no failover", "[alone]") {
  kit::Cluster cluster({.primaries = 3, .node_timeout = 15s, .appendonly = true});
  Outage outage(cluster);

  outage.begin([&] { cluster.kill(outage.victim()); });
  std::this_thread::sleep_until(outage.begun() + 2s);  // so long its supervisor takes
  cluster.restart(outage.victim());
  outage.wait_until_restored(15s);
  outage.wait_until_all_work(10s);
  outage.probe().wait_for_writes(1000);

  const auto figures = outage.finish("e", cluster.command_count("cluster|slots"));
  check_clean(figures.totals);
  CHECK(figures.first_write_ms <= 1000);
}
