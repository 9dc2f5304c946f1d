// Writes without pause and remembers what was acknowledged; then looks whether all of it is there.
//
// Thread rule: start(), row(), shard_rows(), verify() and totals() from one thread at a time; the
// rest from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <slotwise/client.hpp>

#include "cli/core/shard_tracker.hpp"
#include "cli/probe/keys.hpp"
#include "cli/probe/shard_meter.hpp"
#include "cli/probe/totals.hpp"
#include "cli/probe/writer.hpp"

namespace slotwise::cli {

struct ProbeOptions {
  int workers = 8;
  double rate = 0;  ///< writes a second of all workers together; 0: as fast as they can
  std::chrono::milliseconds timeout{20'000};  ///< deadline of each write and of each read-back
  std::string prefix = "probe";
  ProbeOperation operation = ProbeOperation::set;
  /// Worker i writes to keys of shard (i mod shards) only, as the shards are at the start: those
  /// who wait for a dead shard then take nothing from the measurement of the others.
  bool pin_to_shards = false;
};

/// Each worker makes writes 0, 1, 2 ... (see ProbeKeys) one after the other. A write is
/// acknowledged or recorded as failed, and never given a second time by the probe itself. The
/// client may repeat a SET within its deadline, since the probe says that this is harmless; an INCR
/// it must not.
///
/// Memory: per worker the highest n, and 16 bytes for each run of failures.
class Probe {
 public:
  /// The client must outlive the probe.
  Probe(const Client& client, ProbeOptions options);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void start();
  /// Workers end after the write that they are in.
  void request_stop() noexcept;
  /// True when request_stop() was called and all workers have ended.
  bool finished() const noexcept { return running_.load() == 0; }
  int running() const noexcept { return running_.load(); }

  double elapsed() const;  ///< seconds since start()
  /// What happened since the last call.
  ProbeRow row();
  /// What happened in each shard since the last call, in the order of ProbeTotals::shards. Writes
  /// that still wait are not in it.
  std::vector<ProbeShard> shard_rows();

  /// After finished(): reads every acknowledged write back. `progress` is called now and then from
  /// this thread; when it returns false, the rest counts as `unread`.
  using VerifyProgress = std::function<bool(std::uint64_t done, std::uint64_t all)>;
  void verify(const VerifyProgress& progress = {});

  /// Complete after verify().
  ProbeTotals totals() const;

  /// The key of a SET in the n-th write of a worker that is not pinned.
  static std::string key(const std::string& prefix, int worker, std::uint64_t n);
  /// The key that a worker is writing now.
  std::string current_key(int worker) const;
  /// How many of a worker's writes have ended, well or not.
  std::uint64_t tried(int worker) const;

 private:
  struct Worker;
  using Clock = std::chrono::steady_clock;

  void work(Worker& worker);
  void write(Worker& worker, const Client& client, std::uint64_t n);
  void record_failure(Worker& worker, std::uint64_t n, const Error& error);
  bool is_fault(const Error& error) const noexcept;
  bool pace(Worker& worker, Clock::duration pause);
  void watch_topology(const std::stop_token& stop);
  std::vector<std::string> shard_names() const;

  const Client& client_;
  const ProbeOptions options_;
  ProbeKeys keys_;
  Stats stats_at_start_;
  Stats stats_at_row_;
  Clock::time_point started_{};
  ProbeRow at_row_;  // what had been counted at the last row

  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> ended_ns_{0};  // when the last worker ended, since start

  mutable std::mutex shards_mutex_;
  ShardTracker shards_;  // shards(), update(): guarded by shards_mutex_
  std::vector<ShardMeter> meters_{ShardTracker::max_shards};
  observe::Histogram latency_;  // nanoseconds, of acknowledged writes
  std::jthread watcher_;

  mutable std::mutex failures_mutex_;
  std::vector<ProbeFailure> failures_;  // guarded by failures_mutex_

  Found found_;
};

}  // namespace slotwise::cli
