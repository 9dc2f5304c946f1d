#include "support/measure.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace slotwise::bench {

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace

Measurement measure(Side& side, const Deployment& deployment, double seconds) {
  const int who = side.is_child_process() ? RUSAGE_CHILDREN : RUSAGE_SELF;
  const double client_before = cpu_seconds(who);
  const double servers_before = deployment.cpu_seconds();
  Measurement measured;
  measured.counts = side.run(seconds);
  const double operations = std::max(1.0, static_cast<double>(measured.counts.operations));
  measured.client_cpu_us = (cpu_seconds(who) - client_before) * 1e6 / operations;
  measured.server_cpu_us = (deployment.cpu_seconds() - servers_before) * 1e6 / operations;
  return measured;
}

std::vector<double> figures(const Measurements& rounds, const Figure& figure) {
  std::vector<double> all;
  std::transform(rounds.begin(), rounds.end(), std::back_inserter(all), figure);
  return all;
}

double median_of(const Measurements& rounds, const Figure& figure) {
  return median(figures(rounds, figure));
}

std::vector<Measurements> run_in_turn(const std::vector<Side*>& sides, const Deployment& deployment,
                                      const RoundOptions& options) {
  for (auto* side : sides)
    side->run(std::min(0.3, options.seconds));

  std::vector<Measurements> all(sides.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i)
      all[i].push_back(measure(*sides[i], deployment, options.seconds));
  }
  return all;
}

}  // namespace slotwise::bench
