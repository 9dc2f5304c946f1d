// Everything at once, at random.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "kit/error.hpp"
#include "kit/wait.hpp"
#include "survival/harness.hpp"

using namespace slotwise;
using namespace slotwise::survival;

namespace {

/// Random numbers that are the same for the same seed with every standard library.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  std::chrono::milliseconds time(int at_least, int at_most) {
    return std::chrono::milliseconds(
        at_least + static_cast<int>(below(static_cast<std::size_t>(at_most - at_least))));
  }

 private:
  std::mt19937 engine_;
};

/// What happens to processes and slots: one thing after the other, and the cluster serves again in
/// between, so that every call can be answered within its deadline.
class Processes {
 public:
  /// `handover` is held while one server hands slots over to another.
  Processes(kit::Cluster& cluster, std::uint32_t seed, std::mutex& handover)
      : cluster_(cluster), dice_(seed), handover_(handover) {}

  void run(Clock::time_point end) {
    while (Clock::now() < end) {
      switch (dice_.below(4)) {
        case 0:
          kill_and_restart();
          break;
        case 1:
          stop_and_continue();
          break;
        case 2:
          fail_over();
          break;
        default:
          migrate();
      }
      cluster_.wait_ready_to_serve();
      std::this_thread::sleep_for(dice_.time(100, 1000));
    }
  }

  std::string counts() const {
    return fmt::format("{} kills, {} stops, {} failovers ({} refused), {} migrations ({} refused)",
                       kills_, stops_, failovers_, refused_failovers_, migrations_,
                       refused_migrations_);
  }
  int all() const { return kills_ + stops_ + failovers_ + migrations_; }

 private:
  std::size_t any_node() {
    const auto members = cluster_.members();
    return members[dice_.below(members.size())];
  }

  void kill_and_restart() {
    const std::size_t node = any_node();
    cluster_.kill(node);
    std::this_thread::sleep_for(dice_.time(0, 2000));
    cluster_.restart(node);
    ++kills_;
  }

  void stop_and_continue() {
    const std::size_t node = any_node();
    cluster_.pause(node);
    std::this_thread::sleep_for(dice_.time(100, 3500));
    cluster_.resume(node);
    ++stops_;
  }

  // Replication goes through the proxies, so a failover or a migration may well be refused.
  void fail_over() {
    const std::scoped_lock lock(handover_);
    const auto primaries = cluster_.primaries();
    const auto replicas = cluster_.replicas_of(primaries[dice_.below(primaries.size())]);
    if (replicas.empty()) return;
    try {
      cluster_.failover(replicas.front());
      ++failovers_;
    } catch (const kit::Error&) {
      ++refused_failovers_;
    }
  }

  void migrate() {
    const std::scoped_lock lock(handover_);
    const auto primaries = cluster_.primaries();
    const int first = static_cast<int>(dice_.below(kit::slot_count - 500));
    try {
      cluster_.migrate(first, first + 499, primaries[dice_.below(primaries.size())]);
      ++migrations_;
    } catch (const kit::Error&) {
      ++refused_migrations_;
    }
  }

  kit::Cluster& cluster_;
  Dice dice_;
  std::mutex& handover_;
  int kills_ = 0;
  int stops_ = 0;
  int failovers_ = 0;
  int refused_failovers_ = 0;
  int migrations_ = 0;
  int refused_migrations_ = 0;
};

/// What happens to connections, all the time.
class Network {
 public:
  /// No fault while `handover` is held by another; null: at any time.
  Network(kit::Cluster& cluster, std::uint32_t seed, std::mutex* handover)
      : cluster_(cluster), dice_(seed), handover_(handover) {}

  void run(Clock::time_point end) {
    while (Clock::now() < end) {
      if (handover_ != nullptr) {
        const std::scoped_lock lock(*handover_);
        fault();
      } else {
        fault();
      }
      ++faults_;
      std::this_thread::sleep_for(dice_.time(0, 500));
    }
  }
  int faults() const { return faults_; }

 private:
  void fault() {
    kit::FaultProxy& proxy = cluster_.proxy(dice_.below(cluster_.size()));
    switch (dice_.below(5)) {
      case 0:
        proxy.cut();
        break;
      case 1:
        proxy.reset();
        break;
      case 2:
        proxy.swallow();
        std::this_thread::sleep_for(dice_.time(100, 2500));
        proxy.heal();
        break;
      case 3:
        proxy.set_faults({.delay = dice_.time(1, 50), .one_byte = dice_.below(2) == 0});
        std::this_thread::sleep_for(dice_.time(100, 1000));
        proxy.heal();
        break;
      default:
        proxy.stop_listening();
        proxy.reset();
        std::this_thread::sleep_for(dice_.time(100, 1000));
        proxy.listen_again();
    }
  }

  kit::Cluster& cluster_;
  Dice dice_;
  std::mutex* handover_;
  int faults_ = 0;
};

std::uint32_t choose_seed() {
  const char* given = std::getenv("SLOTWISE_SEED");
  return given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10))
                          : std::random_device()();
}

enum class Handovers { undisturbed, like_everything };

/// Random faults for a while; the probe's totals.
cli::ProbeTotals run_faults(const char* how, kit::ClusterOptions options, Handovers handovers,
                            std::chrono::seconds duration) {
  const std::uint32_t seed = choose_seed();
  fmt::print("survive {}: SLOTWISE_SEED={} repeats it\n", how, seed);
  std::fflush(stdout);
  options.primaries = 3;
  options.replicas = 1;
  options.node_timeout = 2s;
  options.proxied = true;
  kit::Cluster cluster(std::move(options));
  const Client client = Client::connect(cluster.uri());
  ProbeRun probe(client, {.rate = 4000});
  probe.wait_for_writes(2000);

  std::mutex handover;
  Processes processes(cluster, seed, handover);
  Network network(cluster, seed + 1, handovers == Handovers::undisturbed ? &handover : nullptr);
  const auto end = Clock::now() + duration;
  {
    const std::jthread beside([&] { network.run(end); });
    processes.run(end);
  }
  for (const std::size_t node : cluster.members())
    cluster.proxy(node).heal();
  cluster.wait_ready_to_serve();
  probe.wait_until_all_write();
  auto totals = probe.finish();
  report(how, totals, static_cast<std::int64_t>(totals.refreshes),
         fmt::format("{}, {} faults of connections", processes.counts(), network.faults()));
  CHECK(processes.all() >= 5);
  CHECK(network.faults() >= 10);
  return totals;
}

}  // namespace

TEST_CASE("survive l: 60 s of random faults, nothing is lost") {
  // A replica that takes over by itself may lack writes that the dead primary had acknowledged: the
  // servers' own loss. Here only those that are asked take over, and they wait for the last write.
  const auto totals =
      run_faults("l", {.appendonly = true, .config = {{"cluster-replica-no-failover", "yes"}}},
                 Handovers::undisturbed, 60s);
  CHECK(totals.failed == 0);
  CHECK(totals.wrong == 0);
  CHECK(totals.unread == 0);
  CHECK(totals.lost == 0);
}

TEST_CASE("survive l: 30 s of random faults, replicas take over by themselves") {
  const auto totals =
      run_faults("l (elections)", {.appendonly = true}, Handovers::like_everything, 30s);
  // What is lost was lost by the servers: see above.
  CHECK(totals.failed == 0);
  CHECK(totals.wrong == 0);
  CHECK(totals.unread == 0);
}
