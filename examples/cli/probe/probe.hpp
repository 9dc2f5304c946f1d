// Writes without pause and remembers what was acknowledged; then looks whether all of it is there.
//
// Thread rule: start(), row(), verify() and totals() from one thread at a time; request_stop() and
// finished() from any thread.
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

#include "cli/core/range_list.hpp"
#include "cli/core/shard_tracker.hpp"
#include "cli/probe/gap_meter.hpp"
#include "cli/probe/totals.hpp"

namespace slotwise::cli {

struct ProbeOptions {
  int workers = 8;
  double rate = 0;  ///< writes a second of all workers together; 0: as fast as they can
  std::chrono::milliseconds timeout{20'000};  ///< deadline of each write and of each read-back
  std::string prefix = "probe";
};

/// Each worker sets keys `probe:{w:block}:n` one after the other: n counts up, and 1,000 keys share
/// a block, so a hash tag, so a slot. The value is unique per run and key, so that a value of
/// another run or another key is seen. A write is acknowledged or recorded as failed, and never
/// given a second time by the probe itself; the client may repeat it within its deadline (setting
/// the same value twice is harmless, and the probe says so to the client).
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

  /// After finished(): reads every acknowledged key back. `progress` is called now and then from
  /// this thread; when it returns false, the rest counts as `unread`.
  using VerifyProgress = std::function<bool(std::uint64_t done, std::uint64_t all)>;
  void verify(const VerifyProgress& progress = {});

  /// Complete after verify().
  ProbeTotals totals() const;

  static constexpr std::uint64_t block_size = 1000;
  static std::string key(const std::string& prefix, int worker, std::uint64_t n);
  /// The key that a worker is writing now.
  std::string current_key(int worker) const;

 private:
  struct Worker;
  struct ShardGap {
    std::mutex mutex;
    GapMeter meter;  // guarded by mutex
  };
  struct Tally;
  using Clock = std::chrono::steady_clock;

  void work(Worker& worker);
  void write(Worker& worker, const Client& client, std::uint64_t n);
  void record_failure(Worker& worker, std::uint64_t n, const Error& error);
  bool pace(Worker& worker, Clock::duration pause);
  void watch_topology();
  void read_back(const Worker& worker, Tally& tally) const;
  void check_block(const Client& client, const Worker& worker, std::uint64_t first,
                   std::uint64_t last, Tally& tally) const;
  std::string value(int worker, std::uint64_t n) const;

  const Client& client_;
  const ProbeOptions options_;
  const std::string run_;  // unique, first part of every value
  Stats stats_at_start_;
  Stats stats_at_row_;
  Clock::time_point started_{};
  std::uint64_t acked_at_row_ = 0;
  std::uint64_t failed_at_row_ = 0;

  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> ended_ns_{0};  // when the last worker ended, since start

  ShardTracker shards_;  // update(): only the watcher while it runs
  std::vector<ShardGap> gaps_{ShardTracker::max_shards};
  std::jthread watcher_;

  mutable std::mutex failures_mutex_;
  std::vector<ProbeFailure> failures_;  // guarded by failures_mutex_

  std::uint64_t lost_ = 0;
  std::uint64_t wrong_ = 0;
  std::uint64_t unread_ = 0;
  std::string read_failure_;
};

}  // namespace slotwise::cli
