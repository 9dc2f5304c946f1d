// What the survival scenarios share: a probe that runs meanwhile, moments that matter, and one line
// of figures at the end, so that a reader of the log sees how much was in hand and not only
// "passed".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <slotwise/client.hpp>

#include "cli/probe/probe.hpp"
#include "kit/cluster.hpp"
#include "survival/shard_callers.hpp"

namespace slotwise::survival {

using namespace std::chrono_literals;

/// The engine of `slotwise probe` with 8 workers and a call deadline of 20 s.
class ProbeRun {
 public:
  /// `options`: workers and timeout are those of above whatever they say.
  explicit ProbeRun(const Client& client, cli::ProbeOptions options = {});

  /// Until so many more writes were acknowledged.
  void wait_for_writes(std::uint64_t more);
  /// Until every worker has got an answer to a write, so that none waits for a dead node any more.
  void wait_until_all_write();
  /// Ends the writing and reads everything back.
  cli::ProbeTotals finish();

 private:
  static constexpr int workers = 8;
  cli::Probe probe_;
};

/// "survive d: acked 51234, failed 0, ..., map requests 7; MORE"
void report(std::string_view scenario, const cli::ProbeTotals& totals, std::int64_t map_requests,
            std::string_view more = {});

/// failed 0, lost 0, and nothing else amiss.
void check_clean(const cli::ProbeTotals& totals);

/// Calls to `shard` while something happened to another one, from `event` to `end`, against the two
/// seconds before. What the machine itself does to a call, seen by callers without slotwise, comes
/// on top of the bounds: p99 within twice of before, no call above 100 ms. Returns the figures.
std::string check_unaffected(const ShardCallers& callers, const ShardCallers& bare,
                             std::size_t shard, Clock::time_point event, Clock::time_point end);

/// Until the server takes a write to the key; the moment of its answer.
Clock::time_point wait_until_serves(const kit::Server& server, const std::string& key,
                                    std::chrono::milliseconds limit);

/// Until another node than `dead` owns the slot in every running node's view. (Not by CLUSTER
/// SLOTS as kit's own waiting does: those requests are counted here.)
std::size_t wait_for_heir(const kit::Cluster& cluster, int slot, std::size_t dead,
                          std::chrono::milliseconds limit);

double ms_between(Clock::time_point from, Clock::time_point to);

}  // namespace slotwise::survival
