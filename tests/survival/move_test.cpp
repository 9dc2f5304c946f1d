// Slots move, shards come and go, and nobody dies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "cli/load/load.hpp"
#include "kit/wait.hpp"
#include "survival/harness.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// MSET and MGET of four keys of one slot without pause, so that some of them meet the slot half
/// moved (TRYAGAIN). What one MSET wrote, the next MGET must find, whole.
class MultiKeyCallers {
 public:
  MultiKeyCallers(const Client& client, int first_slot, int last_slot) {
    for (int n = 0; tags_.size() < 8; ++n) {
      std::string tag = fmt::format("multi{}", n);
      if (slot(tag) >= first_slot && slot(tag) <= last_slot) tags_.push_back(std::move(tag));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      threads_.emplace_back([this, &client, i](const std::stop_token& stop) {
        for (std::uint64_t n = 0; !stop.stop_requested(); ++n)
          write_and_read(client, tags_[(2 * n + i) % tags_.size()], n);
      });
    }
  }

  std::uint64_t stop() {
    threads_.clear();
    return rounds_;
  }
  std::uint64_t failed() const { return failed_; }
  std::uint64_t wrong() const { return wrong_; }
  const std::string& failure() const { return failure_; }  // after stop()

 private:
  void write_and_read(const Client& client, const std::string& tag, std::uint64_t n) {
    std::array<std::string, 4> keys;
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = fmt::format("{{{}}}:{}", tag, i);
    const std::string value = fmt::format("{}", n);
    const Client patient =
        client.with({.timeout = 20s, .idempotent = true, .read_from = {}, .node = {}});
    try {
      (void)patient.command("MSET", keys[0], value, keys[1], value, keys[2], value, keys[3], value);
      const auto found = patient.command<std::vector<std::optional<std::string>>>(
          "MGET", keys[0], keys[1], keys[2], keys[3]);
      for (const auto& text : found)
        wrong_ += text == value ? 0 : 1;
      ++rounds_;
    } catch (const Error& error) {
      ++failed_;
      const std::scoped_lock lock(mutex_);
      failure_ = error.what();
    }
  }

  std::vector<std::string> tags_;
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::mutex mutex_;
  std::string failure_;  // guarded by mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE("survive a: 3 to 6 shards and back by MIGRATESLOTS under full load", "[alone]") {
  kit::Cluster cluster({.primaries = 3});
  if (!cluster.binaries().has_migrateslots()) SKIP("this server has no MIGRATESLOTS");
  const Client client = Client::connect(cluster.uri());
  cli::Load load(client, {.threads = 2, .in_flight = 32, .keys = 20'000});
  load.start();
  ProbeRun probe(client);
  probe.wait_for_writes(5000);

  cluster.add_shards(3);
  CHECK(cluster.primaries().size() == 6);
  probe.wait_for_writes(5000);
  const cli::LoadRow grown = load.row();
  cluster.remove_shards(3);
  CHECK(cluster.primaries().size() == 3);
  probe.wait_for_writes(5000);

  load.request_stop();
  kit::wait_until([&] { return load.finished(); }, 20s, "the load to end");
  const cli::LoadTotals loaded = load.totals();
  const auto totals = probe.finish();
  // (The kit itself asks for CLUSTER SLOTS here, so the client's own count is told.)
  report(
      "a", totals, static_cast<std::int64_t>(totals.refreshes),
      fmt::format("load: {} operations, errors {}, slowest {:.0f} ms, longest pause {:.0f} ms",
                  loaded.ops, loaded.errors_by_code, loaded.latency.max_ms, loaded.max_pause_ms));
  check_clean(totals);
  CHECK(grown.errors == 0);
  CHECK(loaded.errors == 0);
  CHECK(loaded.ops > 10'000);
  CHECK(totals.slowest_ms < 1500);
}

TEST_CASE("survive b: slots moved key by key, with commands of several keys running") {
  kit::Cluster cluster({.primaries = 3});
  const Client client = Client::connect(cluster.uri());
  ProbeRun probe(client);
  constexpr int last_slot = 1499;
  constexpr int last_slow_slot = 199;
  MultiKeyCallers several(client, 0, last_slow_slot);
  probe.wait_for_writes(5000);
  cluster.reset_counts();

  cluster.migrate_legacy(0, last_slot, cluster.owner_of(16383));
  // Once more slot by slot and with the keys of a slot on both sides for a moment.
  const auto pause_half_way = [](int, kit::SlotMigration::Step step) {
    if (step == kit::SlotMigration::Step::half_moved) std::this_thread::sleep_for(5ms);
  };
  cluster.migrate_legacy(0, last_slow_slot, cluster.owner_of(8191), pause_half_way);
  probe.wait_for_writes(2000);

  const auto map_requests = cluster.command_count("cluster|slots");
  const auto asks = cluster.error_count("ASK");
  const auto try_agains = cluster.error_count("TRYAGAIN");
  const auto rounds = several.stop();
  const auto totals = probe.finish();
  report(
      "b", totals, map_requests,
      fmt::format("ASK {}, TRYAGAIN {}, {} rounds of MSET and MGET, {} failed, {} wrong {}", asks,
                  try_agains, rounds, several.failed(), several.wrong(), several.failure()));
  check_clean(totals);
  CHECK(several.failed() == 0);
  CHECK(several.wrong() == 0);
  CHECK(rounds > 100);
  CHECK(asks > 0);  // else nothing was tried
  CHECK(try_agains > 0);
}

TEST_CASE("survive c: CLUSTER FAILOVER", "[alone]") {
  kit::Cluster cluster({.primaries = 3, .replicas = 1});
  const Client client = Client::connect(cluster.uri());
  ProbeRun probe(client);
  probe.wait_for_writes(5000);
  cluster.reset_counts();

  cluster.failover(cluster.owner_of(0));
  probe.wait_for_writes(5000);

  const auto map_requests = cluster.command_count("cluster|slots");
  const auto totals = probe.finish();
  report("c (CLUSTER FAILOVER)", totals, map_requests);
  check_clean(totals);
  CHECK(totals.slowest_ms < 2000);
}

TEST_CASE("survive c: SIGTERM with a failover at shutdown", "[alone]") {
  if (!kit::ServerBinaries::find().is_valkey(9)) SKIP("this server does not fail over at shutdown");
  kit::Cluster cluster(
      {.primaries = 3, .replicas = 1, .config = {{"shutdown-on-sigterm", "failover"}}});
  const Client client = Client::connect(cluster.uri());
  ProbeRun probe(client);
  probe.wait_for_writes(5000);
  cluster.reset_counts();

  const std::size_t victim = cluster.owner_of(0);
  const auto terminated = Clock::now();
  cluster.stop(victim);
  const auto ended = Clock::now();
  wait_for_heir(cluster, 0, victim, 10s);
  probe.wait_until_all_write();
  probe.wait_for_writes(5000);

  const auto map_requests = cluster.command_count("cluster|slots");
  const auto totals = probe.finish();
  report("c (SIGTERM)", totals, map_requests,
         fmt::format("SIGTERM took the server {:.0f} ms", ms_between(terminated, ended)));
  check_clean(totals);
  CHECK(totals.slowest_ms < 2000);
}
