// One shard of a cluster goes away for a while: what its callers notice, and what everybody else
// does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "survival/harness.hpp"

namespace slotwise::survival {

/// Three shards of a primary and a replica, where a shard that is gone costs the others nothing.
/// With `cluster-require-full-coverage yes`, the default, every other node answers -CLUSTERDOWN too
/// while a slot has no owner: that is the servers' word, and calls to healthy shards would have to
/// wait for it.
kit::ClusterOptions independent_shards();

struct OutageFigures {
  cli::ProbeTotals totals;
  std::int64_t map_requests = 0;
  double first_write_ms = 0;  ///< the first good write, after the servers served again
};

/// A client with a probe (see ProbeRun) and a caller for each shard (see ShardCallers), and the
/// shard of slot 0, to which something is done.
///
/// Thread rule: one thread, and the functions in this order.
class Outage {
 public:
  enum class Others : std::uint8_t {
    not_measured,
    /// Takes two seconds before the event, to know how calls to the other shards were.
    measured,
  };

  /// Returns when writes are under way.
  explicit Outage(kit::Cluster& cluster, Others others = Others::not_measured);

  /// The node that owns the shard before the event.
  std::size_t victim() const noexcept { return victim_; }
  ProbeRun& probe() noexcept { return probe_; }

  void begin(const std::function<void()>& event);
  Clock::time_point begun() const noexcept { return begun_; }

  /// Until another node than the victim owns the shard, and takes a write.
  void wait_for_heir(std::chrono::milliseconds limit);
  /// Until the victim takes a write again.
  void wait_until_restored(std::chrono::milliseconds limit);
  /// After one of these: until every caller's writes are answered again.
  void wait_until_all_work(std::chrono::milliseconds limit);
  Clock::time_point works() const noexcept { return works_; }

  /// Ends the writing, reads everything back, prints the figures, and checks what holds of every
  /// outage: no call failed, no value is wrong, and calls to the other shards were as before until
  /// `others_until` (none: works()), if they are measured. `map_requests`: those since begin(), for
  /// the figures.
  OutageFigures finish(std::string_view scenario, std::int64_t map_requests,
                       std::optional<Clock::time_point> others_until = {});

 private:
  kit::Cluster& cluster_;
  Client client_;
  ShardCallers callers_;
  std::optional<ShardCallers> bare_;
  ProbeRun probe_;
  std::size_t victim_ = 0;
  int slot_ = 0;  // one that the shard's caller writes to
  std::string_view restored_by_;
  Clock::time_point begun_;
  Clock::time_point serves_;
  Clock::time_point works_;
};

}  // namespace slotwise::survival
