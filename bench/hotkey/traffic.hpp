// Reads of which most go to one key, and what they did to each server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kit/cluster.hpp"

namespace slotwise::bench {

struct TrafficOptions {
  int threads = 32;
  double seconds = 2;
  double hot_share = 0.88;
};

/// Of one run.
struct Traffic {
  double per_second = 0;
  std::vector<double> calls;       ///< each server's share of all GETs that the servers counted
  std::vector<double> processors;  ///< how much of one each server used
};

/// Reads the hot key, or a cold one, until told to stop. Throws on a wrong value.
using Read = std::function<void()>;

/// `cold` keys are read by turns with the hot one, at random. Calls are counted by the servers.
Traffic run_traffic(kit::Cluster& cluster, const TrafficOptions& options, const Read& hot,
                    const std::function<void(std::size_t)>& cold, std::size_t cold_keys);

}  // namespace slotwise::bench
