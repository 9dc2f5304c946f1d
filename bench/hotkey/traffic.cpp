#include "hotkey/traffic.hpp"

#include <numeric>

namespace slotwise::bench {

namespace {

double processor_seconds(kit::Server& server) {
  return std::stod(server.info("used_cpu_user")) + std::stod(server.info("used_cpu_sys"));
}

}  // namespace

ServerCounts::ServerCounts(kit::Cluster& cluster) : cluster_(cluster) {
  for (const std::size_t node : cluster.primaries())
    processor_seconds_.push_back(processor_seconds(cluster.server(node)));
  cluster.reset_counts();
}

void ServerCounts::add_to(Traffic& traffic, double seconds) const {
  const auto nodes = cluster_.primaries();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    traffic.calls.push_back(static_cast<double>(cluster_.command_count("get", nodes[i])));
    const double used = processor_seconds(cluster_.server(nodes[i])) - processor_seconds_[i];
    traffic.processors.push_back(used / seconds);
  }
  const double all = std::accumulate(traffic.calls.begin(), traffic.calls.end(), 0.0);
  for (double& calls : traffic.calls)
    calls /= all;
}

}  // namespace slotwise::bench
