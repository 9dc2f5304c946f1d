// One caller for each shard, who talks to that shard only, and remembers how long every call took.
//
// A probe's worker that waits for a dead shard does nothing else meanwhile, so a probe cannot tell
// whether calls to the other shards suffer. These callers can.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <slotwise/client.hpp>

#include "kit/cluster.hpp"

namespace slotwise::survival {

using Clock = std::chrono::steady_clock;

struct CallSample {
  Clock::time_point sent;
  Clock::time_point ended;
  bool write = false;
  bool ok = false;
};

struct Latency {
  std::size_t calls = 0;
  std::size_t failed = 0;
  double p99_ms = 0;
  double slowest_ms = 0;
};

/// A shard is named by the index of the node that owned it at the start.
///
/// Thread rule: one thread. What was measured may be asked for after stop() only, except
/// answered_since().
class ShardCallers {
 public:
  /// A SET and a GET in turn; true: a good reply.
  using Call = std::function<bool(bool write, const std::string& key)>;

  /// Callers that share this client. Deadline 20 s.
  ShardCallers(const Client& client, const kit::Cluster& cluster);
  /// Callers with a blocking connection each and nothing between them and the servers: they show
  /// what the machine and the servers themselves do to a call. One whose connection breaks ends.
  static ShardCallers bare(const kit::Cluster& cluster);
  ShardCallers(ShardCallers&&) noexcept;
  ~ShardCallers();

  void stop();
  std::vector<std::size_t> shards() const;

  /// Calls of which some part lies between the two moments.
  Latency between(std::size_t shard, Clock::time_point from, Clock::time_point to) const;
  /// When the first write that was answered well after `moment` was answered.
  std::optional<Clock::time_point> first_write_after(std::size_t shard,
                                                     Clock::time_point moment) const;
  /// True as soon as a write that was sent after `moment` was answered well. Any time.
  bool answered_since(std::size_t shard, Clock::time_point moment) const;
  std::size_t failed() const;  ///< of all shards

 private:
  struct Caller;
  ShardCallers() = default;
  void add(std::size_t shard, std::vector<std::string> keys, Call call);
  const Caller& of(std::size_t shard) const;

  std::vector<std::unique_ptr<Caller>> callers_;
};

/// `count` keys in different slots of the node, which differ by `prefix` from those of others.
std::vector<std::string> keys_of_shard(const kit::Cluster& cluster, std::size_t node,
                                       const std::string& prefix, std::size_t count);

}  // namespace slotwise::survival
