// A node is there and says nothing.
#include <functional>
#include <thread>

#include "survival/outage.hpp"

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
  Outage outage(cluster, Outage::Others::measured);

  outage.begin([&] { silence.begin(outage.victim()); });
  silence.promote_replica(outage.victim());
  outage.wait_for_heir(11s);
  outage.wait_until_all_work(10s);
  std::this_thread::sleep_until(outage.begun() + 12s);
  const auto map_requests = cluster.command_count("cluster|slots");
  const auto thawed = Clock::now();
  silence.end(outage.victim());
  std::this_thread::sleep_for(1s);  // the old primary says what it likes meanwhile
  outage.probe().wait_until_all_write();

  const auto figures = outage.finish(how, map_requests, thawed);
  CHECK(outage.works() < thawed);
  CHECK(figures.map_requests <= 10);
  CHECK(figures.first_write_ms <= 1000);
}

}  // namespace

TEST_CASE("survive h: SIGSTOP of a primary for 12 s, its replica takes over", "[alone]") {
  kit::Cluster cluster(independent_shards());
  check_silence(cluster, "h (SIGSTOP)",
                {.begin = [&](std::size_t primary) { cluster.pause(primary); },
                 .promote_replica = [](std::size_t) { /* the cluster does it by itself */ },
                 .end = [&](std::size_t primary) { cluster.resume(primary); }});
}

TEST_CASE("survive h: the cable to a primary is cut for 12 s, its replica is promoted", "[alone]") {
  kit::ClusterOptions options = independent_shards();
  options.proxied = true;
  kit::Cluster cluster(options);
  // The bus is not cut, so the replica has to be told.
  const auto take_over = [&](std::size_t primary) {
    std::this_thread::sleep_for(4s);  // as long as an election would take
    cluster.server(cluster.replicas_of(primary).at(0)).command("CLUSTER", "FAILOVER", "TAKEOVER");
  };
  check_silence(cluster, "h (cut cable)",
                {.begin = [&](std::size_t primary) { cluster.proxy(primary).swallow(); },
                 .promote_replica = take_over,
                 .end = [&](std::size_t primary) { cluster.proxy(primary).heal(); }});
}
