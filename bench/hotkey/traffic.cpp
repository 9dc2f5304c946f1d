#include "hotkey/traffic.hpp"

#include <numeric>
#include <random>
#include <string>

#include "support/drive.hpp"

namespace slotwise::bench {

namespace {

double processor_seconds(kit::Server& server) {
  return std::stod(server.info("used_cpu_user")) + std::stod(server.info("used_cpu_sys"));
}

}  // namespace

Traffic run_traffic(kit::Cluster& cluster, const TrafficOptions& options, const Read& hot,
                    const std::function<void(std::size_t)>& cold, std::size_t cold_keys) {
  const auto nodes = cluster.primaries();
  cluster.reset_counts();
  std::vector<double> before;
  for (const std::size_t node : nodes)
    before.push_back(processor_seconds(cluster.server(node)));
  const Counts counts = run_threads(
      options.threads, options.seconds, 1, [&](int thread, const Stop& stop, ThreadCounts& mine) {
        std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 1);
        std::bernoulli_distribution is_hot(options.hot_share);
        std::uniform_int_distribution<std::size_t> which(0, cold_keys - 1);
        for (; !stop.over(); ++mine.operations) {
          if (is_hot(random)) {
            hot();
          } else {
            cold(which(random));
          }
        }
      });
  Traffic traffic{.per_second = static_cast<double>(counts.operations) / counts.seconds};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    traffic.calls.push_back(static_cast<double>(cluster.command_count("get", nodes[i])));
    traffic.processors.push_back((processor_seconds(cluster.server(nodes[i])) - before[i]) /
                                 counts.seconds);
  }
  const double all = std::accumulate(traffic.calls.begin(), traffic.calls.end(), 0.0);
  for (double& calls : traffic.calls)
    calls /= all;
  return traffic;
}

}  // namespace slotwise::bench
