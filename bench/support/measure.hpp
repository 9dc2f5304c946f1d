// Sides run in turn, round by round, and what that gives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/deployment.hpp"
#include "support/side.hpp"
#include "support/statistics.hpp"

namespace slotwise::bench {

/// Of one run of one side.
struct Measurement {
  Counts counts;
  double client_cpu_us = 0;  ///< user and system time an operation, of the whole client process
  double server_cpu_us = 0;  ///< of all servers together

  double rate() const {
    return counts.seconds > 0 ? static_cast<double>(counts.operations) / counts.seconds : 0;
  }
};

Measurement measure(Side& side, const Deployment& deployment, double seconds);

/// All rounds of a side.
using Measurements = std::vector<Measurement>;
using Figure = std::function<double(const Measurement&)>;

std::vector<double> figures(const Measurements& rounds, const Figure& figure);
double median_of(const Measurements& rounds, const Figure& figure);

struct RoundOptions {
  int rounds = 9;
  double seconds = 0.5;  ///< of one run; many short rounds: noise then hits all sides alike
};

/// First each side runs for a moment without being counted; then A B C, A B C, ... The result is in
/// the order of the sides.
std::vector<Measurements> run_in_turn(const std::vector<Side*>& sides, const Deployment& deployment,
                                      const RoundOptions& options);

}  // namespace slotwise::bench
